//! The context service of meshai: state, access lists, private memory, lineage, expiry.

use crate::meshai_support::*;
use serde_json::{Value, json};

/// A library with a clock.
async fn library() -> Library {
    let mut library = Library::start(config(&[]));
    library.call("set_clock", json!({"now": "2026-01-01T00:00:00Z"})).await;
    library
}

async fn ask(library: &mut Library, op: &str, agent: &str, parameters: Value) -> Value {
    let answer = library.answer("context", &json!({"op": op, "agent_id": agent, "parameters": parameters})).await;
    if answer["error"].is_null() { answer["result"]["context"].clone() } else { answer["error"].clone() }
}

fn refused(answer: &Value, code: &str) -> bool {
    answer["data"]["code"] == code
}

#[tokio::test]
async fn each_operation_does_what_it_says() {
    let mut library = library().await;
    let memory = json!({"k1": "é\u{1f680}", "nested": {"a": [1, 2.5, true, null, {}]}, "user_preferences": {}, "task_history": [3, 1, 2]});
    let wanted = json!({"session_id": "s-1", "shared_memory": memory, "agent_memory": {"a": {"secret": "of-a"}}, "expires_at": "2026-01-01T01:00:00Z"});
    let created = ask(&mut library, "create", "a", json!({"context": wanted})).await;
    let id = created["id"].clone();
    assert_eq!((&created["session_id"], &created["shared_memory"]), (&json!("s-1"), &memory));
    assert_eq!(
        (&created["created_at"], &created["expires_at"]),
        (&json!("2026-01-01T00:00:00.000Z"), &json!("2026-01-01T01:00:00Z"))
    );
    assert_eq!(
        (&created["lineage"], &created["agent_memory"]),
        (&json!({"root_context": id}), &json!({"a": {"secret": "of-a"}}))
    );
    let by_session = ask(&mut library, "get", "b", json!({"session_id": "s-1"})).await;
    assert_eq!((&by_session["id"], &by_session["agent_memory"]), (&id, &json!({})));
    let updated = ask(
        &mut library,
        "update",
        "b",
        json!({"context_id": id, "context": {"shared_memory": {"k1": 1, "k2": 2}, "agent_memory": {"b": {"x": 1}}}}),
    )
    .await;
    assert_eq!((&updated["shared_memory"]["k1"], &updated["shared_memory"]["nested"]), (&json!(1), &memory["nested"]));
    assert_eq!(updated["agent_memory"], json!({"b": {"x": 1}}));
    // Writing for another agent is refused as a whole.
    let foreign = ask(
        &mut library,
        "update",
        "b",
        json!({"context_id": id, "context": {"shared_memory": {"k3": 3}, "agent_memory": {"a": {"secret": "x"}}}}),
    )
    .await;
    assert!(refused(&foreign, "AUTHENTICATION_FAILED") && !foreign.to_string().contains("of-a"), "{foreign}");
    let kept = ask(&mut library, "get", "a", json!({"context_id": id})).await;
    assert_eq!((&kept["agent_memory"]["a"]["secret"], &kept["shared_memory"]["k3"]), (&json!("of-a"), &Value::Null));
    // A child is a copy, with the private memory of its maker only.
    let child = ask(&mut library, "fork", "b", json!({"context_id": id})).await;
    assert_eq!(
        (&child["lineage"], &child["shared_memory"]["k2"]),
        (&json!({"parent_context": id, "root_context": id}), &json!(2))
    );
    assert!(child["id"] != id && !child.to_string().contains("of-a"));
    let grandchild = ask(&mut library, "fork", "a", json!({"context_id": child["id"]})).await;
    assert_eq!(grandchild["lineage"], json!({"parent_context": child["id"], "root_context": id}));
    ask(&mut library, "update", "a", json!({"context_id": child["id"], "context": {"shared_memory": {"k2": "child"}}}))
        .await;
    ask(&mut library, "update", "a", json!({"context_id": id, "context": {"shared_memory": {"k1": "parent"}}})).await;
    let (parent, child) = (
        ask(&mut library, "get", "a", json!({"context_id": id})).await,
        ask(&mut library, "get", "a", json!({"context_id": child["id"]})).await,
    );
    assert_eq!((&parent["shared_memory"]["k2"], &child["shared_memory"]["k1"]), (&json!(2), &json!(1)));
    // A combination has everything; the later value wins; the sources stay.
    let third = ask(&mut library, "create", "c", json!({"context": {"shared_memory": {"k2": 3, "k9": 9}}})).await;
    let merged = ask(&mut library, "merge", "a", json!({"context_ids": [id, child["id"], third["id"]]})).await;
    let shared = &merged["shared_memory"];
    assert_eq!(
        (&shared["k1"], &shared["k2"], &shared["k9"], &shared["nested"]),
        (&json!(1), &json!(3), &json!(9), &memory["nested"])
    );
    assert_eq!(merged["agent_memory"], json!({"a": {"secret": "of-a"}}));
    assert_eq!(merged["expires_at"], "2026-01-01T01:00:00Z");
    assert_eq!(ask(&mut library, "get", "a", json!({"context_id": id})).await["shared_memory"]["k2"], 2);
}

#[tokio::test]
async fn unknown_and_expired_contexts_are_not_there() {
    let mut library = library().await;
    let known =
        ask(&mut library, "create", "a", json!({"context": {"expires_at": "2026-01-01T00:00:02Z"}})).await["id"]
            .clone();
    let nobody = "00000000-0000-4000-8000-000000000000";
    let rows = |id: &Value| {
        [
            ("get", json!({"context_id": id})),
            ("update", json!({"context_id": id, "context": {"shared_memory": {"k": 1}}})),
            ("merge", json!({"context_ids": [known, id]})),
            ("fork", json!({"context_id": id})),
        ]
    };
    for (op, parameters) in rows(&json!(nobody)) {
        let answer = ask(&mut library, op, "a", parameters.clone()).await;
        assert!(refused(&answer, "CONTEXT_NOT_FOUND"), "{op} {parameters}: {answer}");
    }
    library.call("set_clock", json!({"now": "2026-01-01T00:00:01.999Z"})).await;
    assert_eq!(ask(&mut library, "get", "a", json!({"context_id": known})).await["id"], known);
    library.call("set_clock", json!({"now": "2026-01-01T00:00:02Z"})).await;
    for (op, parameters) in rows(&known) {
        let answer = ask(&mut library, op, "a", parameters.clone()).await;
        assert!(refused(&answer, "CONTEXT_NOT_FOUND"), "{op} {parameters}: {answer}");
    }
    for wrong in [
        json!({"expires_at": "2025-12-31T23:59:59Z"}),
        json!({"expires_at": "tomorrow"}),
        json!({"shared_memory": []}),
        json!({"agent_memory": {"a": 1}}),
        json!({"access_control": {"read": "all"}}),
    ] {
        let answer = ask(&mut library, "create", "a", json!({"context": wrong})).await;
        assert!(refused(&answer, "INVALID_SCHEMA"), "{wrong}: {answer}");
    }
}

#[tokio::test]
async fn lists_restrict_every_way_in() {
    let handle = start(&[]).await;
    let op = |id: &str, agent: &str, name: &str, parameters: Value| request(id, agent, name, parameters);
    let lists = json!({"read": ["a", "b"], "write": ["a"]});
    let create = json!({"context": {"session_id": "s", "shared_memory": {"k": "marker-1"}, "access_control": lists, "agent_memory": {"a": {"p": "marker-2"}}}});
    let (_, created) = post(&handle, &op("1", "a", "context-create", create)).await;
    let id = at(&created, "/message/payload/result/context/id").clone();
    let event = |agent: &str, memory: Value| {
        let mut event = message(
            "e",
            agent,
            json!({"event_type": "context_update", "context": {"id": id, "session_id": "s", "shared_memory": memory, "access_control": lists}}),
        );
        event["message"]["type"] = json!("event");
        event
    };
    assert_eq!(post(&handle, &event("a", json!({"k": "marker-1", "e": 1}))).await.0, 202);
    let (_, seen) = post(&handle, &op("2", "b", "context-get", json!({"context_id": id}))).await;
    assert_eq!(at(&seen, "/message/payload/result/context/shared_memory"), &json!({"k": "marker-1", "e": 1}));
    assert!(!seen.to_string().contains("marker-2"));
    let other = post(&handle, &op("3", "c", "context-create", json!({"context": {}}))).await.1;
    let other = at(&other, "/message/payload/result/context/id").clone();
    let denied = [
        op("4", "c", "context-get", json!({"context_id": id})),
        op("5", "c", "context-get", json!({"session_id": "s"})),
        op("6", "c", "context-fork", json!({"context_id": id})),
        op("7", "c", "context-merge", json!({"context_ids": [other, id]})),
        op("8", "c", "context-update", json!({"context_id": id, "context": {"shared_memory": {"k": "x"}}})),
        op("9", "b", "context-update", json!({"context_id": id, "context": {"shared_memory": {"k": "x"}}})),
        event("b", json!({"k": "x"})),
        event("c", json!({"k": "x"})),
    ];
    for message in denied {
        let (status, reply) = post(&handle, &message).await;
        assert_eq!((status, code(&reply)), (403, "AUTHENTICATION_FAILED"), "{message}");
        assert!(!reply.to_string().contains("marker"), "{reply}");
    }
    let (_, seen) = post(&handle, &op("10", "a", "context-get", json!({"context_id": id}))).await;
    assert_eq!(at(&seen, "/message/payload/result/context/shared_memory/k"), "marker-1");
    // A combination excludes whom each of its parts excludes.
    let merge = op("11", "b", "context-merge", json!({"context_ids": [other, id]}));
    let (_, merged) = post(&handle, &merge).await;
    assert!(!merged.to_string().contains("marker-2"));
    let merged = at(&merged, "/message/payload/result/context/id");
    assert_eq!(post(&handle, &op("12", "c", "context-get", json!({"context_id": merged}))).await.0, 403);
}
