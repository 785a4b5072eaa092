//! What changes after it was written: facts, which are superseded and ended, and packages under review.

use crate::support::{Answer, Client, address, config, encode, full, minimal, start, with};
use serde_json::{Value, json};

fn at(hour: u32) -> String {
    format!("2026-01-01T{hour:02}:00:00Z")
}

async fn assert_fact(client: &mut Client, value: &str, valid_from: Option<String>) -> Answer {
    let mut fact = json!({ "subject": "s", "predicate": "p", "value": value });
    if let Some(valid_from) = valid_from {
        fact["valid_from"] = valid_from.into();
    }
    client.post("/v1/projects/proj/facts", &fact).await
}

async fn values(client: &mut Client, query: &str) -> Vec<String> {
    let answer = client.get(&format!("/v1/projects/proj/facts?subject=s&predicate=p{query}")).await;
    let facts = answer.json()["facts"].as_array().cloned().unwrap_or_else(|| panic!("{answer:?}"));
    facts.iter().map(|fact| fact["value"].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_chain_of_facts_has_no_gap_and_no_overlap() {
    let (_server, mut client) = start(config()).await;
    for hour in 1..=4 {
        assert_eq!(assert_fact(&mut client, &format!("v{hour}"), Some(at(hour))).await.status, 201);
    }
    let history = client.get("/v1/projects/proj/facts?include_ended=true").await.json();
    let history = history["facts"].as_array().expect("a list").clone();
    for pair in history.windows(2) {
        assert_eq!(pair[0]["valid_to"], pair[1]["valid_from"]);
    }
    assert_eq!(history[3]["valid_to"], Value::Null);
    assert_eq!(values(&mut client, "").await, ["v4"]);
    for (instant, expected) in [
        (at(0), &[][..]),
        (at(1), &["v1"][..]),
        ("2026-01-01T01:59:59.999Z".into(), &["v1"][..]),
        ("2026-01-01T02:00:00.000Z".into(), &["v2"][..]),
        (at(4), &["v4"][..]),
        ("2030-01-01".into(), &["v4"][..]),
    ] {
        assert_eq!(values(&mut client, &format!("&as_of={instant}")).await, expected, "{instant}");
    }
    assert_eq!(client.get("/v1/projects/proj/facts?as_of=noon").await.status, 400);
}

#[tokio::test]
async fn a_rejected_assertion_changes_nothing() {
    let (_server, mut client) = start(config()).await;
    assert_fact(&mut client, "v1", Some(at(2))).await;
    let before = client.get("/v1/projects/proj/facts?include_ended=true").await.body;
    for members in [
        json!({ "confidence": 2 }),
        json!({ "confidence": "0.5" }),
        json!({ "value": 97.5 }),
        json!({ "value": null }),
        json!({ "subject": 5 }),
        json!({ "predicate": null }),
        json!({ "valid_from": "last week" }),
        json!({ "tags": [1] }),
        json!({ "valid_from": 17 }),
        json!({ "asserted_by": { "id": "a" } }),
        json!({ "project_id": "other" }),
        json!({ "valid_to": at(9) }),
    ] {
        let fact = with(json!({ "subject": "s", "predicate": "p", "value": "v2" }), &members);
        let answer = client.post("/v1/projects/proj/facts", &fact).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "invalid_schema"), "{members}");
    }
    let backdated = assert_fact(&mut client, "v0", Some(at(1))).await;
    assert_eq!((backdated.status, backdated.code().as_str()), (409, "fact_conflict"));
    assert_eq!(client.get("/v1/projects/proj/facts?include_ended=true").await.body, before);
    assert_eq!(assert_fact(&mut client, "v2", Some(at(2))).await.status, 201);
}

#[tokio::test]
async fn invalidation_ends_and_counts_current_facts() {
    let (_server, mut client) = start(config()).await;
    for (hour, value) in [(1, "v1"), (2, "v2")] {
        assert_fact(&mut client, value, Some(at(hour))).await;
    }
    let path = "/v1/projects/proj/facts?subject=s&predicate=p";
    for (query, count) in [("&object=v9", 0), ("&object=v2", 1), ("", 0)] {
        let answer = client.send("DELETE", &format!("{path}{query}"), b"").await.expect("an answer");
        assert_eq!((answer.status, answer.json()), (200, json!({ "invalidated": count })));
    }
    assert!(values(&mut client, "").await.is_empty());
    assert_eq!(values(&mut client, "&include_ended=true").await, ["v1", "v2"]);
    assert_eq!(values(&mut client, &format!("&as_of={}", at(3))).await, ["v2"]);
    let history = client.get(&format!("{path}&include_ended=true")).await.json();
    assert_eq!(history["facts"][0]["valid_to"], json!(at(2)));
    for query in ["?subject=s", "?predicate=p"] {
        let answer = client.send("DELETE", &format!("/v1/projects/proj/facts{query}"), b"").await.expect("an answer");
        assert_eq!(answer.status, 400);
    }
    assert_eq!(assert_fact(&mut client, "v3", None).await.status, 201);
    assert_eq!(values(&mut client, "").await, ["v3"]);
}

#[tokio::test]
async fn subjects_are_free_text_and_decoded_once() {
    let (_server, mut client) = start(config()).await;
    for subject in ["a b", "a&b=c", "a/b", "100%", "%20", "a+b", "Größe 🚀", " padded "] {
        let fact = json!({ "subject": subject, "predicate": "x-p:q/r", "value": " 007 " });
        assert_eq!(client.post("/v1/projects/proj/facts", &fact).await.status, 201);
        let path = format!("/v1/projects/proj/facts?subject={}", encode(subject));
        let found = client.get(&path).await.json();
        assert_eq!((&found["facts"][0]["subject"], &found["facts"][0]["value"]), (&json!(subject), &json!(" 007 ")));
        assert_eq!(found["facts"].as_array().map(Vec::len), Some(1));
        let ended = client.send("DELETE", &format!("{path}&predicate=x-p%3Aq%2Fr"), b"").await.expect("an answer");
        assert_eq!(ended.json()["invalidated"], 1);
    }
}

#[tokio::test]
async fn attribution_of_a_fact_is_given_or_copied_from_its_source() {
    let (_server, mut client) = start(config()).await;
    client.deposit(&full("proj", "pkg")).await;
    let fact = json!({ "subject": "s", "predicate": "p", "value": "v", "source_package_id": "pkg", "confidence": 0, "x-o": 1 });
    let copied = client.post("/v1/projects/proj/facts", &fact).await.json();
    assert_eq!(copied["fact"]["asserted_by"], full("proj", "pkg")["created_by"]);
    assert_eq!((&copied["fact"]["confidence"], &copied["fact"]["x-o"]), (&json!(0), &json!(1)));
    let named = with(fact, &json!({ "asserted_by": { "id": "kim", "type": "human" } }));
    let given = client.post("/v1/projects/proj/facts", &named).await.json();
    assert_eq!(given["fact"]["asserted_by"], json!({ "id": "kim", "type": "human" }));
    let id = given["fact"]["fact_id"].as_str().expect("an id");
    assert!(id.len() == 37 && id.starts_with("fact_") && id[5..].bytes().all(|byte| byte.is_ascii_hexdigit()));
    assert_eq!(client.get("/v1/projects/proj/orient").await.json()["active_facts"].as_array().map(Vec::len), Some(1));
}

#[tokio::test]
async fn racing_assertions_leave_one_current_fact_and_a_clean_history() {
    let (server, mut client) = start(config()).await;
    let racers: Vec<_> = (0..16)
        .map(|number| {
            let address = address(&server);
            tokio::spawn(async move {
                let mut client = Client::connect(address).await.expect("the server listens");
                assert_fact(&mut client, &format!("v{number}"), None).await.status
            })
        })
        .collect();
    for racer in racers {
        assert_eq!(racer.await.expect("an answer"), 201);
    }
    assert_eq!(values(&mut client, "").await.len(), 1);
    assert_eq!(values(&mut client, "&include_ended=true").await.len(), 16);
    let history = client.get("/v1/projects/proj/facts?include_ended=true").await.json();
    for pair in history["facts"].as_array().expect("a list").windows(2) {
        assert_eq!(pair[0]["valid_to"], pair[1]["valid_from"]);
    }
}

async fn move_to(client: &mut Client, id: &str, status: &str) -> Answer {
    let body = json!({ "status": status }).to_string();
    client.send("PATCH", &format!("/v1/packages/{id}/status"), body.as_bytes()).await.expect("an answer")
}

async fn flag(client: &mut Client, id: &str, body: Value) -> Answer {
    client.post(&format!("/v1/packages/{id}/flag"), &body).await
}

#[tokio::test]
async fn a_review_changes_only_status_review_type_and_hash() {
    let (_server, mut client) = start(config()).await;
    let draft = with(full("proj", "pkg"), &json!({ "status": "draft" }));
    let deposited = client.deposit(&draft).await.json();
    let flagged = flag(&mut client, "pkg", json!({ "review_type": "agent", "note": "please look" })).await;
    assert_eq!(flagged.status, 200);
    let expected = with(draft.clone(), &json!({ "status": "awaiting_review", "review_type": "agent" }));
    assert_eq!(flagged.json()["package"], expected);
    assert_ne!(flagged.json()["content_hash"], deposited["content_hash"]);
    assert_eq!(client.get("/v1/packages/pkg").await.body, flagged.body);
    // The same deposit again is still identical.
    let again = client.deposit(&draft).await;
    assert_eq!((again.status, again.json()), (200, flagged.json()));
    assert_eq!(client.get("/v1/projects/proj/packages?status=awaiting_review").await.ids(), ["pkg"]);
    assert_eq!(move_to(&mut client, "pkg", "revision_requested").await.status, 200);
    assert!(client.get("/v1/projects/proj/review-queue").await.ids().is_empty());
    assert_eq!(flag(&mut client, "pkg", json!({ "review_type": "human" })).await.status, 200);
    let complete = move_to(&mut client, "pkg", "complete").await;
    assert_eq!(complete.json()["package"], with(draft, &json!({ "status": "complete", "review_type": "human" })));
    for status in ["draft", "awaiting_review", "revision_requested", "complete", "approved", ""] {
        let refused = move_to(&mut client, "pkg", status).await;
        assert_eq!((refused.status, refused.code().as_str()), (400, "invalid_transition"), "{status:?}");
    }
    assert_eq!(flag(&mut client, "pkg", json!({ "review_type": "human" })).await.code(), "invalid_transition");
    assert_eq!(client.get("/v1/packages/pkg").await.body, complete.body);
}

#[tokio::test]
async fn bad_flags_and_moves_are_refused() {
    let (_server, mut client) = start(config()).await;
    client.deposit(&with(minimal("proj", "pkg"), &json!({ "status": "draft" }))).await;
    for body in [
        json!({}),
        json!({ "review_type": "none" }),
        json!({ "review_type": 1 }),
        json!({ "review_type": "human", "note": 1 }),
    ] {
        assert_eq!(flag(&mut client, "pkg", body).await.code(), "invalid_schema");
    }
    assert_eq!(flag(&mut client, "none", json!({ "review_type": "human" })).await.code(), "package_not_found");
    assert_eq!(move_to(&mut client, "none", "complete").await.code(), "package_not_found");
    let number = client.send("PATCH", "/v1/packages/pkg/status", b"{\"status\":1}").await.expect("an answer");
    assert_eq!(number.code(), "invalid_schema");
    for status in ["draft", "revision_requested"] {
        assert_eq!(move_to(&mut client, "pkg", status).await.code(), "invalid_transition");
    }
    assert_eq!(client.get("/v1/packages/pkg").await.json()["package"]["status"], "draft");
}
