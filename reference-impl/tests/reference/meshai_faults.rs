//! Every planted fault of meshai has a row and shows: the same conversation goes otherwise than without it. Which check catches
//! it is for proofmark to prove.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::meshai_support::*;
use futures_util::{SinkExt, StreamExt};
use proofmark_reference::{Config, Handle, Needs};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{Duration, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// How many conversations go on at once.
const CONVERSATIONS: usize = 48;

const API_KEY: &str = "proofmark-meshai-api-key-0001";
const SECRET: &str = "proofmark-meshai-hmac-key-32byte";

fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("readable").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(std::fs::read_to_string(&path).expect("readable")),
        }
    }
}

#[test]
fn every_row_is_planted_and_every_planted_name_has_a_row() {
    let mut texts = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/meshai"), &mut texts);
    let quoted = |rest: &str| rest.split('"').next().map(str::to_owned);
    let mut planted = BTreeSet::new();
    for text in &texts {
        planted.extend(text.split(".is(\"").skip(1).filter_map(quoted));
        planted.extend(text.split("planted!(").skip(1).filter_map(|rest| quoted(rest.split_once(", \"")?.1)));
    }
    let rows: Vec<&str> = meshai().all_faults().map(|fault| fault.name).collect();
    let known: BTreeSet<String> = rows.iter().map(|name| (*name).to_owned()).collect();
    assert_eq!(rows.len(), known.len(), "a name has two rows");
    assert!(rows.len() > 400);
    assert_eq!(planted.symmetric_difference(&known).collect::<Vec<_>>(), Vec::<&String>::new());
}

/// Faults that take more than the conversations here, such as hundreds of objects; `proofmark prove` catches them.
const LONGER: &[&str] = &[
    "bearer-case-sensitive",
    "client-other-destination",
    "create-joins-session",
    "empty-parameters-dropped",
    "expiry-beyond-timer",
    "expiry-of-update-shown-only",
    "hmac-drops-every-signature",
    "lone-agent-serves-all",
    "refused-callback-stops-service",
    "registration-removed-before-check",
    "schema-error-shows-context",
    "update-drops-lineage",
    "update-renews-creation",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_shows() {
    let turns = Arc::new(Semaphore::new(CONVERSATIONS));
    let setups: BTreeSet<&str> = meshai().faults().iter().map(setup_of).collect();
    let mut plain = Vec::new();
    for setup in setups {
        let first = conversation(None, setup, None).await;
        let again = conversation(None, setup, None).await;
        let differs = first.iter().zip(&again).find(|(first, again)| first != again);
        assert_eq!(differs, None, "the conversation of {setup} is not repeatable");
        plain.push((setup, first));
    }
    let plain = Arc::new(plain);
    let mut running = tokio::task::JoinSet::new();
    for fault in meshai().faults() {
        let (turns, plain) = (Arc::clone(&turns), Arc::clone(&plain));
        running.spawn(async move {
            let _turn = turns.acquire().await.expect("open");
            let setup = setup_of(fault);
            let expected = &plain.iter().find(|(name, _)| *name == setup).expect("a conversation").1;
            (conversation(Some(fault.name), setup, Some(expected)).await == *expected).then_some(fault.name)
        });
    }
    let mut silent = Vec::new();
    while let Some(done) = running.join_next().await {
        silent.extend(done.expect("no conversation panics"));
    }
    silent.sort_unstable();
    silent.retain(|name| !LONGER.contains(name));
    let mut unseen = Vec::new();
    for name in silent {
        let fault = meshai().faults().iter().find(|fault| fault.name == name).expect("a row");
        let setup = setup_of(fault);
        let expected = &plain.iter().find(|(name, _)| *name == setup).expect("a conversation").1;
        // Between others what a fault does late can come too late: alone it has the machine.
        if conversation(Some(name), setup, Some(expected)).await == *expected {
            unseen.push(name);
        }
    }
    assert_eq!(unseen, Vec::<&str>::new(), "faults without an observable effect");
}

fn setup_of(fault: &proofmark_reference::Fault) -> &'static str {
    match fault.needs {
        Needs::Setup(name) => name,
        _ => "default",
    }
}

fn configured(fault: Option<&str>, settings: &[(&str, &str)]) -> Config {
    Config { fault: fault.map(str::to_owned), ..config(settings) }
}

/// What is said in a conversation, part by part. With what is expected, it ends at the first part that goes otherwise.
async fn conversation(fault: Option<&str>, setup: &str, expected: Option<&Vec<String>>) -> Vec<String> {
    let mut said = Vec::new();
    let settings: &[(&str, &str)] = match setup {
        "agent" => &[("kind", "agent")],
        "api-key" => &[("api-key", API_KEY)],
        "jwt" => &[("jwt-key", SECRET)],
        "hmac" => &[("hmac-key", SECRET), ("hmac-required", "on")],
        "rate-limit" => &[("rate-limit", "5"), ("rate-window", "1s")],
        "enforce" => &[("enforce-registration", "on")],
        _ => &[],
    };
    let settings = [settings, &[("control", "on")]].concat();
    if setup == "client" {
        return as_client(fault).await;
    }
    let handle = meshai().serve(configured(fault, &settings)).await.expect("it starts");
    match setup {
        "agent" | "enforce" => {
            let mut other = fixture("x");
            other["message"]["destination"] = json!({"agent_id": "somebody"});
            said.push(say(&handle, &other, "").await);
            said.push(say(&handle, &fixture("y"), "").await);
        }
        "rate-limit" => {
            for now in [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 5].iter().enumerate() {
                control(&handle, &json!({"op": "clock", "now": format!("2026-01-01T00:00:0{}Z", now.1)})).await;
                said.push(say(&handle, &fixture("r"), "").await);
            }
        }
        "api-key" => said.extend(with_keys(&handle).await),
        "jwt" => said.extend(with_tokens(&handle).await),
        "hmac" => said.extend(with_signatures(&handle).await),
        _ => {
            let otherwise = |said: &[String]| expected.is_some_and(|expected| !expected.starts_with(said));
            for part in 0..7 {
                said.extend(match part {
                    0 => as_library(fault).await,
                    1 => messages(&handle).await,
                    2 => registries(&handle).await,
                    3 => contexts(&handle).await,
                    4 => frames(&handle).await,
                    5 => routed(&handle).await,
                    _ => delegations(&handle).await,
                });
                if otherwise(&said) {
                    break;
                }
            }
        }
    }
    said
}

fn fixture(id: &str) -> Value {
    request(id, "pm-a", "text-analysis", json!({"text": "Two words"}))
}

/// Texts that differ between runs get the same form: ids, times and durations.
fn plain(text: &str) -> String {
    let Ok(mut value) = serde_json::from_str::<Value>(text) else { return text.to_owned() };
    fn each(value: &mut Value, name: &str) {
        match value {
            Value::Array(items) => items.iter_mut().for_each(|item| each(item, name)),
            Value::Object(members) => members.iter_mut().for_each(|(name, value)| each(value, name)),
            Value::String(text) if text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4 => {
                *text = "an id".to_owned();
            }
            Value::String(text) if name == "timestamp" || name == "created_at" => {
                *text = text.replace(|c: char| c.is_ascii_digit(), "9");
            }
            Value::String(text) => {
                while let Some(at) = text.find("127.0.0.1:") {
                    let end =
                        text[at + 10..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| at + 10 + end);
                    text.replace_range(at..end, "here");
                }
            }
            Value::Number(number) if ["execution_time_ms", "timestamp", "created_at"].contains(&name) => {
                *value = json!(format!("{} {}", number.is_u64(), number.is_f64()));
            }
            _ => {}
        }
    }
    each(&mut value, "");
    value.to_string()
}

async fn say(handle: &Handle, envelope: &Value, headers: &str) -> String {
    exchange(handle, "POST", "/aip/v1/invoke", headers, envelope.to_string().as_bytes()).await
}

async fn exchange(handle: &Handle, method: &str, path: &str, headers: &str, body: &[u8]) -> String {
    let (status, body) = http_or_nothing(handle, method, path, headers, body).await;
    format!("{status} {}", plain(&body))
}

/// As [`http`]; the content type stands before the body.
async fn http_or_nothing(handle: &Handle, method: &str, path: &str, headers: &str, body: &[u8]) -> (u16, String) {
    let address = handle.socket("http").expect("it listens");
    let Ok(mut stream) = tokio::net::TcpStream::connect(address).await else { return (0, String::new()) };
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).await.ok();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.ok();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let Some((head, body)) = answer.split_once("\r\n\r\n") else { return (0, answer) };
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    if head.contains("text/plain") && path != "/health" {
        (status, format!("text: {body}"))
    } else {
        (status, body.to_owned())
    }
}

/// The fixture with a member set, or removed by null.
fn edited(pointer: &str, value: Value) -> Value {
    let mut envelope = fixture("m-1");
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = envelope.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    match value {
        Value::Null => drop(parent.remove(name)),
        value => drop(parent.insert(name.to_owned(), value)),
    }
    envelope
}

async fn messages(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let edits = [
        ("/message/x", json!(1)),
        ("/message/id", json!("UPPER-1")),
        ("/protocol", Value::Null),
        ("/protocol", json!("XYZ/1.0")),
        ("/protocol", json!("amp/1.0")),
        ("/protocol", json!("AIP/1.0")),
        ("/protocol", json!("AMP/1")),
        ("/protocol", json!("AMP/1.0.0")),
        ("/protocol", json!("AMP/one")),
        ("/protocol", json!("AMP/2.0")),
        ("/protocol", json!("AMP/10.0")),
        ("/protocol", json!("AMP/257.0")),
        ("/protocol", json!("AMP/1.0\n")),
        ("/protocol", json!("XAMP/1.0")),
        ("/protocol", json!("AMP/0.9")),
        ("/protocol", json!("AMP/1.1")),
        ("/protocol", json!("AMP/1.99")),
        ("/message/id", Value::Null),
        ("/message/type", Value::Null),
        ("/message/type", json!("command")),
        ("/message/type", json!("request|response")),
        ("/message/type", json!("REQUEST")),
        ("/message/timestamp", Value::Null),
        ("/message/timestamp", json!("yesterday")),
        ("/message/source", Value::Null),
        ("/message/destination", Value::Null),
        ("/message/destination", json!({"capability": "summarization"})),
        ("/message/destination", json!({"agent_id": "agent-a"})),
        ("/message/destination", json!({"agent_id": "nobody"})),
        ("/message/headers", json!({})),
        ("/message/headers/priority", json!(1)),
        ("/message/headers/priority", json!(9)),
        ("/message/headers/priority", json!(10)),
        ("/message/headers/priority", json!(0)),
        ("/message/headers/timeout_ms", json!(0)),
        ("/message/headers/correlation_id", json!("tracking")),
        ("/message/headers/routing_hints", json!({"x": 1})),
        ("/message/headers/x_proofmark", json!(1)),
        ("/message/payload", Value::Null),
        ("/message/payload", json!([])),
        ("/message/payload/capability", Value::Null),
        ("/message/payload/capability", json!(7)),
        ("/message/payload/capability", json!("pm-none")),
        ("/message/payload/parameters", json!([])),
        ("/message/payload/parameters", json!({})),
        ("/message/payload/parameters/text", json!(5)),
        ("/message/payload/parameters/text", json!("x".repeat(10_000))),
        ("/message/payload/parameters/text", json!("x".repeat(10_001))),
        ("/message/payload/context", json!({"parent_task": "x"})),
        ("/message/payload/context", json!({"session_id": "nothing"})),
    ];
    for (pointer, value) in edits {
        said.push(say(handle, &edited(pointer, value), "").await);
    }
    let mut null = fixture("null").to_string();
    null = null.replace(&fixture("null")["message"]["payload"].to_string(), "null");
    let comment = fixture("comment").to_string().replacen('{', "{/* x */", 1);
    for body in [
        "",
        "{",
        "[1]",
        "\"x\"",
        "{}",
        &null,
        &comment,
        &json!([fixture("b")]).to_string(),
        &fixture("i")["message"].to_string(),
    ] {
        said.push(exchange(handle, "POST", "/aip/v1/invoke", "", body.as_bytes()).await);
    }
    let tools = [
        (30_000, json!({"tool": "echo", "n": "é", "context": "c"})),
        (30_000, json!({"tool": "echo", "n": 2})),
        (30_000, json!({"tool": "dig"})),
        (30_000, json!({"tool": "fail"})),
        (30_000, json!({"tool": "exhaust"})),
        (10, json!({"tool": "sleep", "ms": 120})),
        (30_000, json!({"tool": "sleep", "ms": 1050})),
    ];
    for (limit, parameters) in tools {
        let mut message = request("t", "pm-a", "tool-use", parameters);
        message["message"]["headers"]["timeout_ms"] = json!(limit);
        said.push(say(handle, &message, "").await);
    }
    let charset = "Content-Type: application/json; charset=utf-8\r\n";
    said.push(say(handle, &fixture("c"), charset).await);
    let query = data_encoding::HEXLOWER.encode(fixture("q").to_string().as_bytes());
    let query: String = query.as_bytes().chunks(2).map(|pair| format!("%{}", String::from_utf8_lossy(pair))).collect();
    said.push(exchange(handle, "GET", &format!("/aip/v1/invoke?body={query}"), "", b"").await);
    said.push(exchange(handle, "PUT", "/aip/v1/invoke", "", fixture("p").to_string().as_bytes()).await);
    said.push(exchange(handle, "GET", "/health", "", b"").await);
    let (one, two, three) = (fixture("c-1"), fixture("c-2"), fixture("c-3"));
    let (one, two, three) = tokio::join!(say(handle, &one, ""), say(handle, &two, ""), say(handle, &three, ""));
    said.extend([one, two, three]);
    for requirements in [
        json!({"capabilities": ["text-analysis"], "estimated_tokens": 1, "deadline": "2099-01-01T00:00:00Z"}),
        json!({"capabilities": ["text-analysis"], "deadline": "2099-01-01T00:00:00-02:00"}),
        json!({"capabilities": ["text-analysis"]}),
        json!({"capabilities": ["text-analysis", "pm-none"]}),
        json!({"capabilities": ["text-analysis-none"]}),
        json!({"capabilities": ["text-analysis"], "deadline": "2020-01-01T00:00:00Z"}),
        json!({"capabilities": "text-analysis"}),
        Value::Null,
    ] {
        let payload = json!({"negotiation_type": "capability_check", "requirements": requirements});
        let mut message = message("n", "pm-a", payload);
        message["message"]["destination"] = json!({"agent_id": "agent-a"});
        said.push(say(handle, &message, "").await);
    }
    said
}

async fn registries(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let register = |payload: Value| registry("r", "pm-1", "registration", payload);
    let mut three = registration("pm-1", "pm-x", "http://127.0.0.1:9/a");
    for id in ["pm-y", "pm-z"] {
        let mut more = three["capabilities"][0].clone();
        more["id"] = json!(id);
        three["capabilities"].as_array_mut().expect("a list").push(more);
    }
    let mut slow = registration("pm-2", "pm-x", "http://127.0.0.1:9/b");
    slow["capabilities"][0]["constraints"]["response_time_ms"] = json!(9000);
    let longer = registration("pm-3", "pm-x-long", "http://127.0.0.1:9/c");
    let mut bare = registration("pm-4", "pm-bare", "http://127.0.0.1:9/d");
    bare["capabilities"][0].as_object_mut().expect("an object").remove("constraints");
    let mut crew = registration("pm-5", "pm-crew", "http://127.0.0.1:9/e");
    crew["agent"]["framework"] = json!("crewai");
    let mut reference = registration("pm-6", "pm-ref", "http://127.0.0.1:9/f");
    reference["capabilities"][0]["input_schema"] = json!({"$ref": "#/definitions/X"});
    let mut instant = registration("pm-7", "pm-Instant", "http://127.0.0.1:9/g");
    instant["capabilities"][0]["constraints"]["response_time_ms"] = json!(0);
    let mut taken = instant.clone();
    taken["agent"]["version"] = json!("9.9.9");
    taken["authentication"]["credentials"] = json!("other");
    for payload in [&three, &three, &slow, &longer, &bare, &crew, &reference, &instant, &taken] {
        said.push(say(handle, &register(payload.clone()), "").await);
    }
    for (pointer, value) in [
        ("/agent", Value::Null),
        ("/agent/id", Value::Null),
        ("/agent/name", Value::Null),
        ("/agent/framework", Value::Null),
        ("/agent/framework", json!("spreadsheets")),
        ("/capabilities", json!("pm-bad")),
        ("/capabilities", json!(["pm-bad"])),
        ("/capabilities", Value::Null),
        ("/capabilities/0/id", Value::Null),
        ("/capabilities/0/version", Value::Null),
        ("/endpoints", json!("x")),
        ("/endpoints/invoke", json!("/invoke")),
    ] {
        let mut payload = registration("pm-bad", "pm-bad", "http://127.0.0.1:9/");
        let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
        let parent = payload.pointer_mut(parent).expect("there");
        match (parent, value) {
            (Value::Object(parent), Value::Null) => drop(parent.remove(name)),
            (parent, value) => parent[name] = value,
        }
        said.push(say(handle, &register(payload), "").await);
    }
    let queries = [
        json!({"capabilities": ["pm-x"]}),
        json!({"capabilities": ["pm-y"]}),
        json!({"capabilities": ["pm-z"]}),
        json!({"capabilities": ["pm-x", "pm-y"]}),
        json!({"capabilities": ["x-long"]}),
        json!({"capabilities": ["pm-bad"]}),
        json!({"capabilities": ["pm-x"], "constraints": {}}),
        json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 5000}}),
        json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 1000}}),
        json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 5000.5}}),
        json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 4_294_967_296_i64}}),
        json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 1, "min_success_rate": 0}}),
        json!({"capabilities": ["pm-x"], "constraints": {"max_latency_ms": 0}}),
        json!({"capabilities": ["pm-Instant"]}),
        json!({"capabilities": ["pm-Instant"], "constraints": {"max_latency_ms": 0}}),
        json!({"capabilities": ["pm-x"], "constraints": {"min_success_rate": 0}}),
        json!({"capabilities": ["pm-x"], "constraints": {"min_success_rate": 95}}),
        json!({"capabilities": ["pm-x"], "constraints": []}),
        json!({"capabilities": "pm-x"}),
        json!({"capabilities": ["pm-x", 1]}),
        json!("pm-x"),
    ];
    for query in queries {
        said.push(say(handle, &registry("q", "pm-9", "discovery", json!({"query": query})), "").await);
    }
    said.push(say(handle, &registry("q", "pm-9", "discovery", json!({})), "").await);
    said
}

async fn contexts(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let id_of = |reply: &str| {
        let body = reply.split_once(' ').map_or("", |(_, body)| body);
        let reply: Value = serde_json::from_str(body).unwrap_or_default();
        at(&reply, "/message/payload/result/context/id").as_str().unwrap_or("none").to_owned()
    };
    // The raw reply, for its ids.
    let ask = async |agent: &str, op: &str, parameters: Value| {
        let envelope = request("c", agent, &format!("context-{op}"), parameters);
        let (status, body) =
            http_or_nothing(handle, "POST", "/aip/v1/invoke", "", envelope.to_string().as_bytes()).await;
        format!("{status} {body}")
    };
    let shown = |reply: &str| {
        let (status, body) = reply.split_once(' ').unwrap_or(("", reply));
        format!("{status} {}", plain(body))
    };
    let memory = json!({"k": "v", "é": "é", "n": 1.5, "big": 4_294_967_297_i64, "p": " x ", "b": true, "l": [3, 1, 2], "o": {"x": {}}, "e": ""});
    let lists = json!({"read": ["pm-a", "pm-b"], "write": ["pm-a"]});
    let open = ask(
        "pm-a",
        "create",
        json!({"context": {"session_id": "s-1", "shared_memory": memory,
        "agent_memory": {"pm-a": {"p": "private"}}, "expires_at": "2099-01-01T00:00:00Z"}}),
    )
    .await;
    let closed = ask(
        "pm-a",
        "create",
        json!({"context": {"session_id": "s-2", "shared_memory": {"k": "closed", "z": 1}, "access_control": lists}}),
    )
    .await;
    let empty = ask("pm-a", "create", json!({"context": {}})).await;
    let twin = ask("pm-a", "create", json!({"context": {}})).await;
    let (open_id, closed_id, empty_id) = (id_of(&open), id_of(&closed), id_of(&empty));
    said.push((empty_id == id_of(&twin)).to_string());
    said.extend([&open, &closed, &empty].map(|reply| shown(reply)));
    let nobody = "00000000-0000-4000-8000-000000000000";
    let mut steps = vec![
        ("pm-a", "update", json!({"context_id": open_id, "context": {"agent_memory": {"pm-a": {"q": "more"}}}})),
        ("pm-b", "update", json!({"context_id": open_id, "context": {"agent_memory": {"pm-a": {"p": "stolen"}}}})),
        (
            "pm-b",
            "update",
            json!({"context_id": open_id, "context": {"shared_memory": {"k": "new", "k2": 2, "zero": 0}}}),
        ),
        ("pm-b", "update", json!({"context_id": empty_id, "context": {"agent_memory": {"pm-c": {"p": "given"}}}})),
        ("pm-a", "get", json!({"context_id": open_id})),
        ("pm-b", "get", json!({"context_id": open_id})),
        ("pm-b", "get", json!({"session_id": "s-1"})),
        ("pm-a", "update", json!({"context_id": closed_id, "context": {"shared_memory": {"k": "changed"}}})),
        ("pm-b", "get", json!({"context_id": closed_id})),
        ("pm-c", "get", json!({"context_id": closed_id})),
        ("pm-", "get", json!({"context_id": closed_id})),
        ("pm-c", "get", json!({"session_id": "s-2"})),
        ("pm-b", "update", json!({"context_id": closed_id, "context": {"expires_at": "2098-01-01T00:00:00Z"}})),
        ("pm-a", "get", json!({"context_id": closed_id})),
        (
            "pm-b",
            "update",
            json!({"context_id": closed_id, "context": {"access_control": {"read": ["pm-a"], "write": ["pm-b"]}}}),
        ),
        ("pm-a", "get", json!({"context_id": closed_id})),
        ("pm-b", "update", json!({"context_id": closed_id, "context": {"shared_memory": {"k": "b"}}})),
        ("pm-c", "update", json!({"context_id": closed_id, "context": {"shared_memory": {"k": "c"}}})),
        ("pm-c", "fork", json!({"context_id": closed_id})),
        ("pm-b", "fork", json!({"context_id": closed_id})),
        ("pm-a", "get", json!({"context_id": closed_id})),
        ("pm-c", "merge", json!({"context_ids": [empty_id, closed_id]})),
        ("pm-a", "merge", json!({"context_ids": [empty_id, nobody, open_id]})),
        ("pm-b", "merge", json!({"context_ids": [empty_id, closed_id]})),
        ("pm-a", "update", json!({"context_id": nobody, "context": {"shared_memory": {}}})),
        ("pm-a", "get", json!({"context_id": nobody})),
        ("pm-a", "fork", json!({"context_id": "00000000-0000-4000-8000-000000000001"})),
        ("pm-a", "create", json!({"context": {"shared_memory": [1]}})),
        ("pm-a", "create", json!({"context": {"access_control": {"read": "x", "write": "y"}}})),
        ("pm-a", "create", json!({"context": {"expires_at": "2020-01-01T00:00:00Z"}})),
        ("pm-a", "create", json!({"context": {"expires_at": "2099-01-01T00:00:00-02:00"}})),
    ];
    for (agent, op, parameters) in steps.drain(..) {
        said.push(shown(&ask(agent, op, parameters).await));
    }
    for (agent, memory) in [("pm-a", json!({"k": "event"})), ("pm-b", json!({"k": "b"})), ("pm-c", json!({"k": "c"}))] {
        let mut event = message(
            "e",
            agent,
            json!({"event_type": "context_update", "context": {"id": closed_id, "session_id": "s-2", "shared_memory": memory}}),
        );
        event["message"]["type"] = json!("event");
        said.push(say(handle, &event, "").await);
        said.push(shown(&ask("pm-a", "get", json!({"context_id": closed_id})).await));
        event["message"]["payload"].as_object_mut().expect("an object").remove("event_type");
        said.push(say(handle, &event, "").await);
    }
    let merged = ask("pm-a", "merge", json!({"context_ids": [closed_id, open_id, empty_id]})).await;
    said.push((id_of(&merged) == closed_id).to_string());
    said.push(shown(&merged));
    said.push(shown(&ask("pm-a", "merge", json!({"context_ids": [empty_id, open_id, closed_id]})).await));
    let by_b = ask("pm-b", "merge", json!({"context_ids": [open_id, empty_id]})).await;
    said.push(shown(&by_b));
    said.push(shown(&ask("pm-b", "get", json!({"context_id": id_of(&by_b)})).await));
    said.push(shown(&ask("pm-a", "get", json!({"context_id": open_id})).await));
    let child = ask("pm-b", "fork", json!({"context_id": open_id})).await;
    let child_id = id_of(&child);
    let grandchild = ask("pm-a", "fork", json!({"context_id": child_id})).await;
    let reply: Value =
        serde_json::from_str(grandchild.split_once(' ').map_or("", |(_, body)| body)).unwrap_or_default();
    let lineage = at(&reply, "/message/payload/result/context/lineage");
    said.push(format!(
        "{} {} {}",
        child_id == open_id,
        lineage["parent_context"] == *child_id,
        lineage["root_context"] == *open_id
    ));
    said.extend([shown(&child), shown(&grandchild)]);
    ask("pm-a", "update", json!({"context_id": child_id, "context": {"shared_memory": {"k": "child"}}})).await;
    ask("pm-a", "update", json!({"context_id": child_id, "context": {"agent_memory": {"pm-a": {"p": "child"}}}})).await;
    said.push(shown(&ask("pm-a", "get", json!({"context_id": open_id})).await));
    ask("pm-a", "update", json!({"context_id": open_id, "context": {"shared_memory": {"k": "parent"}}})).await;
    said.push(shown(&ask("pm-a", "get", json!({"context_id": child_id})).await));
    control(handle, &json!({"op": "clock", "now": "2099-01-01T00:00:01Z"})).await;
    for (op, parameters) in [
        ("update", json!({"context_id": open_id, "context": {"shared_memory": {"k": "late"}}})),
        ("fork", json!({"context_id": open_id})),
        ("merge", json!({"context_ids": [closed_id, open_id]})),
        ("get", json!({"context_id": open_id})),
        ("get", json!({"context_id": closed_id})),
    ] {
        said.push(shown(&ask("pm-a", op, parameters).await));
    }
    let moved = ask("pm-a", "get", json!({"context_id": closed_id})).await;
    said.push(moved.contains("2099-01-01T00:00:01.000Z\",\"shared").to_string());
    control(handle, &json!({"op": "clock"})).await;
    said.push(exchange(handle, "GET", "/health", "", b"").await);
    said.push(
        say(handle, &registry("q", "pm-9", "discovery", json!({"query": {"capabilities": ["tool-use"]}})), "").await,
    );
    said
}

async fn delegations(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let listeners = [
        TcpListener::bind("127.0.0.1:0").await.expect("a port"),
        TcpListener::bind("127.0.0.1:0").await.expect("a port"),
    ];
    let url = |listener: &TcpListener| json!(format!("http://{}/done", listener.local_addr().expect("an address")));
    let delegate = |id: &str, delegation: Value| {
        let mut message = message(id, "pm-a", json!({"delegation": delegation}));
        message["message"]["destination"] = json!({"agent_id": "agent-b", "capability": "tool-use"});
        message
    };
    let echo = json!({"tool": "echo"});
    let whole = |parameters: Value, callback: Value| json!({"parent_task_id": "task", "subtask": {"capability": "tool-use", "parameters": parameters, "completion_callback": callback}});
    // The first delegation ends after the second has come, also on a busy machine.
    said.push(say(handle, &delegate("d-1", whole(json!({"tool": "sleep", "ms": 300}), url(&listeners[0]))), "").await);
    said.push(say(handle, &delegate("d-2", whole(echo.clone(), url(&listeners[1]))), "").await);
    for listener in &listeners {
        let called = timeout(Duration::from_secs(2), async {
            let (mut stream, _) = listener.accept().await.expect("accepted");
            let mut bytes = vec![0; 10_000];
            let mut length = 0;
            while !String::from_utf8_lossy(&bytes[..length]).contains("\r\n\r\n") || length < 160 {
                length += stream.read(&mut bytes[length..]).await.expect("read");
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.expect("written");
            String::from_utf8_lossy(&bytes[..length])
                .split_once("\r\n\r\n")
                .map_or(String::new(), |(_, body)| plain(body))
        });
        said.push(called.await.unwrap_or_default());
    }
    for delegation in [
        json!("x"),
        json!({"parent_task_id": "t"}),
        json!({"parent_task_id": "t", "subtask": {"parameters": echo}}),
        json!({"subtask": {"capability": "tool-use", "parameters": echo}}),
        json!({"parent_task_id": "t", "subtask": {"capability": "pm-none", "parameters": {}}}),
        whole(json!({"tool": "dig"}), url(&listeners[0])),
        whole(echo.clone(), json!("no URL")),
    ] {
        said.push(say(handle, &delegate("d", delegation), "").await);
    }
    said
}

/// Requests that a mesh routes to a peer, which fails every second time.
async fn routed(handle: &Handle) -> Vec<String> {
    let peer = start(&[("kind", "agent"), ("agent-id", "pm-peer")]).await;
    let invoke = format!("{}/aip/v1/invoke", peer.url("http").expect("a URL"));
    let mut said = Vec::new();
    say(handle, &registry("r", "pm-peer", "registration", registration("pm-peer", "pm-route", &invoke)), "").await;
    for capability in ["text-analysis", "pm-none", "pm-none"] {
        let mut message = request("m", "pm-a", capability, json!({"text": "x"}));
        message["message"]["destination"] = json!({"agent_id": "pm-peer"});
        said.push(say(handle, &message, "").await);
    }
    for rate in [0.2, 0.5] {
        let query = json!({"capabilities": ["pm-route"], "constraints": {"min_success_rate": rate}});
        said.push(say(handle, &registry("q", "pm-9", "discovery", json!({"query": query})), "").await);
    }
    said
}

async fn frames(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let Ok((mut socket, _)) = tokio_tungstenite::connect_async(handle.url("ws").expect("a URL")).await else {
        return said;
    };
    let slow = request("slow", "a", "tool-use", json!({"tool": "sleep", "ms": 150})).to_string();
    for text in [
        fixture("w-1").to_string(),
        slow,
        fixture("w-2").to_string(),
        request("w-3", "a", "pm-none", json!({})).to_string(),
    ] {
        socket.send(Message::Text(text.into())).await.ok();
        tokio::time::sleep(Duration::from_millis(15)).await;
    }
    for _ in 0..4 {
        match timeout(Duration::from_millis(600), socket.next()).await {
            Ok(Some(Ok(Message::Text(text)))) => said.push(plain(&text)),
            Ok(Some(Ok(frame))) => said.push(format!("binary {}", frame.is_binary())),
            _ => said.push("nothing".to_owned()),
        }
    }
    said.sort(); // replies come in any order
    socket.send(Message::Text("garbage".into())).await.ok();
    let answer = timeout(Duration::from_millis(600), socket.next()).await;
    said.push(matches!(answer, Ok(Some(Ok(Message::Text(_))))).to_string());
    said.push(say(handle, &fixture("after"), "").await);
    said
}

async fn as_library(fault: Option<&str>) -> Vec<String> {
    let mut said = Vec::new();
    let mut library = Library::start(configured(fault, &[]));
    let mut odd = fixture("odd");
    odd["message"]["x_unknown"] = json!("é");
    let key = hex(SECRET.as_bytes());
    let mut only_signed = fixture("h");
    only_signed["message"]["headers"] = json!({"signature": {"algorithm": "HMAC-SHA256", "value": "x"}});
    let agent = |version: &str| json!({"id": "a", "name": "n", "version": version, "framework": "custom", "protocol_version": "1.0"});
    let fields = [
        ("registration", json!({})),
        ("request", json!({"id": "b", "capability": "text-analysis", "parameters": {"text": "x"}, "agent_id": "pm-b"})),
        ("discovery", json!({"id": "b", "capabilities": ["x"], "constraints": {}})),
        ("negotiation", json!({"id": "b", "capabilities": ["x"], "estimated_tokens": 1})),
        (
            "delegation",
            json!({"id": "b", "parent_task_id": "t", "capability": "x", "parameters": {}, "completion_callback": "http://127.0.0.1:9/"}),
        ),
        (
            "context_update",
            json!({"id": "b", "context": {"session_id": "s", "shared_memory": {}, "access_control": {"read": [], "write": []}}}),
        ),
        ("response", json!({"request_raw": hex(fixture("r").to_string().as_bytes()), "result": {}})),
        (
            "error",
            json!({"request_raw": hex(fixture("r").to_string().as_bytes()), "code": "TIMEOUT", "message": "late"}),
        ),
    ];
    let error = |code: &str| {
        hex(json!({"protocol": "AMP/1.0", "message": {"type": "error", "headers": {"execution_time_ms": 1}, "payload": {"error": {"code": code, "message": "m"}}}}).to_string().as_bytes())
    };
    let mut calls: Vec<(&str, Value)> =
        fields.into_iter().map(|(kind, fields)| ("build", json!({"kind": kind, "fields": fields}))).collect();
    calls.extend([
        ("info", json!({})),
        ("taxonomy", json!({})),
        ("error_codes", json!({})),
        ("parse", json!({"raw": hex(odd.to_string().as_bytes())})),
        ("encode", json!({"envelope": odd})),
        ("canonical", json!({"envelope": only_signed})),
        ("canonical", json!({"envelope": odd})),
        ("sign", json!({"raw": hex(fixture("s").to_string().as_bytes()), "key": key})),
        ("validate_identity", json!({"agent": agent("1.0.0")})),
        ("validate_identity", json!({"agent": agent("one")})),
        ("validate_capability", json!({"capability": {"id": "own-thing", "version": "1.0", "description": "", "input_schema": {}, "output_schema": {}}, "strict": true})),
        ("validate_context", json!({"context": {"created_at": "2026-01-01T00:00:00Z", "shared_memory": {}}})),
        ("validate_context", json!({"context": {"id": "x", "created_at": "2026-01-01T00:00:00Z", "expires_at": "2025-01-01T00:00:00Z"}})),
        ("negotiate_version", json!({"offered": ["1.3", "1.0"]})),
        ("negotiate_version", json!({"offered": ["2.0"]})),
        ("participate", json!({"registry_answer": "success", "requests": [{"id": "p", "capability": "x"}]})),
        ("participate", json!({"registry_answer": "error", "requests": [{"id": "p", "capability": "x"}]})),
        ("invoke", json!({"mode": "sync", "fields": {"capability": "x"}, "peer_reply": error("TIMEOUT")})),
        ("invoke", json!({"mode": "sync", "fields": {"capability": "x"}, "peer_reply": error("INSUFFICIENT_RESOURCES")})),
        ("invoke", json!({"mode": "async", "fields": {"capability": "x"}, "peer_reply": error("TIMEOUT"), "delay_ms": 60})),
        ("poll", json!({"handle": "call-1"})),
    ]);
    for (method, params) in calls {
        let mut answer = library.answer(method, &params).await;
        // Bytes are shown as what they are.
        if let Some(result) = answer["result"].as_object_mut() {
            for value in result.values_mut() {
                let texts: Vec<&mut Value> = match value {
                    Value::Array(items) => items.iter_mut().collect(),
                    other => vec![other],
                };
                for text in texts {
                    let bytes = text.as_str().and_then(|text| data_encoding::HEXLOWER.decode(text.as_bytes()).ok());
                    if let Some(read) = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
                        *text = read;
                    }
                }
            }
        }
        said.push(plain(&answer.to_string()));
    }
    tokio::time::sleep(Duration::from_millis(120)).await;
    said.push(library.answer("poll", &json!({"handle": "call-1"})).await.to_string());
    said
}

async fn with_keys(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    for value in [
        API_KEY,
        &API_KEY[..20],
        "proofmark-meshai-api-key-00011",
        "proofmark-meshai-api-key-0002",
        "PROOFMARK-MESHAI-API-KEY-0001",
        "",
        "other",
    ] {
        said.push(say(handle, &fixture("k"), &format!("Authorization: Bearer {value}\r\n")).await);
    }
    said.push(say(handle, &fixture("k"), &format!("Authorization: bearer {API_KEY}\r\n")).await);
    said.push(say(handle, &fixture("k"), "").await);
    let mut inside = fixture("k");
    inside["message"]["headers"]["authentication"] =
        json!({"type": "api_key", "token": API_KEY, "credentials": API_KEY});
    said.push(say(handle, &inside, &format!("Authorization: Bearer {API_KEY}\r\n")).await);
    let mut request = handle.url("ws").expect("a URL").into_client_request().expect("a request");
    request.headers_mut().insert("authorization", format!("Bearer {API_KEY}").parse().expect("a header"));
    said.push(tokio_tungstenite::connect_async(request).await.is_ok().to_string());
    said
}

async fn with_tokens(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let mut library = Library::start(config(&[]));
    let key = hex(SECRET.as_bytes());
    let mut make = async |claims: Value, key: &str| {
        library.call("make_jwt", json!({"claims": claims, "key": key})).await["token"]
            .as_str()
            .expect("a token")
            .to_owned()
    };
    control(handle, &json!({"op": "clock", "now": "2026-01-01T00:00:00Z"})).await;
    let now = 1_767_225_600;
    let good = make(json!({"sub": "pm-a", "agent_id": "pm-a", "exp": now + 600}), &key).await;
    let expired = make(json!({"sub": "pm-a", "exp": now - 120}), &key).await;
    let endless = make(json!({"sub": "pm-a"}), &key).await;
    let forged = make(json!({"sub": "pm-a", "exp": now + 600}), &hex(b"other")).await;
    let cut = format!("{}.", good.rsplit_once('.').expect("parts").0);
    let two = good.rsplit_once('.').expect("parts").0.to_owned();
    let none = format!("eyJhbGciOiJub25lIn0.{}.", good.split('.').nth(1).expect("parts"));
    for token in [&good, &expired, &endless, &forged, &cut, &two, &none, "rubbish"] {
        said.push(say(handle, &fixture("j"), &format!("Authorization: Bearer {token}\r\n")).await);
    }
    let mut inside = fixture("j");
    inside["message"]["headers"]["authentication"] = json!({"type": "jwt", "token": good, "credentials": good});
    said.push(say(handle, &inside, "").await);
    said
}

async fn with_signatures(handle: &Handle) -> Vec<String> {
    let mut said = Vec::new();
    let mut library = Library::start(config(&[]));
    let mut text = fixture("h");
    text["message"]["payload"]["parameters"]["text"] = json!("Café €");
    let mut hints = text.clone();
    hints["message"]["headers"]["routing_hints"] =
        json!({"a": 4_294_967_296_u64, "B": "<&>\u{1f}", "\u{fb33}": 1, "\u{1f600}": 2});
    let mut sign = async |envelope: &Value, key: &[u8]| {
        let signed = library.call("sign", json!({"raw": hex(envelope.to_string().as_bytes()), "key": hex(key)})).await;
        serde_json::from_str::<Value>(&unhex(&signed["raw"])).expect("JSON")
    };
    let good = sign(&text, SECRET.as_bytes()).await;
    let mut bit = SECRET.as_bytes().to_vec();
    bit[31] ^= 1;
    let mut null = text.clone();
    null["message"]["headers"]["signature"] = Value::Null;
    let mut variants =
        vec![good.clone(), sign(&text, &bit).await, text.clone(), null, sign(&hints, SECRET.as_bytes()).await];
    let mut bare = text.clone();
    bare["message"].as_object_mut().expect("an object").remove("payload");
    let mut grafted = sign(&bare, SECRET.as_bytes()).await;
    grafted["message"]["payload"] = text["message"]["payload"].clone();
    variants.push(grafted);
    let value = at(&good, "/message/headers/signature/value").as_str().expect("a text");
    let cut = data_encoding::BASE64.encode(&data_encoding::BASE64.decode(value.as_bytes()).expect("base64")[..16]);
    for (pointer, value) in [
        ("/message/payload/parameters/text", json!("x")),
        ("/message/timestamp", json!("2025-01-27T10:00:01Z")),
        ("/message/headers/signature/algorithm", json!("none")),
        ("/message/headers/signature/value", json!("")),
        ("/message/headers/signature/value", json!(cut)),
    ] {
        let mut changed = good.clone();
        *changed.pointer_mut(pointer).expect("there") = value;
        variants.push(changed);
    }
    for envelope in variants {
        let (status, body) =
            http_or_nothing(handle, "POST", "/aip/v1/invoke", "", envelope.to_string().as_bytes()).await;
        let reply: Value = serde_json::from_str(&body).unwrap_or_default();
        let signature = at(&reply, "/message/headers/signature");
        let length = at(signature, "/value").as_str().map(str::len);
        said.push(format!("{status} {} {} {length:?}", code(&reply), at(signature, "/algorithm")));
    }
    said
}

/// What a registry and a peer see of an agent that registers itself.
async fn as_client(fault: Option<&str>) -> Vec<String> {
    let registry = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let base = format!("http://{}", registry.local_addr().expect("an address"));
    let config = configured(fault, &[("kind", "agent"), ("registry", &base), ("token", API_KEY), ("control", "on")]);
    let handle = meshai().serve(config).await.expect("it starts");
    let mut said = Vec::new();
    let taken = timeout(Duration::from_secs(2), async {
        let (mut stream, _) = registry.accept().await.expect("accepted");
        let mut bytes = vec![0; 60_000];
        let mut length = 0;
        loop {
            length += stream.read(&mut bytes[length..]).await.expect("read");
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let Ok(body) = serde_json::from_str::<Value>(body) else { continue };
            let reply = json!({"protocol": "AMP/1.0", "message": {"type": "response", "payload": {"status": "success", "result": {}}}}).to_string();
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{reply}", reply.len());
            stream.write_all(answer.as_bytes()).await.expect("written");
            return (head.to_lowercase().contains("authorization: bearer"), body);
        }
    });
    let Ok((bearer, body)) = taken.await else { return said };
    said.push(format!("{bearer} {}", plain(&body.to_string())));
    let endpoints = at(&body, "/message/payload/endpoints");
    let own = handle.url("http").expect("a URL");
    for name in ["invoke", "health"] {
        let path = endpoints[name].as_str().and_then(|url| url.strip_prefix(own)).unwrap_or("none").to_owned();
        said.push(path);
    }
    said
}
