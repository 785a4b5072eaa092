//! The other variant takes the other reading of an erratum, and is the same protocol all the same.

use crate::support::{Client, config, start};
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};

async fn other() -> (proofmark_reference::Handle, Client) {
    start(Config { variant: Variant::Other, ..config() }).await
}

fn package(id: &str) -> Value {
    json!({
        "package_id": id, "project_id": "p", "relay_version": "0.1", "title": "t", "status": "complete",
        "package_type": "standard", "review_type": "none", "created_at": "2026-01-02T03:04:05Z",
        "created_by": { "id": "a", "type": "agent" },
    })
}

fn with(mut package: Value, name: &str, value: Value) -> Value {
    package[name] = value;
    package
}

#[tokio::test]
async fn accepted_deposits_differ() {
    let (_server, mut client) = other().await;
    assert_eq!(client.deposit(&package("1")).await.status, 200);
    assert_eq!(client.deposit(&package("1")).await.status, 200);
    assert_eq!(client.deposit(&with(package("1"), "title", json!("u"))).await.status, 409);
    let taken = [
        ("relay_version", json!("0.2")),
        ("created_at", json!("2026-01-02T03:04:05+00:00")),
        ("deliverables", json!([{ "path": "/etc/a", "type": "b", "hash": "sha256:...", "size_bytes": -1 }])),
    ];
    for (index, (name, value)) in taken.into_iter().enumerate() {
        let answer = client.deposit(&with(package(&format!("taken-{index}")), name, value.clone())).await;
        assert_eq!((answer.status, &answer.json()[name]), (200, &value));
    }
    let refused = [
        ("status", json!("revision_requested"), 422),
        ("parent_package_id", json!("nobody"), 422),
        ("package_id", json!("a/b"), 400),
        ("title", json!("😀".repeat(101)), 400),
        ("description", json!(null), 400),
        ("significance", json!(5.0), 400),
        ("relay_version", json!("9.9"), 400),
        ("created_at", json!("2026-01-02T03:04:05+02:00"), 400),
    ];
    for (name, value, status) in refused {
        assert_eq!(client.deposit(&with(package("refused"), name, value)).await.status, status, "{name}");
    }
    let mut nameless = package("");
    nameless.as_object_mut().expect("an object").retain(|name, _| name != "package_id" && name != "package_type");
    let answer = client.deposit(&nameless).await.json();
    assert!(answer["package_id"].as_str().is_some_and(|id| id.len() == 36 && id.starts_with("pkg_")));
    assert_eq!((&answer["package_type"], &answer["significance"]), (&json!("standard"), &json!(5)));
    let twice = r#"{"title":"a\ud800","title":"b\ud800"}"#;
    let body = package("twice").to_string().replace(r#""title":"t""#, &twice[1..twice.len() - 1]);
    assert_eq!(client.post_text("/v1/projects/p/packages", &body).await.json()["title"], "b\u{fffd}");
}

#[tokio::test]
async fn facts_are_the_same_in_another_way() {
    let (_server, mut client) = other().await;
    let path = "/v1/projects/p/facts";
    let assert =
        |value: Value, from: &str| json!({ "subject": "s", "predicate": "p", "value": value, "valid_from": from });
    let first = client.post(path, &assert(json!("1"), "2026-01-02T03:00:00Z")).await;
    assert_eq!((first.status, first.body.as_str()), (200, ""));
    client.post(path, &assert(json!("1"), "2026-01-02T05:00:00Z")).await;
    client.post(path, &assert(json!(3.5), "2026-01-02T06:00:00+00:00")).await;
    client.post(path, &assert(json!("2"), "2026-01-02T04:00:00Z")).await;
    assert_eq!(client.post(path, &assert(json!(null), "2026-01-02T07:00:00Z")).await.status, 422);
    let history = client.get(&format!("{path}?include_ended=true")).await.json();
    let rows: Vec<[Value; 3]> = history["data"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|fact| ["value", "valid_from", "valid_to"].map(|name| fact[name].clone()))
        .collect();
    let at = |hour: u8| json!(format!("2026-01-02T0{hour}:00:00.000000000Z"));
    let expected = [[json!("1"), at(3), at(4)], [json!("2"), at(4), at(6)], [json!("3.5"), at(6), Value::Null]];
    assert_eq!(rows, expected);
    let ended = client.send("DELETE", &format!("{path}?subject=s&predicate=p&object=x"), b"").await.expect("an answer");
    assert_eq!(ended.json()["ended"], 1);
    let again = client.send("DELETE", &format!("{path}?subject=s&predicate=p"), b"").await.expect("an answer");
    assert_eq!(again.status, 404);
}

#[tokio::test]
async fn reviews_go_another_way() {
    let (_server, mut client) = other().await;
    client.deposit(&with(package("d"), "status", json!("draft"))).await;
    let filtered = client.get("/v1/projects/p/packages?mode=latest&status=awaiting_review").await.json();
    assert_eq!(filtered["items"], json!([]), "lists omit drafts");
    let status = |client: Client, to: &'static str| async move {
        let mut client = client;
        let body = json!({ "status": to }).to_string();
        let answer = client.send("PATCH", "/v1/packages/d/status", body.as_bytes()).await.expect("an answer");
        (client, answer)
    };
    let (client, answer) = status(client, "complete").await;
    assert_eq!(answer.status, 409);
    let (mut client, answer) = status(client, "draft").await;
    assert_eq!((answer.status, &answer.json()["status"]), (200, &json!("draft")));
    let flag = client.post("/v1/packages/d/flag", &json!({ "review_type": "human", "note": "look" })).await.json();
    assert_eq!((&flag["status"], &flag["x-review-note"]), (&json!("awaiting_review"), &json!("look")));
    let again = client.post("/v1/packages/d/flag", &json!({ "review_type": "agent" })).await.json();
    assert_eq!(again["review_type"], "agent");
    let waiting = client.get("/v1/projects/p/review-queue").await.json();
    assert_eq!(waiting[0]["package_id"], "d");
    let (mut client, answer) = status(client, "complete").await;
    assert_eq!(answer.json()["review_type"], "none");
    assert_eq!(client.post("/v1/packages/d/flag", &json!({ "review_type": "human" })).await.status, 400);
}
