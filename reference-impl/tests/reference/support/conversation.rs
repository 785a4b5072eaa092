//! One long conversation with a server and a library, in which every planted fault has something to spoil.

use std::time::Duration;

use proofmark_reference::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use crate::support::{Client, address, agentic, full, minimal, start, with};

/// The answers of one conversation over HTTP and the adapter, with fact ids numbered in order of appearance.
pub(crate) async fn conversation(config: Config) -> Vec<String> {
    let mut said = over_http(config.clone()).await;
    said.extend(as_library(config).await);
    let mut known: Vec<String> = Vec::new();
    for text in &mut said {
        let mut from = 0;
        while let Some(at) = text[from..].find("fact_").map(|at| from + at) {
            let id = text.get(at..at + 37).unwrap_or_default().to_owned();
            from = at + 5;
            if !id.is_empty() && id.bytes().skip(5).all(|byte| byte.is_ascii_hexdigit()) {
                let number = known.iter().position(|other| *other == id).unwrap_or(known.len());
                if number == known.len() {
                    known.push(id);
                }
                text.replace_range(at..at + 37, &format!("fact_#{number}"));
            }
        }
    }
    said
}

async fn over_http(config: Config) -> Vec<String> {
    let (server, mut client) = start(config).await;
    "Authorization: Bearer key\r\n".clone_into(&mut client.headers);
    let mut said = Vec::new();
    for (method, path, body) in steps() {
        let answer = client.send(method, path, body.as_bytes()).await.expect("an answer");
        let media_type = answer.head.lines().find(|line| line.starts_with("content-type"));
        said.push(format!("{method} {path} -> {} {} {}", answer.status, media_type.unwrap_or_default(), answer.body));
    }
    // Whether keys are checked before or after.
    client.headers.clear();
    said.push(client.deposit(&minimal("proj", "unauthorized")).await.body);
    "Authorization: Bearer key\r\n".clone_into(&mut client.headers);
    said.push(client.get("/v1/packages/unauthorized").await.body);
    said.extend(races(address(&server), &mut client).await);
    said
}

/// The state after parallel requests, independent of their order.
async fn races(address: std::net::SocketAddr, client: &mut Client) -> Vec<String> {
    let racers: Vec<_> = (0..6)
        .map(|number| {
            tokio::spawn(async move {
                let mut client = Client::connect(address).await.expect("the server listens");
                "Authorization: Bearer key\r\n".clone_into(&mut client.headers);
                let package = with(minimal("race", "one"), &json!({ "title": format!("title {number}") }));
                let deposited = client.deposit(&package).await.status;
                let fact = json!({ "subject": "s", "predicate": "p", "value": number.to_string() });
                tokio::time::sleep(Duration::from_millis(2)).await;
                (deposited, client.post("/v1/projects/race/facts", &fact).await.status)
            })
        })
        .collect();
    // A moment in which a package may be there in part or not at all.
    let mut other = Client::connect(address).await.expect("the server listens");
    "Authorization: Bearer key\r\n".clone_into(&mut other.headers);
    let whole = tokio::spawn(async move { other.deposit(&full("race", "whole")).await.status });
    let mut moments = Vec::new();
    for _ in 0..40 {
        let seen = client.get("/v1/packages/whole").await;
        let whole = !seen.body.contains("\"package\"") || seen.body.contains("future_field");
        moments.push(whole);
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let status = whole.await.expect("an answer");
    let half = moments.contains(&false);
    // An answer means that the package is stored.
    client.deposit(&minimal("race", "stored")).await;
    let found = client.get("/v1/packages/stored").await.status;
    let mut statuses = vec![(status, u16::from(half)), (found, 0)];
    for racer in racers {
        statuses.push(racer.await.expect("an answer"));
    }
    statuses.sort_unstable();
    let current = client.get("/v1/projects/race/facts").await.json()["facts"].as_array().map(Vec::len);
    vec![format!("{statuses:?}"), format!("{current:?}")]
}

/// A request: method, path, body.
type Step = (&'static str, &'static str, String);

fn steps() -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    packages(&mut steps);
    facts(&mut steps);
    reading(&mut steps);
    reviews(&mut steps);
    transfers(&mut steps);
    oddities(&mut steps);
    resemblances(&mut steps);
    steps
}

/// The answers of a conversation about long lists and unusual texts, which few faults spoil.
pub(crate) async fn long_conversation(config: Config) -> Vec<String> {
    const MANY: usize = 103;
    const FACTS: &str = "/v1/projects/many/facts";
    let (_server, mut client) = start(config).await;
    "Authorization: Bearer key\r\n".clone_into(&mut client.headers);
    let mut answers = Vec::new();
    for number in 0..MANY {
        let id = format!("pkg_many_{number}");
        client.deposit(&minimal("many", &id)).await;
        let fact = |subject: &str| json!({ "subject": subject, "predicate": "p", "value": number.to_string() });
        client.post(FACTS, &fact(&format!("subject {number}"))).await;
        client.post(FACTS, &fact("one pair")).await;
    }
    // Last, since a bundle has a limited number of packages.
    let questions: Vec<String> = (0..MANY).map(|number| format!("question {number}")).collect();
    client.deposit(&with(minimal("many", "pkg_of_questions"), &json!({ "open_questions": questions }))).await;
    for fact in [
        json!({ "subject": "", "predicate": "p", "value": "v" }),
        json!({ "subject": "one pair", "predicate": "p", "value": "w", "source_package_id": "pkg_unknown" }),
        json!({ "subject": "before\u{0}after", "predicate": "p", "value": "v" }),
        json!({ "subject": "nul", "predicate": "p", "value": "before\u{0}after" }),
    ] {
        answers.push(client.post(FACTS, &fact).await.status.to_string());
    }
    for path in [
        "/v1/projects/many/orient?window_days=36500",
        "/v1/projects/many/export",
        "/v1/projects/many/facts?include_ended=true",
    ] {
        let body = client.get(path).await.body;
        let count = |what: &str| body.matches(what).count();
        // Ids and times of facts differ from one conversation to the next.
        let counts =
            ["pkg_many_", "question ", "\"subject ", "one pair", "before", "after", "\"valid_to\":null"].map(count);
        answers.push(format!("{path}: {counts:?}"));
    }
    answers
}

fn packages(steps: &mut Vec<Step>) {
    let mut deposit = |package: Value| steps.push(("POST", "/v1/projects/proj/packages", package.to_string()));
    let number = |members: Value| with(minimal("proj", "edge"), &members);
    deposit(full("proj", "pkg_full"));
    deposit(full("proj", "pkg_full"));
    deposit(with(full("proj", "pkg_full"), &json!({ "description": "other" })));
    deposit(with(
        full("proj", "plain"),
        &json!({ "created_at": "2026-01-19T03:04:05.250Z", "topic": null, "title": " Zebra padded " }),
    ));
    deposit(with(
        minimal("proj", "later"),
        &json!({ "created_at": "2026-01-19T03:04:05.900Z", "package_type": "x-model-eval",
        "x-title": "not the title", "handoff_note": "n", "decisions_made": ["a", "b"], "title": "Zebra zebra" }),
    ));
    deposit(with(
        minimal("proj", "sooner"),
        &json!({ "created_at": "2026-01-19T03:04:05Z", "title": "Zebra once",
        "description": "see also other things", "created_by": { "id": "s", "type": "agent", "session_id": null } }),
    ));
    deposit(with(minimal("proj", "Case"), &json!({ "tags": [], "description": "" })));
    deposit(with(
        minimal("proj", "case"),
        &json!({ "status": "draft", "title": "Drafted zebra", "open_questions": ["draft?"], "created_at": "2026-01-19T00:00:00Z" }),
    ));
    deposit(with(
        full("proj", "child"),
        &json!({ "parent_package_id": "plain", "storage_path": "a/b", "open_questions": ["z?", "a?"], "package_type": "question",
        "deliverables": [{ "path": "a", "type": "b", "hash": "sha256:00" }, { "path": "b", "type": "c" }],
        "created_by": { "id": "sam", "type": "human", "session_id": "sess_pm_2" } }),
    ));
    deposit(with(minimal("proj", "second"), &json!({ "parent_package_id": "plain", "title": "Zebra child" })));
    for (number, members) in [
        json!({ "package_id": "кот" }),
        json!({ "package_type": "handoff" }),
        json!({ "review_type": "human", "status": "awaiting_review" }),
        json!({ "review_type": "agent", "status": "awaiting_review" }),
        json!({ "created_at": "2026-01-02T03:04:05.1234567Z" }),
        json!({ "created_at": "2026-01-02T03:04:05+02:00" }),
        json!({ "created_by": "sam" }),
        json!({ "created_by": { "id": "a", "type": "human", "session_id": 9 } }),
        json!({ "tags": "a" }),
        json!({ "tags": [1] }),
        json!({ "title": 5 }),
        json!({ "title": null }),
        json!({ "estimated_next_actor": "human" }),
        json!({ "deliverables": [{ "path": "a", "type": 1 }] }),
        json!({ "deliverables": [{ "path": "/a", "type": "b", "hash": "00" }] }),
    ]
    .into_iter()
    .enumerate()
    {
        deposit(with(minimal("proj", &format!("more-{number}")), &members));
    }
    for missing in ["package_id", "project_id", "title"] {
        let mut package = minimal("proj", "without");
        package.as_object_mut().expect("an object").remove(missing);
        deposit(package);
    }
    deposit(json!([]));
    for members in [
        json!({ "title": "é".repeat(150) }),
        json!({ "title": "x".repeat(201) }),
        json!({ "title": "" }),
        json!({ "relay_version": "9.9" }),
        json!({ "created_at": null }),
        json!({ "created_at": "2026-01-02" }),
        json!({ "significance": 11 }),
        json!({ "status": "approved" }),
        json!({ "package_type": "memo" }),
        json!({ "package_type": "xreport" }),
        json!({ "created_by": { "id": "a", "type": "bot" } }),
        json!({ "review_type": "script" }),
        json!({ "deliverables": [{ "type": "md" }] }),
        json!({ "project_id": "elsewhere" }),
    ] {
        deposit(number(members));
        deposit(minimal("proj", "edge"));
    }
    let reordered = full("proj", "pkg_full").to_string().replace(",\"", " ,\n\"");
    steps.push(("POST", "/v1/projects/proj/packages", reordered));
    steps.push(("POST", "/v1/projects/proj/packages", "{".to_owned()));
    let twice = minimal("proj", "twice").to_string();
    steps.push(("POST", "/v1/projects/proj/packages", format!("{twice} {{}}")));
    steps.push(("POST", "/v1/projects/proj/packages", twice.replacen('{', "{\"title\":\"a\",", 1)));
    let refused = with(minimal("proj", "refused"), &json!({ "title": 1 }));
    steps.push(("POST", "/v1/projects/proj/packages", refused.to_string()));
    steps.push(("GET", "/v1/packages/refused", String::new()));
    steps.push(("PATCH", "/v1/packages/pkg_full", "{\"title\":\"edited\"}".to_owned()));
    for path in [
        "/v1/packages/pkg_full",
        "/v1/packages/case",
        "/v1/packages/edge",
        "/v1/packages/pkg_f%25",
        "/v1/packages/none",
    ] {
        steps.push(("GET", path, String::new()));
    }
    steps.push((
        "POST",
        "/v1/projects/other/packages",
        with(minimal("other", "o"), &json!({ "title": "Zebra zebra zebra", "created_at": "2026-01-19T03:04:05Z" }))
            .to_string(),
    ));
}

fn facts(steps: &mut Vec<Step>) {
    let mut assert = |project: &'static str, fact: Value| steps.push(("POST", project, fact.to_string()));
    const PROJ: &str = "/v1/projects/proj/facts";
    let fact = |subject: &str, predicate: &str, value: &str, members: Value| {
        with(json!({ "subject": subject, "predicate": predicate, "value": value }), &members)
    };
    assert("/v1/projects/other/facts", fact("s", "p", "elsewhere", json!({ "valid_from": "2026-01-01T00:00:00Z" })));
    assert(PROJ, fact("S", "p", "upper", json!({ "valid_from": "2026-01-01T00:00:00Z" })));
    assert(PROJ, fact("s", "+5", "+5", json!({})));
    assert(
        PROJ,
        fact("s", "q", "97.0", json!({ "valid_from": "2026-01-01T00:00:00Z", "confidence": 0, "tags": ["b", "a"] })),
    );
    assert(
        PROJ,
        fact("s", "p", "v1", json!({ "valid_from": "2026-01-01T00:00:00Z", "source_package_id": "pkg_full" })),
    );
    assert(PROJ, fact("s", "p", "v2", json!({ "valid_from": "2026-01-02T00:00:00Z" })));
    assert(PROJ, fact("s", "p", "v3", json!({ "confidence": 2 })));
    assert(PROJ, fact(" %20 ", "r", "v", json!({})));
    let long = "x".repeat(255);
    for (one, two) in [
        ("Größe", "Gro\u{308}ße"),
        ("disk", "disk "),
        ("007", "7"),
        ("a/", "a"),
        (&*format!("{long}a"), &*format!("{long}b")),
    ] {
        assert("/v1/projects/alike/facts", fact(one, "p", "v", json!({})));
        assert("/v1/projects/alike/facts", fact(two, "p", "w", json!({})));
    }
    assert(PROJ, fact("u", "p", "v", json!({ "valid_from": "2026-01-02T00:00:00Z" })));
    assert(PROJ, fact("u", "p", "v", json!({ "valid_from": "2026-01-03T00:00:00Z" })));
    assert(PROJ, fact("u", "p", "w", json!({ "valid_from": "2026-01-01T00:00:00Z" })));
    assert(PROJ, fact("u", "q", "w", json!({ "valid_from": "last week" })));
    assert(PROJ, fact("u", "q", "w", json!({ "confidence": "0.5" })));
    assert(PROJ, fact("u", "q", "w", json!({ "asserted_by": { "id": "kim", "type": "human" } })));
    assert(PROJ, json!({ "subject": 5, "predicate": "r" }));
    for path in [
        "/v1/projects/proj/facts",
        "/v1/projects/proj/facts?include_ended=true",
        "/v1/projects/other/facts",
        "/v1/projects/alike/facts",
        "/v1/projects/proj/facts?subject=s&predicate=p&as_of=2026-01-02T00:00:00.000Z",
        "/v1/projects/proj/facts?subject=s&predicate=p&as_of=2026-01-01T00:00:00Z",
        "/v1/projects/proj/facts?subject=s&predicate=p&as_of=2026-01-05T00:00:00Z",
        "/v1/projects/proj/facts?subject=%20%2520%20",
        "/v1/projects/proj/packages?limit=50",
        "/v1/projects/proj/orient",
    ] {
        steps.push(("GET", path, String::new()));
    }
    for path in [
        "/v1/projects/proj/facts?subject=s&predicate=p&object=v9",
        "/v1/projects/proj/facts?subject=s",
        "/v1/projects/proj/facts?predicate=q",
        "/v1/projects/proj/facts?subject=s&predicate=p&object=v2",
        "/v1/projects/proj/facts?subject=s&predicate=p",
        "/v1/projects/proj/facts?subject=s&predicate=p",
        "/v1/projects/proj/facts?subject=none&predicate=p",
    ] {
        steps.push(("DELETE", path, String::new()));
        steps.push(("GET", "/v1/projects/proj/facts?include_ended=true", String::new()));
    }
}

fn reading(steps: &mut Vec<Step>) {
    let again = json!({ "subject": "s", "predicate": "p", "value": "v4" });
    steps.push(("POST", "/v1/projects/proj/facts", again.to_string()));
    let mention = with(minimal("proj", "mention"), &json!({ "description": "about u" }));
    steps.push(("POST", "/v1/projects/proj/packages", mention.to_string()));
    steps.push(("POST", "/v1/projects", json!({ "project_id": "empty" }).to_string()));
    for path in [
        "/v1/conformance",
        "/v1/projects/proj/packages?mode=latest",
        "/v1/projects/proj/packages?mode=latest&limit=2",
        "/v1/projects/proj/packages?mode=latest&limit=100",
        "/v1/projects/proj/packages?mode=relevant&query=zebra",
        "/v1/projects/proj/packages?mode=relevant&query=once",
        "/v1/projects/proj/packages?mode=relevant&query=zebra&limit=1",
        "/v1/projects/proj/packages?mode=relevant",
        "/v1/projects/empty/packages?mode=latest",
        "/v1/projects/proj/orient",
        "/v1/projects/proj/orient?window_days=30",
        "/v1/orchestrate?project=proj&focus=zebra",
        "/v1/orchestrate?project=proj&focus=zebra&snippets=1",
        "/v1/orchestrate",
        "/nowhere",
        "/v1/projects/proj/export",
    ] {
        steps.push(("GET", path, String::new()));
    }
}

fn reviews(steps: &mut Vec<Step>) {
    let unknown = json!({ "status": "draft", "x-a": 1 });
    for (path, id) in [
        ("/v1/projects/rev/packages", "r1"),
        ("/v1/projects/rev/packages", "r2"),
        ("/v1/projects/rev/packages", "r3"),
        ("/v1/projects/rev/packages", "r4"),
    ] {
        steps.push(("POST", path, with(minimal("rev", id), &unknown).to_string()));
    }
    let custom = with(minimal("rev", "r5"), &json!({ "status": "draft", "package_type": "x-a" }));
    steps.push(("POST", "/v1/projects/rev/packages", custom.to_string()));
    for id in ["a", "b", "c", "d", "e", "f"] {
        let waiting = json!({ "status": "awaiting_review", "review_type": "human" });
        steps.push(("POST", "/v1/projects/rev2/packages", with(minimal("rev2", id), &waiting).to_string()));
    }
    for (method, path, body) in [
        ("POST", "/v1/packages/r1/flag", "{\"review_type\":\"agent\",\"note\":\"n\"}"),
        ("POST", "/v1/packages/r1/flag", "{\"review_type\":\"human\"}"),
        ("PATCH", "/v1/packages/r3/status", "{\"status\":\"draft\"}"),
        ("PATCH", "/v1/packages/r3/status", "{\"status\":\"complete\"}"),
        ("POST", "/v1/packages/r5/flag", "{\"review_type\":\"agent\"}"),
        ("GET", "/v1/packages/r1", ""),
        ("POST", "/v1/packages/r2/flag", "{\"review_type\":\"none\"}"),
        ("PATCH", "/v1/packages/r2/status", "{\"status\":\"revision_requested\"}"),
        ("PATCH", "/v1/packages/r1/status", "{\"status\":\"draft\"}"),
        ("PATCH", "/v1/packages/r4/status", "{\"status\":\"approved\"}"),
        ("PATCH", "/v1/packages/r1/status", "{\"status\":\"revision_requested\"}"),
        ("GET", "/v1/projects/rev/packages?status=awaiting_review", ""),
        ("GET", "/v1/projects/rev2/review-queue", ""),
        ("POST", "/v1/packages/r1/flag", "{\"review_type\":\"human\"}"),
        ("PATCH", "/v1/packages/r1/status", "{\"status\":\"complete\"}"),
        ("POST", "/v1/packages/r1/flag", "{\"review_type\":\"human\"}"),
        ("GET", "/v1/packages/r1", ""),
        ("POST", "/v1/packages/pkg_full/flag", "{\"review_type\":\"human\"}"),
        ("PATCH", "/v1/packages/pkg_full/status", "{\"status\":\"draft\"}"),
        ("POST", "/v1/packages/none/flag", "{\"review_type\":\"human\"}"),
        ("GET", "/v1/packages/pkg_full", ""),
    ] {
        steps.push((method, path, body.to_owned()));
    }
}

fn transfers(steps: &mut Vec<Step>) {
    let fact = json!({ "fact_id": "f1", "project_id": "imp", "subject": "s", "predicate": "p", "value": "v",
        "valid_from": "2026-01-01T00:00:00Z", "valid_to": "2026-01-02T00:00:00Z",
        "created_at": "2026-01-01T00:00:00Z", "confidence": 0, "x-a": 1 });
    let session = |project: &str, id: &str| {
        json!({ "session_id": id, "project_id": project, "actor_id": "a", "actor_type": "agent", "callsign": "swift-otter",
            "started_at": "2026-01-01T00:00:00Z", "ended_at": null, "packages_deposited": [] })
    };
    let lines = format!("{}\n{}\n{}\n", full("imp", "imported"), fact, session("imp", "one"));
    steps.push(("POST", "/v1/import", format!("{}\n{}\n", session("imp2", "two"), session("imp", "three"))));
    steps.push(("POST", "/v1/import", lines));
    steps.push(("POST", "/v1/import", minimal("imp", "unended").to_string()));
    for number in 4..8 {
        let package = minimal("imp", &format!("imported-{number}"));
        steps.push(("POST", "/v1/projects/imp/packages", package.to_string()));
    }
    for (id, value) in [("imported-2", "a"), ("imported-3", "b")] {
        let package = with(minimal("imp", id), &json!({ "title": value }));
        steps.push(("POST", "/v1/projects/imp/packages", package.to_string()));
    }
    let drafted = with(minimal("imp", "parent-1"), &json!({ "status": "draft" }));
    let child = with(minimal("imp", "parent-2"), &json!({ "parent_package_id": "parent-1" }));
    for package in [drafted, child, with(minimal("imp", "imported-2"), &json!({ "title": "a" }))] {
        steps.push(("POST", "/v1/projects/imp/packages", package.to_string()));
    }
    let noted = json!({ "review_type": "human", "note": "n".repeat(300) });
    steps.push(("POST", "/v1/packages/parent-1/flag", noted.to_string()));
    let by = |kind: &str| json!({ "created_by": { "id": "sam", "type": kind, "session_id": "sess_imp" } });
    let refused = with(minimal("imp", "refused-1"), &json!({ "title": "" }));
    for package in [
        with(refused, &by("human")),
        with(minimal("imp", "session-1"), &by("human")),
        with(minimal("imp", "session-2"), &by("agent")),
    ] {
        steps.push(("POST", "/v1/projects/imp/packages", package.to_string()));
    }
    steps.push(("GET", "/v1/projects/imp/export", String::new()));
    steps.push(("GET", "/v1/projects/imp/sessions", String::new()));
    steps.push(("POST", "/v1/projects/imp/archive", String::new()));
    steps.push(("POST", "/v1/projects/imp/packages", minimal("imp", "late").to_string()));
    steps.push(("POST", "/v1/projects/imp/restore", String::new()));
    steps.push(("GET", "/v1/projects/imp/packages?limit=50", String::new()));
    let waiting =
        json!({ "status": "awaiting_review", "review_type": "human", "created_by": { "id": "s", "type": "script" } });
    steps.push(("POST", "/v1/projects/rev2/packages", with(minimal("rev2", "by-script"), &waiting).to_string()));
    steps.push(("PATCH", "/v1/packages/a/status", "{\"status\":\"draft\"}".to_owned()));
    steps.push(("GET", "/v1/projects/rev2/orient?window_days=30", String::new()));
    steps.push(("GET", "/v1/projects/rev2/review-queue", String::new()));
    steps.push(("POST", "/v1/projects/rev2/archive", String::new()));
    steps.push(("POST", "/v1/projects/rev2/restore", String::new()));
    steps.push(("GET", "/v1/projects/rev2/review-queue", String::new()));
    steps.push(("POST", "/v1/projects/imp/archive", String::new()));
    steps.push(("POST", "/v1/projects/imp/restore", String::new()));
    steps.push(("GET", "/v1/projects/imp", String::new()));
}

/// Bodies that are no object, names in another letter case, distant years, and what an import brought.
fn oddities(steps: &mut Vec<Step>) {
    const PACKAGES: &str = "/v1/projects/odd/packages";
    const FACTS: &str = "/v1/projects/odd/facts";
    let draft = json!({ "status": "draft", "created_at": "2024-05-06T07:08:09Z" });
    let fact = json!({ "fact_id": "f2", "project_id": "odd", "subject": "s", "predicate": "p", "value": "v",
        "valid_from": "2025-01-01T00:00:00Z", "created_at": "2025-01-01T00:00:00Z" });
    let other = with(fact.clone(), &json!({ "fact_id": "f3", "predicate": "q" }));
    let long = with(minimal("odd", "long"), &json!({ "content_md": "m".repeat(70_000) }));
    let lines = format!("{}\n{fact}\n{other}\n{long}\n", with(minimal("odd", "old"), &draft));
    steps.push(("POST", "/v1/import", lines));
    steps.push(("GET", "/v1/packages/long", String::new()));
    steps.push(("POST", PACKAGES, with(minimal("odd", "old"), &draft).to_string()));
    steps.push(("POST", "/v1/packages/old/flag", "[]".to_owned()));
    steps.push(("POST", "/v1/packages/old/flag", "{\"review_type\":\"human\",\"Review_Type\":\"agent\"}".to_owned()));
    for (id, created_at) in [("first", "1600-02-29T12:00:00Z"), ("second", "1900-01-01T00:00:00Z")] {
        let package = with(minimal("odd", id), &json!({ "created_at": created_at, "Title": "other" }));
        steps.push(("POST", PACKAGES, package.to_string()));
    }
    steps.push(("GET", "/v1/projects/odd/packages?limit=50", String::new()));
    for fact in [
        json!([]),
        json!({ "subject": "s", "predicate": "p", "value": "w", "Value": "x" }),
        json!({ "subject": "", "predicate": "p", "value": "w" }),
        json!({ "subject": "d", "predicate": "p", "value": "1600", "valid_from": "1600-02-29T12:00:00Z" }),
        json!({ "subject": "d", "predicate": "p", "value": "1900", "valid_from": "1900-01-01T00:00:00Z" }),
    ] {
        steps.push(("POST", FACTS, fact.to_string()));
    }
    steps.push(("DELETE", "/v1/projects/odd/facts?subject=s&predicate=q", String::new()));
    for path in [
        "/v1/projects/odd/facts?include_ended=true",
        "/v1/projects/odd/facts?subject=d&predicate=p&as_of=1599-12-31T23:59:59Z",
        "/v1/projects/odd/facts?subject=d&predicate=p&as_of=1950-01-01T00:00:00Z",
        "/v1/projects/odd/facts?subject=d&predicate=p&as_of=9999-12-31T23:59:59Z",
    ] {
        steps.push(("GET", path, String::new()));
    }
}

/// Texts that a store can take for others, and a project that is archived twice.
fn resemblances(steps: &mut Vec<Step>) {
    const PACKAGES: &str = "/v1/projects/like/packages";
    const FACTS: &str = "/v1/projects/like/facts";
    for package in [
        with(minimal("like", "007"), &json!({ "body": "kept", "rowid": 1 })),
        with(minimal("like", "7"), &json!({ "title": "other" })),
        with(minimal("like", "lines"), &json!({ "package_type": "memo\nx-report" })),
    ] {
        steps.push(("POST", PACKAGES, package.to_string()));
    }
    let escaped = minimal("like", "escaped").to_string().replacen("pm", "\\p\\m", 1);
    steps.push(("POST", PACKAGES, escaped));
    for fact in [
        json!({ "subject": "s", "predicate": "p", "value": "one", "tags": ["a,b"] }),
        json!({ "subject": "s", "predicate": "q", "value": "two", "confidence": false }),
    ] {
        steps.push(("POST", FACTS, fact.to_string()));
    }
    steps.push(("DELETE", "/v1/projects/like/facts?subject=s&predicate=p&object=ONE", String::new()));
    steps.push(("POST", "/v1/projects/like/archive", String::new()));
    steps.push(("POST", "/v1/projects/like/archive", String::new()));
}

async fn as_library(config: Config) -> Vec<String> {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (reader, writer) = tokio::io::split(theirs);
    tokio::spawn(agentic().serve_adapter(config, Box::new(reader), Box::new(writer)));
    let (reader, mut writer) = tokio::io::split(ours);
    let mut lines = BufReader::new(reader).lines();
    let hex = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let odd = r#"{"b":{"z":1,"a":[1.0,1e-7,1e20,-0.0,""]},"B":"<é\/\u000a>","9":{"n":null},"10":["b","a"],"11":[null,9007199254740993," pad ","\"\\\u001f"],"\ud83d\udd11":0,"\uff5e":1,"e\u0301":"e\u0301"}"#;
    let bare = minimal("proj", "p").to_string();
    let with_defaults = with(minimal("proj", "p"), &json!({ "tags": [], "significance": 5 })).to_string();
    let project = json!({ "store": "store-1", "project_id": "proj" });
    let calls = [
        ("agentic/canonicalize", json!({ "json_hex": hex(odd) })),
        ("agentic/content_hash", json!({ "json_hex": hex(&bare) })),
        ("agentic/content_hash", json!({ "json_hex": hex(&with_defaults) })),
        ("agentic/verify", json!({ "json_hex": hex(&bare), "hash": "0".repeat(64) })),
        ("agentic/open", json!({})),
        ("agentic/create_project", project.clone()),
        ("agentic/set_now", json!({ "store": "store-1", "now": "2026-02-01T00:00:00Z" })),
        ("agentic/orient", project.clone()),
        ("agentic/roundtrip_package", json!({ "json_hex": hex(&full("proj", "p").to_string()) })),
        ("agentic/deposit", with(project.clone(), &json!({ "json_hex": hex(&bare) }))),
        ("agentic/tamper", json!({ "store": "store-1", "package_id": "p", "json_hex": hex(&with_defaults) })),
        ("agentic/pull_specific", json!({ "store": "store-1", "package_id": "p" })),
    ];
    let mut said = Vec::new();
    for (method, params) in calls {
        let request = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        writer.write_all(format!("{request}\n").as_bytes()).await.expect("written");
        said.push(lines.next_line().await.expect("readable").unwrap_or_default());
    }
    said
}
