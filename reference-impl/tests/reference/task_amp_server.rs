//! The bus of task-amp over HTTP: storage, refusals, ACKs, suspension, the roles, and the other ways in.

use std::path::Path;
use std::time::Duration;

use crate::task_support::{
    Client, config, dispatch, escalation, fixture, git, message, now_ms, plan, request, result, rows, start, task_amp,
    text, verdict,
};
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};

#[tokio::test]
async fn the_five_messages_are_stored_as_they_are() {
    let (_server, client) = start(config("system")).await;
    let task = "T-2026-044";
    let (d, r) = (dispatch(task), result(task, "complete"));
    let q = request(task, &d, &r);
    let (v, x) = (verdict(task, "approved", 0.9), escalation(task, "executor", &d, "info"));
    for message in [&d, &r, &q, &v, &x] {
        assert_eq!(client.submit(message).await, 202, "{message}");
        let (status, record) = client.get(&format!("/messages/{}", text(&message["msg_id"]))).await;
        assert_eq!((status, &record["message"], &record["written_by"]), (200, message, &message["from"]));
    }
    assert_eq!(client.messages(task).await, [d.clone(), r, q, v, x.clone()]);
    let (_, admin) = client.get("/messages?to=admin").await;
    assert_eq!(admin["messages"][0]["message"], x);
    let (status, record) = client.get(&format!("/tasks/{task}")).await;
    assert_eq!((status, &record["task_id"], &record["risk_level"]), (200, &json!(task), &json!("low")));
    let (_, errors) = client.get("/errors").await;
    assert_eq!(errors["errors"], json!([]), "nothing was refused");
    let (_, meta) = client.get("/meta").await;
    assert_eq!((&meta["protocol"], &meta["roles"]), (&json!("AMP/1.0"), &json!(["system"])));
    assert_eq!(client.get("/messages?limit=x").await.0, 400);
    assert_eq!(client.get("/messages/nobody").await.0, 404);
    let (_, rest) = client.get(&format!("/messages?task_id={task}&type=escalation&from=executor&after=1")).await;
    assert_eq!(rest["messages"].as_array().map(Vec::len), Some(1));
    let mut other = d.clone();
    other["payload"]["description"] = json!("another one");
    assert_eq!((client.submit(&d).await, client.submit(&other).await), (200, 409));
    assert_eq!(client.messages(task).await[0], d);
}

#[tokio::test]
async fn each_invalid_message_is_refused_and_logged() {
    let (_server, client) = start(config("system")).await;
    let mut entries = 0;
    for (row, message) in rows().iter().filter(|(row, _)| row["own"] == false) {
        let from =
            serde_json::from_str::<Value>(message).expect("JSON")["from"].as_str().unwrap_or("executor").to_owned();
        let (status, _) = client.send("POST", "/messages", &from, message.as_bytes()).await.expect("an answer");
        assert_eq!(status, 422, "{row}");
        entries += 1;
    }
    for (body, expected) in [("{", 400), ("", 400), ("[]", 400), ("\"x\"", 400), ("{} // x", 400), ("{}", 422)] {
        let (status, _) = client.send("POST", "/messages", "executor", body.as_bytes()).await.expect("an answer");
        assert_eq!(status, expected, "{body}");
        entries += 1;
    }
    let bytes = dispatch("T-2026-050").to_string();
    assert_eq!(
        client.send_as("POST", "/messages", "coordinator", "text/plain", bytes.as_bytes()).await.expect("an answer").0,
        415
    );
    let large = format!("{}{}", bytes, " ".repeat(1024 * 1024));
    assert_eq!(client.send("POST", "/messages", "coordinator", large.as_bytes()).await.expect("an answer").0, 413);
    for role in ["executor", "nobody", ""] {
        assert_eq!(client.post("/messages", role, &dispatch("T-2026-050")).await.0, 403, "{role}");
    }
    entries += 5;
    let (_, errors) = client.get("/errors?limit=500").await;
    let mut logged = errors["errors"].as_array().map_or(0, Vec::len);
    let mut next = errors["next"].as_i64().unwrap_or(0);
    while let Some(more) =
        client.get(&format!("/errors?after={next}")).await.1["errors"].as_array().filter(|more| !more.is_empty())
    {
        logged += more.len();
        next = more.last().and_then(|entry| entry["seq"].as_i64()).unwrap_or(next);
    }
    assert_eq!(logged, entries);
    assert_eq!(client.messages("T-2026-050").await, [] as [Value; 0]);
    // The refused dispatches on main and master were reported.
    assert_eq!(client.types("T-2026-044").await, ["branch_violation", "branch_violation"]);
}

#[tokio::test]
async fn acks_count_from_the_addressee_only() {
    let (_server, client) = start(config("system")).await;
    let (first, second) = (dispatch("T-2026-001"), dispatch("T-2026-002"));
    for message in [&first, &second] {
        client.submit(message).await;
    }
    assert_eq!(client.ack(&first, "reviewer").await, 403);
    let borrowed = json!({ "msg_id": first["msg_id"], "actor": "executor" });
    let path = format!("/messages/{}/acks", text(&first["msg_id"]));
    assert_eq!(client.post(&path, "reviewer", &borrowed).await.0, 403);
    assert_eq!(client.ack(&second, "executor").await, 201);
    assert_eq!(client.ack(&second, "executor").await, 200);
    let (_, acks) = client.get("/acks?task_id=T-2026-002").await;
    assert_eq!((&acks["acks"][0]["msg_id"], &acks["acks"][0]["actor"]), (&second["msg_id"], &json!("executor")));
    client.advance(299).await;
    assert_eq!(client.types("T-2026-001").await, ["task_dispatch"]);
    client.advance(2).await;
    assert_eq!(client.types("T-2026-001").await, ["task_dispatch", "ack_timeout"]);
    client.advance(600).await;
    assert_eq!(client.types("T-2026-001").await, ["task_dispatch", "ack_timeout"]);
    assert_eq!(client.types("T-2026-002").await, ["task_dispatch"]);
    let (_, report) = client.get("/messages?task_id=T-2026-001&type=escalation").await;
    assert_eq!(report["messages"][0]["message"]["payload"]["affected_msgs"], json!([first["msg_id"]]));
}

#[tokio::test]
async fn a_critical_escalation_suspends_its_task_until_the_admin_resumes() {
    let (_server, client) = start(config("executor,system")).await;
    let (task, repo) = ("T-2026-010", fixture());
    let stop = escalation(task, "reviewer", &dispatch(task), "critical");
    assert_eq!(client.submit(&stop).await, 202);
    let order =
        message("task_dispatch", "coordinator", "executor", task, &plan(task, &repo.path().display().to_string()));
    assert_eq!(client.submit(&order).await, 423);
    let control = json!({ "control_type": "RESUME", "control_id": "c", "payload": { "instruction": "continue" } });
    for role in ["coordinator", "executor", "reviewer", "system", ""] {
        assert_eq!(client.post(&format!("/tasks/{task}/controls"), role, &control).await.0, 403, "{role}");
    }
    let (status, record) = client.post(&format!("/tasks/{task}/controls"), "admin", &control).await;
    assert_eq!((status, &record["suspended"]), (200, &json!(false)));
    assert_eq!(client.submit(&order).await, 202);
    client.wait(task, "task_result", 1).await;
}

#[tokio::test]
async fn an_executor_commits_on_the_branch_and_leaves_the_rest_alone() {
    let (_server, client) = start(config("executor,system")).await;
    let (task, repo) = ("T-2026-020", fixture());
    let main = git(repo.path(), &["rev-parse", "main"]);
    let mut order = plan(task, &repo.path().display().to_string());
    order["acceptance_criteria"] =
        json!(["NOTES.txt ends with the line ok", "No other file changes", "The XYZZY service agrees"]);
    let order = message("task_dispatch", "coordinator", "executor", task, &order);
    client.submit(&order).await;
    let answer = client.wait(task, "task_result", 1).await;
    let payload = &answer["payload"];
    let head = git(repo.path(), &["rev-parse", "feature/proofmark"]);
    assert_eq!((&payload["completion_status"], &payload["commit_hash"]), (&json!("complete"), &json!(head)));
    assert_eq!(
        payload["diff_summary"],
        json!({ "files_changed": ["NOTES.txt"], "lines_added": 1, "lines_removed": 0 })
    );
    assert_eq!(payload["self_assessment"]["criteria_met"], json!([true, true, null]));
    assert_eq!(git(repo.path(), &["show", "feature/proofmark:NOTES.txt"]), "first\nok");
    assert_eq!(
        (git(repo.path(), &["rev-parse", "main"]), git(repo.path(), &["status", "--short"])),
        (main, String::new())
    );
    let (_, acks) = client.get(&format!("/acks?task_id={task}")).await;
    assert_eq!(acks["acks"][0]["msg_id"], order["msg_id"]);
    // A branch that is checked out takes its work tree along.
    git(repo.path(), &["checkout", "-q", "feature/proofmark"]);
    let again = message("task_dispatch", "coordinator", "executor", task, &order["payload"]);
    client.submit(&again).await;
    client.wait(task, "task_result", 2).await;
    assert_eq!(std::fs::read_to_string(repo.path().join("NOTES.txt")).expect("readable"), "first\nok\nok\n");
    assert_eq!(git(repo.path(), &["status", "--short"]), "");
}

#[tokio::test]
async fn an_executor_that_cannot_work_says_so() {
    let (_server, client) = start(config("executor,system")).await;
    let folder = tempfile::tempdir().expect("a folder");
    let bare = plan("T-2026-030", &folder.path().display().to_string());
    assert_eq!(client.submit(&message("task_dispatch", "coordinator", "executor", "T-2026-030", &bare)).await, 202);
    assert_eq!(client.types("T-2026-030").await, ["task_dispatch", "unknown"]);
    let repo = fixture();
    let mut forbidden = plan("T-2026-031", &repo.path().display().to_string());
    forbidden["subtasks"][0]["description"] = json!("Append the line ok to FORBIDDEN.txt");
    forbidden["forbidden_actions"] = json!(["modify FORBIDDEN.txt"]);
    client.submit(&message("task_dispatch", "coordinator", "executor", "T-2026-031", &forbidden)).await;
    let answer = client.wait("T-2026-031", "task_result", 1).await;
    assert_eq!(answer["payload"]["completion_status"], "failed");
    assert_eq!(git(repo.path(), &["log", "--format=%s", "--all"]), "start");
    let mut hinted = plan("T-2026-032", &repo.path().display().to_string());
    hinted["tech_constraints"] = json!({ "x_proofmark": { "outcome": "partial", "commit": true } });
    client.submit(&message("task_dispatch", "coordinator", "executor", "T-2026-032", &hinted)).await;
    let answer = client.wait("T-2026-032", "task_result", 1).await;
    assert_eq!(answer["payload"]["completion_status"], "partial");
    assert!(answer["payload"]["commit_hash"].is_string() && answer["payload"]["blockers"][0].is_string());
}

#[tokio::test]
async fn a_coordinator_gates_on_ci_and_answers_what_is_not_complete() {
    let (_server, client) = start(config("coordinator,system")).await;
    let ci = |task: &str, status: &str| (format!("/tasks/{task}/ci"), json!({ "xcode_cloud": status }));
    client.plan("T-2026-040", &plan("T-2026-040", "/srv/fixture")).await;
    let (path, failed) = ci("T-2026-040", "failed");
    assert_eq!(client.post(&path, "admin", &failed).await.0, 202);
    client.submit(&result("T-2026-040", "complete")).await;
    assert_eq!(client.types("T-2026-040").await, ["task_dispatch", "task_result", "task_dispatch"]);
    client.submit(&result("T-2026-040", "complete")).await;
    assert_eq!(client.types("T-2026-040").await[3..], ["task_result", "ci_failure"]);
    let (path, passed) = ci("T-2026-040", "passed");
    client.post(&path, "admin", &passed).await;
    assert_eq!(client.types("T-2026-040").await[5..], ["review_request"]);
    client.plan("T-2026-041", &plan("T-2026-041", "/srv/fixture")).await;
    for status in ["partial", "partial", "failed"] {
        client.submit(&result("T-2026-041", status)).await;
    }
    let expected =
        ["task_dispatch", "task_result", "task_dispatch", "task_result", "unknown", "task_result", "unknown"];
    assert_eq!(client.types("T-2026-041").await, expected);
    let mut bad = plan("T-2026-042", "/srv/fixture");
    bad["branch"] = json!("main");
    assert_eq!(client.post("/tasks", "admin", &json!({ "task_id": "T-2026-042", "plan": bad })).await.0, 422);
    assert_eq!(client.post("/tasks", "executor", &json!({ "task_id": "T-2026-042", "plan": bad })).await.0, 403);
    assert_eq!(client.post("/tasks/T-2026-042/approve", "admin", &json!({})).await.0, 404);
    // A verdict that nobody asked for changes nothing (E69).
    client.plan("T-2026-043", &plan("T-2026-043", "/srv/fixture")).await;
    client.submit(&verdict("T-2026-043", "rejected", 0.9)).await;
    assert_eq!(client.types("T-2026-043").await, ["task_dispatch", "review_verdict"]);
    assert_eq!(client.get("/tasks/T-2026-043").await.1["reject_count"], 0);
}

#[tokio::test]
async fn a_reviewer_needs_what_the_request_names() {
    let (_server, client) = start(config("reviewer,system")).await;
    let task = "T-2026-060";
    let (d, r) = (dispatch(task), result(task, "complete"));
    client.submit(&d).await;
    let blind = request(task, &d, &r);
    assert_eq!(client.submit(&blind).await, 202);
    assert_eq!(client.types(task).await, ["task_dispatch", "review_request", "unknown"]);
    client.submit(&r).await;
    let mut rejected = request(task, &d, &r);
    rejected["payload"]["ci_status"] = json!({ "x_proofmark": { "decision": "rejected", "confidence": 0.5 } });
    client.submit(&rejected).await;
    let answer = client.wait(task, "review_verdict", 1).await;
    assert_eq!((&answer["payload"]["decision"], &answer["payload"]["confidence"]), (&json!("rejected"), &json!(0.5)));
    let named =
        answer["payload"]["criteria_results"].as_array().expect("a list").iter().map(|entry| &entry["criterion"]);
    assert_eq!(named.cloned().collect::<Vec<_>>(), *d["payload"]["acceptance_criteria"].as_array().expect("a list"));
    assert_eq!(client.submit(&rejected).await, 200);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(client.types(task).await.iter().filter(|kind| *kind == "review_verdict").count(), 1);
}

#[tokio::test]
async fn all_roles_bring_a_task_to_its_end() {
    let (_server, client) = start(config("coordinator,executor,reviewer,system")).await;
    let (task, repo) = ("T-2026-070", fixture());
    client.plan(task, &plan(task, &repo.path().display().to_string())).await;
    client.wait(task, "review_verdict", 1).await;
    assert_eq!(client.types(task).await, ["task_dispatch", "task_result", "review_request", "review_verdict"]);
    assert_eq!(client.get(&format!("/tasks/{task}")).await.1["status"], "approved");
    for message in client.messages(task).await {
        let (_, acks) = client.get(&format!("/messages/{}/acks", text(&message["msg_id"]))).await;
        assert_eq!(acks["acks"][0]["actor"], message["to"]);
    }
}

#[tokio::test]
async fn roles_and_time_can_be_set_for_one_task() {
    let (_server, client) = start(config("coordinator,executor,reviewer,system")).await;
    for task in ["T-2026-080", "T-2026-081"] {
        client.post("/_test/roles", "admin", &json!({ "task_id": task, "roles": ["system"] })).await;
        client.submit(&dispatch(task)).await;
    }
    client.post("/_test/clock", "admin", &json!({ "advance_ms": 301_000, "task_id": "T-2026-080" })).await;
    assert_eq!(client.types("T-2026-080").await, ["task_dispatch", "ack_timeout"]);
    assert_eq!(client.types("T-2026-081").await, ["task_dispatch"]);
    assert_eq!(client.post("/_test/reset", "admin", &json!({})).await.0, 200);
    assert_eq!(client.get("/tasks").await.1, json!({ "tasks": [] }));
}

#[tokio::test]
async fn a_long_poll_ends_with_the_next_message() {
    let (_server, client) = start(config("system")).await;
    let waiting = tokio::spawn(async move { client.get("/messages?task_id=T-2026-090&wait_ms=5000").await });
    tokio::time::sleep(Duration::from_millis(50)).await;
    client.submit(&dispatch("T-2026-091")).await;
    let order = dispatch("T-2026-090");
    client.submit(&order).await;
    let (_, list) = waiting.await.expect("an answer");
    assert_eq!(list["messages"][0]["message"], order);
}

#[tokio::test]
async fn role_processes_work_on_the_store_of_another_process() {
    let (server, client) = start(config("none")).await;
    let url = server.url("http").expect("an address").to_owned();
    let mut processes = Vec::new();
    for role in ["coordinator", "executor", "reviewer"] {
        let mut config = task_amp().config();
        config.set("roles", role).expect("a role");
        config.set("ssot-url", &url).expect("a URL");
        processes.push(task_amp().serve(config).await.expect("it starts"));
    }
    let (task, repo) = ("T-2026-100", fixture());
    client
        .submit(&message(
            "task_dispatch",
            "coordinator",
            "executor",
            task,
            &plan(task, &repo.path().display().to_string()),
        ))
        .await;
    client.wait(task, "review_verdict", 1).await;
    assert_eq!(client.types(task).await, ["task_dispatch", "task_result", "review_request", "review_verdict"]);
    let bad = plan("T-2026-101", "/nonexistent");
    client.submit(&message("task_dispatch", "coordinator", "executor", "T-2026-101", &bad)).await;
    client.wait("T-2026-101", "escalation", 1).await;
    let (_, errors) = client.get("/errors").await;
    assert_eq!(
        (&errors["errors"][0]["receiver"], &errors["errors"][0]["code"]),
        (&json!("executor"), &json!("unresolved_ref"))
    );
    for process in processes {
        process.stop().await;
    }
}

async fn eventually(mut holds: impl FnMut() -> bool) {
    for _ in 0..400 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("it did not happen");
}

fn put(folder: &Path, name: &str, content: &str) {
    std::fs::create_dir_all(folder).expect("a folder");
    let temporary = folder.join(format!("{name}.tmp"));
    std::fs::write(&temporary, content).expect("written");
    std::fs::rename(temporary, folder.join(name)).expect("renamed");
}

#[tokio::test]
async fn a_tree_of_files_is_the_store_too() {
    let (folder, repo, task) = (tempfile::tempdir().expect("a folder"), fixture(), "T-2026-110");
    let tree = folder.path().to_owned();
    let with_tree = || {
        let mut config = config("coordinator,executor,reviewer,system");
        config.set("tree", &tree.display().to_string()).expect("a folder");
        config
    };
    let (server, _) = start(with_tree()).await;
    assert_eq!(server.url("tree"), Some(tree.display().to_string().as_str()));
    let messages = tree.join("ssot/messages").join(task);
    let order =
        message("task_dispatch", "coordinator", "executor", task, &plan(task, &repo.path().display().to_string()));
    put(&messages, &format!("{}.json", text(&order["msg_id"])), &order.to_string());
    put(&tree.join("inbox/executor"), "broken.json", "{");
    let files = || std::fs::read_dir(&messages).expect("readable").count();
    eventually(|| files() == 4).await;
    let ack = tree.join("ssot/acks").join(task).join(format!("{}.executor.json", text(&order["msg_id"])));
    let errors = tree.join("ssot/errors/errors.jsonl");
    eventually(|| ack.exists() && errors.exists()).await;
    let record = tree.join("ssot/tasks").join(format!("{task}.json"));
    eventually(|| std::fs::read_to_string(&record).is_ok_and(|text| text.contains("\"approved\""))).await;
    assert_eq!(std::fs::read_to_string(&errors).expect("readable").lines().count(), 1);
    let planned = json!({ "task_id": "T-2026-111", "op": "plan", "body": { "plan": plan("T-2026-111", &repo.path().display().to_string()) } });
    put(&tree.join("ssot/control/pending"), "a.json", &planned.to_string());
    put(&tree.join("ssot/control/pending"), "b.json", "{}");
    eventually(|| tree.join("ssot/control/done/a.json").exists() && tree.join("ssot/control/failed/b.json").exists())
        .await;
    put(&tree.join("ssot/control/pending"), "c.json", &json!({ "task_id": "T-2026-111", "op": "approve" }).to_string());
    eventually(|| std::fs::read_dir(tree.join("ssot/messages/T-2026-111")).is_ok_and(|files| files.count() == 4)).await;
    server.stop().await;
    // Another process finds what was there, and nobody acts on it again.
    let (_server, client) = start(with_tree()).await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!((client.messages(task).await.len(), files()), (4, 4));
}

#[tokio::test]
async fn a_tree_may_be_a_git_repository() {
    let (folder, repo, task) = (tempfile::tempdir().expect("a folder"), fixture(), "T-2026-115");
    let bare = folder.path().join("store.git");
    let mut config = config("coordinator,executor,reviewer,system");
    config.set("tree", &bare.display().to_string()).expect("a folder");
    config.set("tree-form", "git").expect("a form");
    let (_server, client) = start(config).await;
    let clone = folder.path().join("clone");
    std::fs::create_dir(&clone).expect("a folder");
    git(folder.path(), &["clone", "-q", &bare.display().to_string(), &clone.display().to_string()]);
    let order =
        message("task_dispatch", "coordinator", "executor", task, &plan(task, &repo.path().display().to_string()));
    put(&clone.join("ssot/messages").join(task), &format!("{}.json", text(&order["msg_id"])), &order.to_string());
    git(&clone, &["checkout", "-q", "-B", "main"]);
    git(&clone, &["add", "."]);
    git(&clone, &["commit", "-q", "--author", "coordinator <c@localhost>", "-m", "dispatch"]);
    git(&clone, &["pull", "-q", "--rebase", "origin", "main"]);
    git(&clone, &["push", "-q", "origin", "main"]);
    client.wait(task, "review_verdict", 1).await;
    let listed = || git(&bare, &["ls-tree", "-r", "--name-only", "main"]);
    let messages = || listed().lines().filter(|name| name.starts_with("ssot/messages/")).count();
    eventually(|| messages() == 4 && listed().contains("ssot/acks/")).await;
    // The acknowledgement of the verdict has its name too, and another author.
    let is_verdict = |name: &&str| name.starts_with("ssot/messages/") && name.contains("review_verdict");
    let verdict = listed().lines().find(is_verdict).expect("the verdict is a file").to_owned();
    assert_eq!(git(&bare, &["log", "-1", "--format=%an", "main", "--", &verdict]), "reviewer");
    assert_eq!(client.get("/errors").await.1["errors"], json!([]));
}

#[tokio::test]
async fn the_other_variant_is_the_same_protocol() {
    let (_server, client) = start(Config { variant: Variant::Other, ..config("executor,system") }).await;
    let (task, repo) = ("T-2026-120", fixture());
    let mut order = dispatch(task);
    order["payload"]["branch"] = json!("main");
    order["payload"]["repo"] = json!(repo.path().display().to_string());
    assert_eq!(client.submit(&order).await, 202, "the executor refuses it");
    assert_eq!(client.types(task).await, ["task_dispatch", "branch_violation"]);
    assert_eq!(client.submit(&order).await, 409);
    assert_eq!(client.submit(&result("T-2026-121", "complete")).await, 202);
    let (_, record) = client.get("/tasks/T-2026-121").await;
    assert_eq!((&record["id"], &record["qa_retry_count"]), (&json!("T-2026-121"), &json!(0)));
    let stop = escalation("T-2026-122", "reviewer", &order, "critical");
    client.submit(&stop).await;
    let waiting = message(
        "task_dispatch",
        "coordinator",
        "executor",
        "T-2026-122",
        &plan("T-2026-122", &repo.path().display().to_string()),
    );
    assert_eq!(client.submit(&waiting).await, 202);
    assert_eq!(client.get("/acks?task_id=T-2026-122").await.1["acks"], json!([]));
    client.post("/tasks/T-2026-122/controls", "admin", &json!({ "control_type": "RESUME" })).await;
    let answer = client.wait("T-2026-122", "task_result", 1).await;
    assert!(text(&answer["timestamp"]).ends_with('Z'), "{answer}");
    let (_, acks) = client.get("/acks?task_id=T-2026-122").await;
    assert_eq!((&acks["acks"][0]["ack_of"], &acks["acks"][0]["by"]), (&waiting["msg_id"], &json!("executor")));
    let _ = now_ms();
}

#[tokio::test]
async fn tokens_say_who_acts() {
    let mut config = config("system");
    config.set("token", "secret=coordinator").expect("a token");
    let (_server, client) = start(config).await;
    assert_eq!(client.submit(&dispatch("T-2026-130")).await, 401);
    let _: Client = client;
}
