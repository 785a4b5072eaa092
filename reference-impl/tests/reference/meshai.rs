//! Messages, requests, registry, delegation and transports of meshai, row by row.

use crate::meshai_support::*;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::time::{Duration, timeout};
use tokio_tungstenite::tungstenite::Message;

fn fixture() -> Value {
    request("m-1", "pm-a", "text-analysis", json!({"text": "Two words"}))
}

#[tokio::test]
async fn a_request_is_answered_by_a_whole_message() {
    let handle = start(&[]).await;
    let (status, reply) = post(&handle, &fixture()).await;
    assert_eq!((status, &reply["protocol"]), (200, &json!("AMP/1.0")));
    let message = &reply["message"];
    assert_eq!(message["type"], "response");
    assert_eq!(message["payload"]["status"], "success");
    assert_eq!(message["payload"]["result"], json!({"characters": 9, "words": 2}));
    assert_eq!(message["source"]["agent_id"], "agent-a");
    assert_eq!(message["destination"]["agent_id"], "pm-a");
    assert_eq!(message["headers"]["correlation_id"], "m-1");
    assert_eq!(message["headers"]["routing_hints"], json!({}));
    assert!(message["headers"]["execution_time_ms"].is_u64());
    assert!(message["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')));
    assert_ne!(message["id"], "m-1");
    let mut alias = fixture();
    alias["protocol"] = json!("AIP/1.0");
    assert_eq!(post(&handle, &alias).await.1["protocol"], "AIP/1.0");
    let mut tracked = fixture();
    tracked["message"]["headers"]["correlation_id"] = json!("tracking");
    assert_eq!(post(&handle, &tracked).await.1["message"]["headers"]["correlation_id"], "m-1");
}

/// What is set (or removed, by null), and the code that answers; none for a served request.
const EDITS: &[(&str, &str, &str)] = &[
    ("/protocol", "null", "INVALID_SCHEMA"),
    ("/protocol", "1.0", "INVALID_SCHEMA"),
    ("/protocol", "\"XYZ/1.0\"", "INVALID_SCHEMA"),
    ("/protocol", "\"amp/1.0\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP 1.0\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/1\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/1.0.0\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/one\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/1.\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/2.0\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/0.9\"", "INVALID_SCHEMA"),
    ("/protocol", "\"AMP/1.1\"", ""),
    ("/protocol", "\"AMP/1.99\"", ""),
    ("/message", "[]", "INVALID_SCHEMA"),
    ("/message", "null", "INVALID_SCHEMA"),
    ("/message/id", "null", "INVALID_SCHEMA"),
    ("/message/id", "7", "INVALID_SCHEMA"),
    ("/message/type", "null", "INVALID_SCHEMA"),
    ("/message/type", "\"command\"", "INVALID_SCHEMA"),
    ("/message/type", "\"request|response\"", "INVALID_SCHEMA"),
    ("/message/type", "\"REQUEST\"", "INVALID_SCHEMA"),
    ("/message/type", "1", "INVALID_SCHEMA"),
    ("/message/timestamp", "null", "INVALID_SCHEMA"),
    ("/message/timestamp", "\"yesterday\"", "INVALID_SCHEMA"),
    ("/message/timestamp", "\"2025-01-27T12:00:00+02:00\"", ""),
    ("/message/source", "null", "INVALID_SCHEMA"),
    ("/message/source", "{}", "INVALID_SCHEMA"),
    ("/message/source/session_id", "\"s\"", ""),
    ("/message/destination", "null", "INVALID_SCHEMA"),
    ("/message/destination/capability", "null", ""),
    ("/message/destination/agent_id", "\"agent-a\"", ""),
    ("/message/destination/agent_id", "\"nobody\"", "AGENT_NOT_FOUND"),
    ("/message/headers", "\"none\"", "INVALID_SCHEMA"),
    ("/message/headers", "{}", ""),
    ("/message/headers/priority", "1", ""),
    ("/message/headers/priority", "10", ""),
    ("/message/headers/priority", "0", "INVALID_SCHEMA"),
    ("/message/headers/priority", "11", "INVALID_SCHEMA"),
    ("/message/headers/priority", "2.5", "INVALID_SCHEMA"),
    ("/message/headers/priority", "\"high\"", "INVALID_SCHEMA"),
    ("/message/headers/timeout_ms", "0", "INVALID_SCHEMA"),
    ("/message/headers/timeout_ms", "\"fast\"", "INVALID_SCHEMA"),
    ("/message/headers/routing_hints", "{\"region\":\"x\"}", ""),
    ("/message/headers/x_proofmark", "1", ""),
    ("/message/headers/authentication", "{\"type\":\"jwt\",\"token\":\"a.b.c\"}", ""),
    ("/message/x_proofmark", "1", ""),
    ("/message/payload", "null", "INVALID_SCHEMA"),
    ("/message/payload", "[]", "INVALID_SCHEMA"),
    ("/message/payload", "\"x\"", "INVALID_SCHEMA"),
    ("/message/payload/capability", "null", "INVALID_SCHEMA"),
    ("/message/payload/capability", "7", "INVALID_SCHEMA"),
    ("/message/payload/capability", "\"quantum-analysis\"", "CAPABILITY_NOT_FOUND"),
    ("/message/payload/parameters", "[]", "INVALID_SCHEMA"),
    ("/message/payload/parameters", "{}", "INVALID_SCHEMA"),
    ("/message/payload/parameters/text", "5", "INVALID_SCHEMA"),
    ("/message/payload/context", "{\"conversation_history\":[]}", ""),
    ("/message/payload/context", "{\"session_id\":\"nothing-stored\"}", ""),
    ("/message/payload/context", "{\"session_id\":5}", "INVALID_SCHEMA"),
    ("/message/payload/context", "{\"conversation_history\":\"x\"}", "INVALID_SCHEMA"),
];

#[tokio::test]
async fn each_member_is_checked() {
    let handle = start(&[]).await;
    for (pointer, value, expected) in EDITS {
        let mut envelope = fixture();
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let parent = envelope.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
        match serde_json::from_str(value).expect("JSON") {
            Value::Null => drop(parent.remove(name)),
            value => drop(parent.insert((*name).to_owned(), value)),
        }
        let (status, reply) = post(&handle, &envelope).await;
        assert_eq!(code(&reply), *expected, "{pointer} {value}: {reply}");
        assert_eq!(
            status,
            if expected.is_empty() {
                200
            } else if expected.ends_with("FOUND") {
                404
            } else {
                400
            },
            "{pointer} {value}"
        );
        assert!(reply["protocol"] == "AMP/1.0", "{pointer} {value}: {reply}");
        if *pointer == "/protocol" && !expected.is_empty() {
            let versions = at(&reply, "/message/payload/error/details/supported_versions");
            assert!(versions.is_null() || *versions == json!(["1.0"]), "{reply}");
        }
    }
    for body in ["", "{", "{\"protocol\":\"AMP/1.0\" /* x */}", "\"x\"", "1", "null", "[]", "{}"] {
        let (status, text) = http(&handle, "POST", "/aip/v1/invoke", "", body.as_bytes()).await;
        assert_eq!((status, text.contains("\"error\"")), (400, true), "{body}: {text}");
    }
    let batch = json!([fixture(), fixture()]).to_string();
    assert_eq!(http(&handle, "POST", "/aip/v1/invoke", "", batch.as_bytes()).await.0, 400);
    for (method, path, status) in
        [("GET", "/aip/v1/invoke", 405), ("PUT", "/aip/v1/invoke", 405), ("GET", "/health", 200)]
    {
        assert_eq!(http(&handle, method, path, "", b"").await.0, status, "{method} {path}");
    }
}

#[tokio::test]
async fn slow_failing_and_exhausted_tools_end_as_they_should() {
    let handle = start(&[("rate-limit", "5"), ("rate-window", "1s"), ("control", "on")]).await;
    let tool = |id: &str, parameters: Value| request(id, id, "tool-use", parameters);
    let mut slow = tool("t-1", json!({"tool": "sleep", "ms": 3000}));
    slow["message"]["headers"]["timeout_ms"] = json!(200);
    assert_eq!(post(&handle, &slow).await.0, 504);
    let (_, failed) = post(&handle, &tool("t-2", json!({"tool": "fail"}))).await;
    assert_eq!(at(&failed, "/message/payload/status"), "failed");
    let (status, exhausted) = post(&handle, &tool("t-3", json!({"tool": "exhaust"}))).await;
    assert_eq!((status, code(&exhausted)), (503, "INSUFFICIENT_RESOURCES"));
    let parameters = json!({"tool": "echo", "context": "Geography", "n": [1.5, {"é": null}]});
    let (_, echo) = post(&handle, &tool("t-4", parameters.clone())).await;
    assert_eq!(at(&echo, "/message/payload/result/echo"), &parameters);
    assert_eq!(code(&post(&handle, &tool("t-5", json!({"tool": "dig"}))).await.1), "INVALID_SCHEMA");
    // Five a second for each source, by the clock of the server.
    control(&handle, &json!({"op": "clock", "now": "2026-01-01T00:00:00Z"})).await;
    for count in 0..7 {
        let (status, _) = post(&handle, &fixture()).await;
        assert_eq!(status, if count < 5 { 200 } else { 429 }, "request {count}");
    }
    assert_eq!(post(&handle, &request("m", "pm-b", "text-analysis", json!({"text": ""}))).await.0, 200);
    control(&handle, &json!({"op": "clock", "now": "2026-01-01T00:00:01Z"})).await;
    assert_eq!(post(&handle, &fixture()).await.0, 200);
}

#[tokio::test]
async fn the_registry_finds_what_is_registered() {
    let handle = start(&[("control", "on"), ("lease", "10s")]).await;
    let ids = |reply: &Value| -> Vec<String> {
        let agents = at(reply, "/message/payload/result/agents").as_array().cloned().unwrap_or_default();
        agents.iter().map(|entry| entry["agent"]["id"].as_str().expect("an id").to_owned()).collect()
    };
    let mut quick = registration("pm-1", "pm-x", "http://127.0.0.1:9/a");
    let mut slow = registration("pm-2", "pm-x-long", "http://127.0.0.1:9/b");
    slow["capabilities"][0]["constraints"]["response_time_ms"] = json!(9000);
    let mut second = slow["capabilities"][0].clone();
    second["id"] = json!("pm-x");
    slow["capabilities"].as_array_mut().expect("a list").push(second);
    for payload in [&quick, &slow, &quick] {
        let (status, reply) = post(&handle, &registry("r", "pm-1", "registration", payload.clone())).await;
        assert_eq!((status, at(&reply, "/message/payload/status")), (201, &json!("success")), "{reply}");
    }
    let queries = [
        (json!({"capabilities": ["pm-x"]}), vec!["pm-1", "pm-2"]),
        (json!({"capabilities": ["pm-x-long"]}), vec!["pm-2"]),
        (json!({"capabilities": ["pm-x", "pm-x-long"]}), vec!["pm-2"]),
        (json!({"capabilities": ["pm"]}), vec![]),
        (json!({"capabilities": ["pm-x"], "constraints": {}}), vec!["pm-1", "pm-2"]),
        (json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 5000}}), vec!["pm-1"]),
        (json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 1000}}), vec!["pm-1"]),
        (json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 999}}), vec![]),
        (json!({"capabilities": ["pm-x"], "constraints": {"min_success_rate": 1}}), vec!["pm-1", "pm-2"]),
        (json!({"capabilities": ["text-analysis"]}), vec!["agent-a"]),
    ];
    for (query, expected) in queries {
        let (_, reply) = post(&handle, &registry("q", "pm-9", "discovery", json!({"query": query}))).await;
        assert_eq!(ids(&reply), expected, "{query}");
        assert!(!reply.to_string().contains("secret"), "credentials are shown");
    }
    for query in [
        json!("x"),
        json!({"capabilities": "pm-x"}),
        json!({"capabilities": [1]}),
        json!({"constraints": []}),
        json!({"constraints": {"max_latency_ms": -1}}),
        json!({"constraints": {"min_success_rate": 95}}),
    ] {
        assert_eq!(post(&handle, &registry("q", "pm-9", "discovery", json!({"query": query}))).await.0, 400, "{query}");
    }
    // Another agent may not take the id, nor that of a built-in one.
    quick["authentication"]["credentials"] = json!("other");
    assert_eq!(post(&handle, &registry("r", "x", "registration", quick.clone())).await.0, 401);
    let own = registration("agent-a", "pm-y", "http://127.0.0.1:9/");
    assert_eq!(post(&handle, &registry("r", "x", "registration", own)).await.0, 401);
    let invalid: &[(&str, Value)] = &[
        ("/agent", json!("x")),
        ("/agent/id", json!(7)),
        ("/agent/id", json!("")),
        ("/agent/id", json!("registry")),
        ("/agent/name", json!(5)),
        ("/agent/framework", json!("spreadsheets")),
        ("/agent/protocol_version", json!("2.0")),
        ("/capabilities", json!("pm-z")),
        ("/capabilities", json!(["pm-z"])),
        ("/capabilities/0/id", json!(7)),
        ("/capabilities/0/input_schema", json!({"type": 5})),
        ("/capabilities/0/version", json!(1)),
        ("/endpoints", json!("x")),
        ("/endpoints/invoke", json!("/invoke")),
        ("/endpoints/invoke", json!("amqp://x/y")),
    ];
    for (pointer, value) in invalid {
        let mut payload = registration("pm-3", "pm-z", "http://127.0.0.1:9/");
        *payload.pointer_mut(pointer).expect("there") = value.clone();
        assert_eq!(post(&handle, &registry("r", "x", "registration", payload)).await.0, 400, "{pointer} {value}");
    }
    let (_, reply) =
        post(&handle, &registry("q", "x", "discovery", json!({"query": {"capabilities": ["pm-z"]}}))).await;
    assert_eq!(ids(&reply), Vec::<String>::new());
    // A lone reference is a schema that cannot be resolved.
    let mut referring = registration("pm-4", "pm-w", "http://127.0.0.1:9/");
    referring["capabilities"][0]["input_schema"] = json!({"$ref": "#/definitions/TextAnalysisInput"});
    assert_eq!(post(&handle, &registry("r", "x", "registration", referring)).await.0, 201);
    // Deregistration needs the credentials; leases end.
    let leave = |token: &str| format!("Authorization: Bearer {token}\r\n");
    for (id, token, status) in
        [("pm-2", "wrong", 403), ("agent-a", "", 403), ("pm-2", "secret", 204), ("pm-2", "secret", 404)]
    {
        assert_eq!(
            http(&handle, "DELETE", &format!("/agents/{id}"), &leave(token), b"").await.0,
            status,
            "{id} {token}"
        );
    }
    control(&handle, &json!({"op": "clock", "offset_ms": 8000})).await;
    assert_eq!(http(&handle, "PUT", "/agents/pm-1/health", &leave("secret"), b"").await.0, 204);
    control(&handle, &json!({"op": "clock", "offset_ms": 16_000})).await;
    for (capability, expected) in [("pm-x", vec!["pm-1"]), ("pm-w", vec![])] {
        let (_, reply) =
            post(&handle, &registry("q", "x", "discovery", json!({"query": {"capabilities": [capability]}}))).await;
        assert_eq!(ids(&reply), expected);
    }
}

#[tokio::test]
async fn a_mesh_forwards_to_registered_agents_and_counts() {
    let peer = start(&[("kind", "agent"), ("agent-id", "pm-peer")]).await;
    let mesh = start(&[]).await;
    let invoke = format!("{}/aip/v1/invoke", peer.url("http").expect("a URL"));
    let payload = registration("pm-peer", "pm-route", &invoke);
    assert_eq!(post(&mesh, &registry("r", "pm-peer", "registration", payload)).await.0, 201);
    let mut forwarded = fixture();
    forwarded["message"]["destination"] = json!({"agent_id": "pm-peer", "capability": "text-analysis"});
    let (status, reply) = post(&mesh, &forwarded).await;
    assert_eq!((status, at(&reply, "/message/source/agent_id")), (200, &json!("pm-peer")), "{reply}");
    // By capability alone it is found as well; the peer does not offer it, which counts as a failure.
    assert_eq!(code(&post(&mesh, &request("m", "a", "pm-route", json!({}))).await.1), "CAPABILITY_NOT_FOUND");
    let found = async |rate: f64| {
        let query = json!({"query": {"capabilities": ["pm-route"], "constraints": {"min_success_rate": rate}}});
        let (_, reply) = post(&mesh, &registry("q", "x", "discovery", query)).await;
        at(&reply, "/message/payload/result/agents").as_array().map_or(9, Vec::len)
    };
    assert_eq!((found(0.5).await, found(0.51).await, found(0.0).await), (1, 0, 1));
    peer.stop().await;
    assert_eq!(post(&mesh, &forwarded).await.0, 502);
}

#[tokio::test]
async fn negotiation_asks_for_everything_in_time() {
    let handle = start(&[]).await;
    let ask = |requirements: Value| {
        let mut message =
            message("n", "pm-a", json!({"negotiation_type": "capability_check", "requirements": requirements}));
        message["message"]["destination"] = json!({"agent_id": "agent-a"});
        message
    };
    let rows = [
        (json!({"capabilities": ["text-analysis"]}), json!(true)),
        (
            json!({"capabilities": ["text-analysis", "summarization"], "estimated_tokens": 1, "deadline": "2099-01-01T00:00:00Z"}),
            json!(true),
        ),
        (json!({"capabilities": ["text-analysis", "pm-none"]}), json!(false)),
        (json!({"capabilities": ["text-analysis"], "deadline": "2020-01-01T00:00:00Z"}), json!(false)),
        (json!({"capabilities": "text-analysis"}), Value::Null),
        (json!({"capabilities": ["text-analysis"], "deadline": "soon"}), Value::Null),
        (json!("x"), Value::Null),
    ];
    for (requirements, accepted) in rows {
        let (status, reply) = post(&handle, &ask(requirements.clone())).await;
        assert_eq!(at(&reply, "/message/payload/result/accepted"), &accepted, "{requirements}");
        assert_eq!(status, if accepted.is_null() { 400 } else { 200 }, "{requirements}");
    }
}

/// Takes one request on `listener` and answers 200; its body.
async fn taken(listener: &TcpListener) -> Value {
    let (mut stream, _) = timeout(Duration::from_secs(5), listener.accept()).await.expect("called").expect("accepted");
    let mut bytes = Vec::new();
    loop {
        stream.read_buf(&mut bytes).await.expect("read");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((_, body)) = text.split_once("\r\n\r\n")
            && let Ok(body) = serde_json::from_str(body)
        {
            assert!(text.to_lowercase().contains("content-type: application/json"), "{text}");
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}").await.expect("written");
            return body;
        }
    }
}

#[tokio::test]
async fn delegations_are_reported_each_to_its_own_callback() {
    let handle = start(&[]).await;
    let listeners = [
        TcpListener::bind("127.0.0.1:0").await.expect("a port"),
        TcpListener::bind("127.0.0.1:0").await.expect("a port"),
    ];
    let delegate = |id: &str, parent: &str, capability: &str, parameters: Value, callback: String| {
        let subtask = json!({"capability": capability, "parameters": parameters, "completion_callback": callback});
        let mut message = message(id, "pm-a", json!({"delegation": {"parent_task_id": parent, "subtask": subtask}}));
        message["message"]["destination"] = json!({"capability": capability});
        message
    };
    let url = |listener: &TcpListener| format!("http://{}/done", listener.local_addr().expect("an address"));
    let slow = delegate("d-1", "task-1", "tool-use", json!({"tool": "sleep", "ms": 50}), url(&listeners[0]));
    let quick = delegate("d-2", "task-2", "text-analysis", json!({"text": "x"}), url(&listeners[1]));
    for message in [&slow, &quick] {
        let (status, reply) = post(&handle, message).await;
        assert_eq!((status, at(&reply, "/message/payload/status")), (202, &json!("success")));
    }
    for (listener, id, parent) in [(&listeners[0], "d-1", "task-1"), (&listeners[1], "d-2", "task-2")] {
        let report = taken(listener).await;
        assert_eq!(at(&report, "/message/type"), "response");
        assert_eq!(at(&report, "/message/headers/correlation_id"), id);
        assert_eq!(at(&report, "/message/payload/metadata/parent_task_id"), parent);
    }
    let rows = [
        (delegate("d", "t", "pm-none", json!({}), url(&listeners[0])), "CAPABILITY_NOT_FOUND"),
        (delegate("d", "t", "text-analysis", json!({}), url(&listeners[0])), "INVALID_SCHEMA"),
        (delegate("d", "t", "text-analysis", json!({"text": ""}), "not a URL".to_owned()), "INVALID_SCHEMA"),
        (delegate("d", "t", "text-analysis", json!({"text": ""}), "http://192.0.2.1/x".to_owned()), "INVALID_SCHEMA"),
        (delegate("d", "", "text-analysis", json!({"text": ""}), url(&listeners[0])), "INVALID_SCHEMA"),
    ];
    for (message, expected) in rows {
        assert_eq!(code(&post(&handle, &message).await.1), expected, "{message}");
    }
}

#[tokio::test]
async fn an_agent_registers_first_and_sends_on_demand() {
    let mesh = start(&[]).await;
    let base = mesh.url("http").expect("a URL").to_owned();
    let agent = start(&[("kind", "agent"), ("agent-id", "pm-c"), ("registry", &base), ("control", "on")]).await;
    let (status, answer) = control(&agent, &json!({"op": "discover", "capabilities": ["tool-use"]})).await;
    assert_eq!(status, 200, "{answer}");
    let found = at(&answer, "/outcome/result/agents").as_array().expect("a list").clone();
    let ids: Vec<&Value> = found.iter().map(|entry| at(entry, "/agent/id")).collect();
    assert_eq!(ids, ["agent-b", "pm-c"]);
    let own = agent.url("http").expect("a URL");
    assert_eq!(at(&found[1], "/endpoints/invoke"), &json!(format!("{own}/aip/v1/invoke")));
    let call =
        json!({"op": "request", "agent_id": "agent-a", "capability": "text-analysis", "parameters": {"text": "a b"}});
    assert_eq!(at(&control(&agent, &call).await.1, "/outcome/result/words"), 2);
    let call = json!({"op": "request", "agent_id": "nobody", "capability": "x"});
    assert_eq!(at(&control(&agent, &call).await.1, "/outcome/error/code"), "AGENT_NOT_FOUND");
    let call = json!({"op": "negotiate", "agent_id": "agent-a", "capabilities": ["text-analysis"]});
    assert_eq!(at(&control(&agent, &call).await.1, "/outcome/result/accepted"), true);
    let call = json!({"op": "delegate", "agent_id": "agent-b", "parent_task_id": "t", "capability": "tool-use", "parameters": {"tool": "echo"}});
    assert_eq!(at(&control(&agent, &call).await.1, "/outcome/status"), "success");
    let call = json!({"op": "share", "context": {"session_id": "s", "shared_memory": {}}});
    assert_eq!(at(&control(&agent, &call).await.1, "/outcome/error/code"), "CONTEXT_NOT_FOUND");
    // A second agent of this id is refused, and takes no part.
    let second = start(&[("kind", "agent"), ("agent-id", "agent-a"), ("registry", &base), ("control", "on")]).await;
    assert_eq!(control(&second, &json!({"op": "discover", "capabilities": []})).await.0, 409);
}

#[tokio::test]
async fn websocket_answers_in_any_order_and_survives_garbage() {
    let handle = start(&[]).await;
    let url = handle.url("ws").expect("a URL");
    let (mut socket, _) = tokio_tungstenite::connect_async(url).await.expect("connected");
    let slow = request("slow", "a", "tool-use", json!({"tool": "sleep", "ms": 300}));
    let quick = request("quick", "a", "text-analysis", json!({"text": "x"}));
    let unknown = request("unknown", "a", "pm-none", json!({}));
    let heartbeat = json!({"type": "heartbeat"});
    for text in [slow.to_string(), heartbeat.to_string(), "not JSON".to_owned(), quick.to_string(), unknown.to_string()]
    {
        socket.send(Message::Text(text.into())).await.expect("sent");
    }
    let mut correlations = Vec::new();
    for _ in 0..4 {
        let frame =
            timeout(Duration::from_secs(5), socket.next()).await.expect("in time").expect("open").expect("a frame");
        let reply: Value = serde_json::from_str(frame.to_text().expect("text")).expect("JSON");
        correlations.push(at(&reply, "/message/headers/correlation_id").as_str().map(str::to_owned));
    }
    assert_eq!(correlations.last().cloned().flatten().as_deref(), Some("slow"));
    correlations.sort();
    let expected = [None, Some("quick"), Some("slow"), Some("unknown")].map(|id| id.map(str::to_owned));
    assert_eq!(correlations, expected);
}

#[tokio::test]
async fn the_other_variant_takes_the_other_legal_choices() {
    let mut config = config(&[("control", "on")]);
    config.variant = proofmark_reference::Variant::Other;
    let handle = meshai().serve(config).await.expect("it starts");
    assert_eq!(code(&post(&handle, &fixture()).await.1), "INVALID_MESSAGE");
    let aip = |mut envelope: Value| {
        envelope["protocol"] = json!("AIP/1.0");
        envelope
    };
    let (status, reply) = post(&handle, &aip(fixture())).await;
    assert_eq!((status, at(&reply, "/message/payload/status")), (200, &json!("partial")), "{reply}");
    assert!(at(&reply, "/message/destination").is_null());
    assert!(at(&reply, "/message/timestamp").as_str().is_some_and(|time| time.ends_with("+00:00")));
    let (status, reply) = post(&handle, &aip(request("m", "a", "pm-none", json!({})))).await;
    assert_eq!((status, code(&reply)), (200, "CAPABILITY_NOT_FOUND"));
    let short = json!({"protocol": "AIP/1.0", "message": {"type": "request", "payload": {"capability": "text-analysis", "parameters": {"text": ""}}}});
    assert_eq!(at(&post(&handle, &short).await.1, "/message/type"), "response");
    assert_eq!(http(&handle, "POST", "/aip/v1/invoke", "", b"{").await, (400, String::new()));
    let (_, found) =
        post(&handle, &aip(registry("q", "a", "discovery", json!({"query": {"capabilities": ["tool-use"]}})))).await;
    assert_eq!(at(&found, "/message/payload/result/0/identity/id"), "agent-b");
}
