//! The faults of task-amp: the table is consistent, each fault is planted once, and each is observable: the same conversation
//! goes otherwise than without it. Which check catches it is for proofmark to prove.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::task_support::{
    Client, Library, config, dispatch, escalation, fixture, git, message, plan, request, result, rows, start, task_amp,
    text, verdict,
};
use proofmark_reference::{Config, Fault};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

/// Maximum number of concurrent conversations.
const CONVERSATIONS: usize = 40;

const ALL_ROLES: &str = "coordinator,executor,reviewer,system";

fn faults() -> &'static [Fault] {
    task_amp().faults()
}

#[test]
fn the_table_is_well_formed() {
    let table = faults();
    assert!(table.len() >= 86, "binding.md, section 14 lists 86");
    let setups: Vec<&str> = task_amp().setups().iter().map(|setup| setup.name).collect();
    for (index, fault) in table.iter().enumerate() {
        assert!(table[..index].iter().all(|other| other.name != fault.name), "{} occurs twice", fault.name);
        assert!(!fault.breaks.is_empty() && fault.breaks.iter().all(|id| id.starts_with("TASK-")), "{}", fault.name);
        let level = ["envelope", "payload", "ssot", "workflow"].contains(&fault.level);
        assert!(fault.summary.ends_with('.') && level, "{}", fault.name);
        if let proofmark_reference::Needs::Setup(name) = fault.needs {
            assert!(setups.contains(&name), "{}: no setup {name}", fault.name);
        }
    }
}

/// The names of the faults that are planted in all program text under `folder`, without tests.
fn planted(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    let quoted = |rest: &str| rest.split('"').next().map(str::to_owned);
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            names.extend(planted(&path));
            continue;
        }
        let file = std::fs::read_to_string(&path).expect("readable");
        let text = file.split("#[cfg(test)]").next().unwrap_or_default();
        names.extend(text.split(".is(\"").skip(1).filter_map(quoted));
        names.extend(text.split("planted!(").skip(1).filter_map(|rest| quoted(rest.split_once(", \"")?.1)));
    }
    names
}

#[test]
fn every_fault_is_planted_exactly_once() {
    let names = planted(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/task_amp"));
    let table = || task_amp().all_faults();
    for fault in table() {
        let places = names.iter().filter(|name| *name == fault.name).count();
        assert_eq!(places, 1, "{} is planted {places} times", fault.name);
    }
    for name in &names {
        assert!(table().any(|fault| fault.name == name), "{name} has no row");
    }
}

/// What was said, without what changes between runs: each id with 13 digits is named after its first appearance.
#[derive(Default)]
struct Transcript {
    lines: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Transcript {
    fn say(&mut self, what: &str, value: &Value) {
        let mut value = value.clone();
        strip(&mut value);
        let mut line = format!("{what}: ");
        let mut digits = String::new();
        for c in value.to_string().chars().chain([' ']) {
            if c.is_ascii_digit() {
                digits.push(c);
                continue;
            }
            if digits.len() == 13 {
                let start = line.rfind('"').unwrap_or(0);
                let key = format!("{}{}", &line[start..], std::mem::take(&mut digits));
                let next = self.numbers.len();
                let number = *self.numbers.entry(key).or_insert(next);
                line.push_str(&format!("#{number}"));
            } else {
                line.push_str(&std::mem::take(&mut digits));
            }
            line.push(c);
        }
        self.lines.push(line);
    }
}

/// Removes times, places and hashes.
fn strip(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for name in [
                "seq",
                "next",
                "stored_at",
                "ts",
                "timestamp",
                "created_at",
                "updated_at",
                "body_sha256",
                "repo",
                "diff_url",
            ] {
                members.remove(name);
            }
            if let Some(hash) = members.get_mut("commit_hash") {
                *hash = json!("a hash");
            }
            members.values_mut().for_each(strip);
        }
        Value::Array(items) => items.iter_mut().for_each(strip),
        _ => {} // nothing inside
    }
}

async fn judged(said: &mut Transcript, config: Config) {
    let mut library = Library::start(config);
    for (row, message) in rows() {
        let raw = data_encoding::HEXLOWER.encode(message.as_bytes());
        let answer = library.call("validate", &json!({ "raw_hex": raw })).await;
        said.say("valid", &json!([row["on"], row["set"], row["payload"], answer["valid"]]));
    }
    let raw = data_encoding::HEXLOWER.encode(format!("/* x */ {}", dispatch("T-2026-044")).as_bytes());
    said.say("comment", &library.call("validate", &json!({ "raw_hex": raw })).await["valid"]);
    let made = json!({ "type": "task_dispatch", "task_id": "T-2026-044", "unix_ms": 1_740_576_727_001_u64 });
    said.say("id", &json!([library.call("make_msg_id", &made).await["msg_id"].as_str().map(str::len)]));
    let mut draft = json!({ "type": "escalation", "from": "executor", "to": "admin", "task_id": "T-2026-044",
        "now_ms": 1_740_576_727_001_u64, "requires_ack": true });
    draft["payload"] = escalation("T-2026-044", "executor", &dispatch("T-2026-044"), "info")["payload"].clone();
    said.say("built", &library.answer("build", &draft).await["result"]["message"]["requires_ack"]);
    draft["payload"]["severity"] = json!("none");
    said.say("not built", &library.answer("build", &draft).await["error"]["code"]);
    timers(said, &mut library).await;
}

/// The system and the coordinator on a clock.
async fn timers(said: &mut Transcript, library: &mut Library) {
    let task = "T-2026-044";
    let (d, r) = (dispatch(task), result(task, "complete"));
    let mut own = dispatch(task);
    own["ack_timeout_sec"] = json!(900);
    let mut asked = escalation(task, "executor", &d, "info");
    asked["requires_ack"] = json!(true);
    let messages = [d.clone(), r.clone(), request(task, &d, &r), verdict(task, "approved", 0.9), own, asked];
    let config = json!({ "role": "system", "now_ms": 1_740_576_727_001_u64 });
    let system = library.call("engine_new", &config).await["engine"].clone();
    for message in &messages {
        let event = json!({ "engine": system, "event": { "kind": "message", "message": message } });
        said.say("fed", &library.call("engine_feed", &event).await);
    }
    let mut main = dispatch("T-2026-045");
    main["payload"]["branch"] = json!("main");
    let executor = json!({ "role": "executor", "now_ms": 1_740_576_727_001_u64 });
    let executor = library.call("engine_new", &executor).await["engine"].clone();
    let event = json!({ "engine": executor, "event": { "kind": "message", "message": main } });
    said.say("main", &library.call("engine_feed", &event).await);
    let event = json!({ "engine": executor, "event": { "kind": "message", "message": d } });
    said.say("started", &library.call("engine_feed", &event).await);
    let mut next = d.clone();
    next["msg_id"] = json!("task_dispatch-T-2026-044-1740576727777");
    next["payload"]["subtasks"][0]["subtask_id"] = json!("T-2026-044-S7");
    next["payload"]["acceptance_criteria"] = json!(["one", "two", "three", "four"]);
    let done = json!({ "kind": "work_done", "task_id": task, "subtask_id": "T-2026-044-S7", "outcome": "complete" });
    for event in [json!({ "kind": "message", "message": next }), done] {
        let event = json!({ "engine": executor, "event": event });
        said.say("next", &library.answer("engine_feed", &event).await);
    }
    let mut explicit = r.clone();
    explicit["ack_timeout_sec"] = json!(900);
    said.say("explicit", &library.call("ack_timeout", &json!({ "message": explicit })).await);
    let acked = library.call("engine_new", &config).await["engine"].clone();
    let ack =
        |message: &Value, actor: &str| json!({ "kind": "ack", "ack": { "msg_id": message["msg_id"], "actor": actor } });
    let told = |message: &Value| json!({ "kind": "message", "message": message });
    for event in [told(&d), told(&next), ack(&d, "executor"), told(&r), ack(&r, "coordinator")] {
        library.call("engine_feed", &json!({ "engine": acked, "event": event })).await;
    }
    let silent = library.call("engine_new", &config).await["engine"].clone();
    let event = |event: Value| json!({ "engine": silent, "event": event });
    library.call("engine_feed", &event(json!({ "kind": "message", "message": d }))).await;
    let foreign = json!({ "kind": "ack", "ack": { "msg_id": d["msg_id"], "actor": "reviewer" } });
    library.call("engine_feed", &event(foreign)).await;
    for minute in 1..=100 {
        for engine in [&system, &silent, &acked] {
            let outputs = library.call("engine_advance", &json!({ "engine": engine, "ms": 60_000 })).await;
            if outputs["outputs"] != json!([]) {
                said.say(&format!("minute {minute}"), &outputs);
            }
        }
        if minute == 29 {
            let wrote = json!({ "kind": "ssot_write", "actor": "executor", "task_id": task });
            library.call("engine_feed", &event(wrote)).await;
        }
    }
}

/// A server and what was said to it.
struct Talk {
    said: Transcript,
    client: Client,
}

impl Talk {
    /// Only these roles work on a task.
    async fn roles(&self, task: &str, roles: &[&str]) {
        self.client.post("/_test/roles", "admin", &json!({ "task_id": task, "roles": roles })).await;
    }

    async fn submit(&mut self, message: &Value) {
        let from = text(&message["from"]).to_owned();
        let answer = self.client.post("/messages", &from, message).await;
        self.said.say("submitted", &json!([answer.0, answer.1]));
    }

    /// The last of `count` messages of a type, or null if they do not come.
    async fn wait(&self, task: &str, kind: &str, count: usize) -> Value {
        for _ in 0..120 {
            let found: Vec<Value> =
                self.client.messages(task).await.into_iter().filter(|m| m["type"] == kind).collect();
            if found.len() >= count {
                return found.last().cloned().unwrap_or(Value::Null);
            }
            tokio::time::sleep(Duration::from_millis(25)).await;
        }
        Value::Null
    }

    async fn show(&mut self, task: &str) {
        for path in [format!("/messages?task_id={task}"), format!("/acks?task_id={task}"), format!("/tasks/{task}")] {
            let (status, body) = self.client.get(&path).await;
            self.said.say(&path, &json!([status, body]));
        }
    }

    async fn bus(&mut self) {
        let task = "T-2026-001";
        self.roles(task, &["system"]).await;
        let (d, r) = (dispatch(task), result(task, "complete"));
        let mut refused = dispatch(task);
        refused["payload"]["risk_level"] = json!("none");
        let mut unknown = dispatch(task);
        unknown["type"] = json!("task_cancel");
        let mut changed = d.clone();
        changed["payload"]["description"] = json!("another one");
        for message in [&d, &r, &d, &changed, &refused, &unknown] {
            self.submit(message).await;
        }
        let foreign = self.client.post("/messages", "reviewer", &dispatch(task)).await;
        self.said.say("foreign", &json!([foreign.0]));
        self.said.say("third", &json!([self.client.ack(&d, "reviewer").await]));
        let mut main = dispatch("T-2026-002");
        main["payload"]["branch"] = json!("main");
        self.submit(&main).await;
        self.submit(&result("T-2026-003", "complete")).await;
        let mut foreign = result(task, "complete");
        foreign["payload"]["subtask_id"] = json!("T-2026-001-S9");
        self.submit(&foreign).await;
        let mut short = result(task, "complete");
        short["payload"]["self_assessment"]["criteria_met"] = json!([true]);
        self.submit(&short).await;
        self.show(task).await;
        self.show("T-2026-002").await;
        self.client.post("/_test/clock", "admin", &json!({ "advance_ms": 301_000, "task_id": task })).await;
        self.show(task).await;
    }

    async fn executor(&mut self, repo: &Path) {
        let (task, place) = ("T-2026-010", repo.display().to_string());
        self.roles(task, &["executor"]).await;
        let mut order = plan(task, &place);
        order["subtasks"] = json!([
            { "subtask_id": "T-2026-010-S1", "description": "one", "estimated_lines": 1 },
            { "subtask_id": "T-2026-010-S2", "description": "two", "estimated_lines": 1 },
        ]);
        order["acceptance_criteria"] = json!(["NOTES.txt ends with the line ok", "The XYZZY service agrees"]);
        self.submit(&message("task_dispatch", "coordinator", "executor", task, &order)).await;
        self.wait(task, "task_result", 2).await;
        tokio::time::sleep(Duration::from_millis(700)).await;
        self.show(task).await;
        for branch in ["main", "feature/proofmark"] {
            self.said.say(branch, &json!(git(repo, &["log", "--format=%an", branch])));
        }
        let (task, folder) = ("T-2026-011", tempfile::tempdir().expect("a folder"));
        self.roles(task, &["executor"]).await;
        let bare = plan(task, &folder.path().display().to_string());
        self.submit(&message("task_dispatch", "coordinator", "executor", task, &bare)).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        self.show(task).await;
        let task = "T-2026-012";
        self.roles(task, &["executor"]).await;
        self.submit(&escalation(task, "reviewer", &bare, "critical")).await;
        self.submit(&message("task_dispatch", "coordinator", "executor", task, &plan(task, &place))).await;
        self.show(task).await;
    }

    async fn coordinator(&mut self) {
        let task = "T-2026-020";
        self.roles(task, &["coordinator"]).await;
        let planned =
            self.client.post("/tasks", "admin", &json!({ "task_id": task, "plan": plan(task, "/srv/x") })).await;
        self.said.say("planned", &json!([planned.0]));
        self.show(task).await;
        self.client.post(&format!("/tasks/{task}/approve"), "admin", &json!({})).await;
        let order = self.client.messages(task).await.pop().unwrap_or(Value::Null);
        self.said.say("offset", &json!(text(&order["timestamp"]).ends_with('Z')));
        self.client.ack(&order, "executor").await;
        self.show(task).await;
        for round in 0..4 {
            self.submit(&result(task, "complete")).await;
            self.submit(&verdict(task, "rejected", if round == 0 { 0.5 } else { 0.9 })).await;
        }
        self.show(task).await;
        // Stopped, and not resumed with the other task.
        let (stopped, stop) = ("T-2026-011", json!({ "control_type": "STOP", "payload": {} }));
        self.client.post(&format!("/tasks/{stopped}/controls"), "admin", &stop).await;
        let control = json!({ "control_type": "RESUME", "payload": {} });
        for role in ["executor", "admin"] {
            let answer = self.client.post(&format!("/tasks/{task}/controls"), role, &control).await;
            self.said.say("resumed", &json!([answer.0, answer.1]));
        }
        self.show(stopped).await;
        self.show(task).await;
        self.roles("T-2026-026", &["coordinator"]).await;
        let waiting = json!({ "task_id": "T-2026-026", "plan": plan("T-2026-026", "/srv/x") });
        self.client.post("/tasks", "admin", &waiting).await;
        for (task, status) in [("T-2026-021", "partial"), ("T-2026-022", "failed"), ("T-2026-023", "complete")] {
            self.roles(task, &["coordinator"]).await;
            self.client.post("/tasks", "admin", &json!({ "task_id": task, "plan": plan(task, "/srv/x") })).await;
            self.client.post(&format!("/tasks/{task}/approve"), "admin", &json!({})).await;
            if status == "complete" {
                self.client.post(&format!("/tasks/{task}/ci"), "admin", &json!({ "xcode_cloud": "passed" })).await;
                self.client.post(&format!("/tasks/{task}/ci"), "admin", &json!({ "xcode_cloud": "failed" })).await;
            }
            self.submit(&result(task, status)).await;
            self.show(task).await;
        }
        self.show("T-2026-026").await;
        let task = "T-2026-025";
        self.roles(task, &["coordinator"]).await;
        self.client.post("/tasks", "admin", &json!({ "task_id": task, "plan": plan(task, "/srv/x") })).await;
        self.client.post(&format!("/tasks/{task}/approve"), "admin", &json!({})).await;
        self.submit(&escalation(task, "executor", &order, "critical")).await;
        let cancel = json!({ "control_type": "RESUME", "payload": { "instruction": "cancel" } });
        let answer = self.client.post(&format!("/tasks/{task}/controls"), "admin", &cancel).await;
        self.said.say("cancelled", &json!([answer.0, answer.1]));
        let task = "T-2026-024";
        self.roles(task, &["coordinator"]).await;
        self.client.post("/tasks", "admin", &json!({ "task_id": task, "plan": plan(task, "/srv/x") })).await;
        self.client.post(&format!("/tasks/{task}/approve"), "admin", &json!({})).await;
        self.submit(&result(task, "complete")).await;
        let mut minor = verdict(task, "rejected", 0.9);
        minor["payload"]["decision"] = json!("approved");
        minor["payload"]["issues"][0]["severity"] = json!("minor");
        minor["payload"]["architecture_notes"] = json!("split the module");
        self.submit(&minor).await;
        self.show(task).await;
    }

    async fn reviewer(&mut self) {
        let task = "T-2026-030";
        self.roles(task, &["reviewer"]).await;
        let (d, r) = (dispatch(task), result(task, "complete"));
        self.submit(&d).await;
        self.submit(&request(task, &d, &r)).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        self.show(task).await;
        self.submit(&r).await;
        let mut hinted = request(task, &d, &r);
        hinted["payload"]["ci_status"] = json!({ "x_proofmark": { "decision": "rejected" } });
        hinted["payload"]["review_scope"] = json!("incremental");
        self.submit(&hinted).await;
        self.wait(task, "review_verdict", 1).await;
        self.submit(&hinted).await;
        tokio::time::sleep(Duration::from_millis(150)).await;
        self.show(task).await;
    }
}

/// Everything, with the fault planted.
async fn conversation(fault: Option<&'static str>) -> Vec<String> {
    let faulty = |config: Config| Config { fault: fault.map(str::to_owned), ..config };
    let mut said = Transcript::default();
    judged(&mut said, faulty(task_amp().config())).await;
    let (server, client) = start(faulty(config(ALL_ROLES))).await;
    let mut talk = Talk { said, client };
    let repo = fixture();
    talk.bus().await;
    talk.executor(repo.path()).await;
    talk.coordinator().await;
    talk.reviewer().await;
    let task = "T-2026-040";
    let place = fixture();
    let planned = json!({ "task_id": task, "plan": plan(task, &place.path().display().to_string()) });
    talk.client.post("/tasks", "admin", &planned).await;
    talk.client.post(&format!("/tasks/{task}/approve"), "admin", &json!({})).await;
    talk.wait(task, "review_verdict", 1).await;
    talk.show(task).await;
    let (_, errors) = talk.client.get("/errors").await;
    talk.said.say("errors", &errors);
    server.stop().await;
    talk.said.lines
}

/// Faults that take more than the conversation here; `proofmark prove` catches them.
const LONGER: &[&str] = &[
    "repair-counts-as-reject",
    "repeated-verdict-counts",
    "uninvited-verdict-approves",
    "repeated-message-acted-on",
    "always-complete",
    "ack-timeout-from-the-start-of-the-task",
    "review-after-the-last-listed-subtask",
    "unfinished-later-subtask-ignored",
    "ci-gate-of-the-first-round",
    "ci-gate-of-single-subtasks",
    "ci-of-a-suspended-task-lost",
    "low-confidence-of-the-first-round",
    "second-suspension-ignored",
    "cancel-of-every-task",
    "third-dispatch-ignored",
    "branch-reported-once",
    "early-approval-counts",
    "reviewer-not-watched",
    "lock-counts-every-task",
    "unfinished-work-unanswered",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_shows() {
    let plain = conversation(None).await;
    let again = conversation(None).await;
    let differs = plain.iter().zip(&again).find(|(left, right)| left != right);
    assert!(differs.is_none() && plain.len() == again.len(), "the conversation is not repeatable: {differs:#?}");
    let mut silent = Vec::new();
    let turns = Arc::new(Semaphore::new(CONVERSATIONS));
    let in_turn = |name| {
        let turns = Arc::clone(&turns);
        async move {
            let _turn = turns.acquire_owned().await.expect("open");
            conversation(Some(name)).await
        }
    };
    let observed: Vec<_> = faults().iter().map(|fault| tokio::spawn(in_turn(fault.name))).collect();
    for (fault, observed) in faults().iter().zip(observed) {
        if observed.await.expect("the conversation ends") == plain {
            silent.push(fault.name);
        }
    }
    silent.retain(|name| !LONGER.contains(name));
    let mut unseen = Vec::new();
    for name in silent {
        // Between others what a fault does late can come too late: alone it has the machine.
        if conversation(Some(name)).await == plain {
            unseen.push(name);
        }
    }
    assert!(unseen.is_empty(), "{} faults without an observable effect: {unseen:?}", unseen.len());
}
