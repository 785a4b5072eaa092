//! Every fault that is planted in the node or its transports shows: the same conversation with the server goes otherwise
//! than without it. Which check catches it is for proofmark to prove.

use std::path::Path;
use std::sync::Arc;

use crate::amp_support::*;
use ciborium::Value;
use futures_util::{SinkExt, StreamExt};
use proofmark_reference::{Config, Handle, Needs};
use serde_json::json;
use sha2::{Digest, Sha256};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, Semaphore};
use tokio::time::{Duration, sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

/// Maximum number of concurrent conversations.
const CONVERSATIONS: usize = 40;

/// The faults that are planted in the program text of `folder`.
fn planted(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let file = std::fs::read_to_string(entry.expect("readable").path()).expect("readable");
        names.extend(self::names(&file));
    }
    names
}

/// The names of the faults that are planted in a program text: `fault.is("name")` and `planted!(fault, "name", ..)`.
fn names(text: &str) -> Vec<String> {
    let quoted = |rest: &str| rest.split('"').next().map(str::to_owned);
    let asked = text.split(".is(\"").skip(1).filter_map(quoted);
    let done = text.split("planted!(").skip(1).filter_map(|rest| quoted(rest.split_once(", \"")?.1));
    asked.chain(done).collect()
}

/// Faults that take more than the conversations here, such as hundreds of objects; `proofmark prove` catches them.
const LONGER: &[&str] = &[
    "commit-never-accepted",
    "shutdown-without-goaway",
    "replay-key-with-ext",
    "replay-remembers-few",
    "relay-any-ack-ends",
    "relay-first-ack-ends",
    "thread-id-is-reply-to",
    "relay-close-ends-all",
    "tcp-maximum-shared",
    "refused-version-ends-negotiation",
    "retry-at-once-after-error",
    "ack-to-itself",
    "replay-key-with-form",
    "replay-by-transport",
    "replay-forgets-long-lifetimes",
    "replay-key-as-text",
    "replay-key-without-time",
    "relay-ack-cumulative",
    "relay-forgets-long-lifetimes",
    "replay-key-cut-at-zero",
    "replay-key-ignores-case",
    "replay-key-of-seven-bits",
    "http-500-for-inherited-names",
    "stream-inherited-names",
    "stream-ack-names-another",
    "stream-names-normalised",
    "thread-id-remembered",
    "credential-unknown-malformed",
    "delegation-unknown-malformed",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_of_the_server_shows() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/amp_core");
    let names: Vec<String> = ["node", "net"].iter().flat_map(|part| planted(&source.join(part))).collect();
    assert!(names.len() > 40);
    let turns = Arc::new(Semaphore::new(CONVERSATIONS));
    let mut plain = Vec::new();
    for setup in SETUPS {
        let first = conversation(None, setup).await;
        assert_eq!(conversation(None, setup).await, first, "the conversation of {setup} is not repeatable");
        plain.push((setup, first));
    }
    let plain = Arc::new(plain);
    let silent = Arc::new(Mutex::new(Vec::new()));
    let mut running = tokio::task::JoinSet::new();
    for name in names {
        let (turns, plain, silent) = (Arc::clone(&turns), Arc::clone(&plain), Arc::clone(&silent));
        running.spawn(async move {
            let _turn = turns.acquire().await.expect("open");
            let setup = setup_of(&name);
            let said = conversation(Some(&name), setup).await;
            if plain.iter().any(|(known, plain)| *known == setup && *plain == said) {
                silent.lock().await.push(name);
            }
        });
    }
    while let Some(done) = running.join_next().await {
        done.expect("no conversation panics");
    }
    let mut unseen = Vec::new();
    for name in silent.lock().await.iter().filter(|name| !LONGER.contains(&name.as_str())) {
        // Between others what a fault does late can come too late: alone it has the machine.
        let setup = setup_of(name);
        if plain.contains(&(setup, conversation(Some(name), setup).await)) {
            unseen.push(name.clone());
        }
    }
    assert!(unseen.is_empty(), "faults without an observable effect: {unseen:?}");
}

/// The setup in which a fault shows.
fn setup_of(name: &str) -> &'static str {
    let row = amp_core().faults().iter().find(|fault| fault.name == name).expect("a row");
    if let Needs::Setup(setup) = row.needs { setup } else { SETUPS[0] }
}

/// The setups in which faults show.
const SETUPS: [&str; 3] = ["default", "auth", "companion"];

fn faulty(fault: Option<&str>, setup: &str) -> Config {
    let relay = Party::named("relay").did;
    let settings = [("role", "both"), ("trusted-relay", &relay), ("ack-timeout", "10ms")];
    let config = set(Config { fault: fault.map(str::to_owned), ..config() }, &settings);
    let pair = |left: &str, name: &str| format!("{left}={}", Party::named(name).did);
    match setup {
        "auth" => set(config, &[("auth", &pair("secret", "alice"))]),
        "companion" => set(
            config,
            &[
                ("companions", "on"),
                ("contact", &pair("active", "alice")),
                ("contact", &pair("required", "stranger")),
                ("contact", &pair("denied", "unwanted")),
                ("rate-limit", "3"),
                ("capacity", "1"),
                ("deadline", "200ms"),
                ("maintenance", "archive"),
                ("webhook", "on"),
            ],
        ),
        _ => config,
    }
}

/// The answers about messages, without values that change between runs.
async fn conversation(fault: Option<&str>, setup: &str) -> Vec<String> {
    let handle = start(faulty(fault, setup)).await;
    let mut said = Vec::new();
    if setup == "companion" {
        return with_companions(&handle).await;
    }
    if setup == "auth" {
        let (alice, bob, me) = (Party::named("alice"), Party::named("bob"), did(&handle).to_owned());
        for (party, token) in [(&alice, "secret"), (&alice, "wrong"), (&bob, "secret")] {
            let header = format!("Content-Type: application/cbor\r\nAuthorization: Bearer {token}\r\n");
            let bytes = party.message(&me, MESSAGE, Value::Null).bytes;
            said.push(http(address(&handle), "POST", "/amp/v1/messages", &header, &bytes).await.0.to_string());
        }
        // A message of another party than the owner of the token, which then looks for it.
        let header = "Content-Type: application/cbor\r\nAuthorization: Bearer secret\r\n";
        let bytes = bob.message(&alice.did, MESSAGE, Value::Null).bytes;
        http(address(&handle), "POST", "/amp/v1/messages", header, &bytes).await;
        let (_, page) = http(address(&handle), "GET", "/amp/v1/messages", header, b"").await;
        said.push(format!("{} bytes wait", page.len()));
        return said;
    }
    said.extend(as_agent(&handle).await);
    said.extend(as_relay(&handle).await);
    said.extend(between_relays(&handle).await);
    said.extend(on_connections(&handle).await);
    said.extend(at_the_end_of_frames(&handle).await);
    said.extend(as_sender(&handle).await);
    // Only a relay accepts messages for others.
    let agent = start(set(faulty(fault, setup), &[("role", "agent")])).await;
    said.push(ask(&agent, &Party::named("alice").message(&Party::named("carol").did, MESSAGE, Value::Null)).await);
    said
}

/// Status and replies of a message that is posted.
async fn ask(handle: &Handle, message: &Sent) -> String {
    let header = "Content-Type: application/cbor\r\n";
    let (status, body) = http(address(handle), "POST", "/amp/v1/messages", header, &message.bytes).await;
    format!("{status} {}", shown(&body, Some(message)))
}

/// A message without id, time and signature: its reply_to and its content.
fn shown(bytes: &[u8], cause: Option<&Sent>) -> String {
    let Ok(value) = ciborium::from_reader::<Value, _>(bytes) else {
        return format!("{} bytes", bytes.len());
    };
    let typ = member(&value, "typ").map(number);
    if typ == Some(BATCH) {
        let items = member(&value, "body").and_then(|body| member(body, "items")).and_then(Value::as_array);
        let items = items.expect("items").iter().map(|item| shown(item.as_bytes().expect("bytes"), cause));
        return items.collect::<Vec<_>>().join(" + ");
    }
    let answers = match (member(&value, "reply_to").and_then(Value::as_bytes), cause) {
        (Some(id), Some(cause)) if *id == cause.id => "it",
        (Some(_), _) => "another",
        (None, _) => "none",
    };
    let mut body = format!("{:?}", member(&value, "body"));
    body.truncate(300);
    // Times differ by their milliseconds; other units are recognised by their size.
    let digits = |text: &str| text.chars().filter(|letter| !letter.is_ascii_digit()).collect::<String>();
    let received = member(&value, "body").and_then(|body| member(body, "received_at")).map(number);
    let body = if received.is_some() { digits(&body) } else { body };
    format!("{typ:?} v{:?} to {answers}: {body} {:?}", member(&value, "v"), received.map(|time| time > now() / 2))
}

async fn as_agent(handle: &Handle) -> Vec<String> {
    let (alice, bob, me) = (Party::named("alice"), Party::named("bob"), did(handle).to_owned());
    let mut said = Vec::new();
    let op = |name: &str| map(vec![("op", name.into())]);
    let bytes = |bytes: &[u8]| Value::Bytes(bytes.to_vec());
    let base = alice.message(&me, MESSAGE, text_body("x"));
    let forged = |sent: &Sent| {
        let mut bytes = sent.bytes.clone();
        let at = bytes.windows(4).position(|window| window == b"\x63msg").expect("a body") + 5;
        bytes[at] ^= 1;
        Sent { id: sent.id.clone(), bytes }
    };
    let early = alice.message(&me, MESSAGE, text_body("y"));
    let data = vec![7; 600_000];
    let whole = [&data[..], &data[..]].concat();
    let start = map(vec![
        ("stream_id", "s".into()),
        ("content_type", "text/plain".into()),
        ("filename", "f".into()),
        ("total_size", 1_200_000.into()),
        ("total_chunks", 2.into()),
        ("chunk_size", 600_000.into()),
        ("hash_algo", "sha256".into()),
    ]);
    let chunk = |index: u64| map(vec![("stream_id", "s".into()), ("index", index.into()), ("data", bytes(&data))]);
    let hash = Sha256::digest(&whole);
    let items = vec![
        bytes(&alice.message(&me, MESSAGE, text_body("1")).bytes),
        bytes(&forged(&alice.message(&me, MESSAGE, text_body("2"))).bytes),
        bytes(b"rubbish"),
        bytes(&alice.message(&me, 0x0c, Value::Null).bytes),
        bytes(&bob.message(&me, MESSAGE, text_body("3")).bytes),
    ];
    let both = Value::Array(vec![me.as_str().into(), Party::named("carol").did.into()]);
    for probe in [
        base.clone(),
        base.clone(),
        forged(&base),
        forged(&early),
        early.clone(),
        alice.message(&me, REQUEST, echo("x")),
        alice.message(&me, REQUEST, op("fail")),
        alice.message(&me, REQUEST, op("what")),
        alice.message(&me, 1, Value::Null),
        alice.message(&me, 0x0c, Value::Null),
        alice.message(&me, HELLO, hello()),
        alice.message(&me, 0x51, map(vec![("delegation_id", "".into())])),
        alice.message_to(both, MESSAGE, text_body("several")),
        alice.message(&me, BATCH, map(vec![("items", Value::Array(items))])),
        alice.message(&me, 0x13, start),
        alice.message(&me, 0x14, chunk(1)),
        alice.message(&me, 0x14, chunk(0)),
        alice.message(&me, 0x15, map(vec![("stream_id", "s".into()), ("hash", bytes(&hash))])),
        alice.message(&me, 0x31, map(vec![("hash", bytes(&hash))])),
    ] {
        said.push(ask(handle, &probe).await);
    }
    // One id of two senders, and a repeat after more than a second.
    said.push(ask(handle, &bob.message_of(&base.id, &me, MESSAGE, text_body("bob"))).await);
    let request = alice.message(&me, REQUEST, op("count"));
    said.push(ask(handle, &request).await);
    sleep(Duration::from_millis(1100)).await;
    said.push(ask(handle, &request).await);
    said
}

/// The same message with ext, which is not signed.
fn with_ext(sent: &Sent, ext: Value) -> Sent {
    let value: Value = ciborium::from_reader(&sent.bytes[..]).expect("CBOR");
    let mut pairs = value.into_map().expect("a map");
    pairs.push(("ext".into(), ext));
    Sent { id: sent.id.clone(), bytes: encoded(&Value::Map(pairs)) }
}

/// Optional features and limits.
async fn with_companions(handle: &Handle) -> Vec<String> {
    let (alice, mallory, dave) = (Party::named("alice"), Party::named("mallory"), Party::named("dave"));
    let me = did(handle).to_owned();
    let invoke = |party: &Party, capability: &str| {
        party.message(&me, 0x22, map(vec![("capability", capability.into()), ("params", map(Vec::new()))]))
    };
    let query = |name: &str| map(vec![("filter", map(vec![("capability", name.into())]))]);
    let evidence = || map(vec![("delegation", map(vec![("credential", "x".into())]))]);
    let grant = |body: Vec<(&str, Value)>| alice.message(&me, 0x50, map(body));
    let slow = || alice.message(&me, REQUEST, map(vec![("op", "slow".into()), ("ms", 5000.into())]));
    let named = |name: &str| Party::named(name).message(&me, MESSAGE, Value::Null);
    let first = slow();
    let mut said = Vec::new();
    for probe in [
        alice.message(&me, 0x20, query("proofmark.delegated")),
        alice.message(&me, 0x20, query("proofmark.nothing")),
        invoke(&alice, "org.agentries.echo:1.0"),
        invoke(&alice, "org.agentries.echo:99.0"),
        invoke(&alice, "org.proofmark.nothing:1.0"),
        invoke(&mallory, "proofmark.delegated:1.0"),
        with_ext(&invoke(&mallory, "proofmark.delegated:1.0"), evidence()),
        alice.message(&me, MESSAGE, evidence()),
        grant(vec![("scope", map(Vec::new()))]),
        with_ext(&grant(vec![]), map(vec![("credential", "e30.e30.x".into())])),
        grant(vec![("credential", "e30.e30.x".into())]),
        grant(vec![("credential", Value::Bytes(vec![1; 40]))]),
        alice.message(&me, 0x51, map(vec![("delegation_id", "".into())])),
        mallory.message(&me, 0x51, map(vec![("delegation_id", "d".into())])),
        first.clone(),
        slow(),
        alice.message(&me, REQUEST, map(vec![("op", "archive".into())])),
        named("stranger"),
        named("unwanted"),
        named("dave"),
        named("dave"),
        named("dave"),
        named("dave"),
        dave.message(&me, 6, map(vec![("reason", "test".into())])),
        alice.message(&me, MESSAGE, text_body(&"x".repeat(4 * 1024 * 1024))),
    ] {
        said.push(ask(handle, &probe).await);
    }
    sleep(Duration::from_millis(400)).await;
    said.push(ask(handle, &first).await);
    let relay = Party::named("relay").did;
    let pushed = map(vec![
        ("message", Value::Bytes(named("alice").bytes)),
        ("relay", relay.as_str().into()),
        ("sent_at", now().into()),
    ]);
    let header = format!(
        "Content-Type: application/cbor\r\nX-AMP-Relay: {relay}\r\nX-AMP-Timestamp: {}\r\nX-AMP-Signature: {}\r\n",
        now() / 1000,
        "00".repeat(64)
    );
    said.push(http(address(handle), "POST", "/amp/v1/webhook", &header, &encoded(&pushed)).await.0.to_string());
    said
}

async fn as_relay(handle: &Handle) -> Vec<String> {
    let (alice, dave, address) = (Party::named("alice"), Party::named("dave"), address(handle));
    let mut said = Vec::new();
    let unusual = alice.message(&dave.did, MESSAGE, text_body("a")).reversed();
    let more = alice.message(&dave.did, MESSAGE, text_body("b"));
    said.push(ask(handle, &unusual).await);
    said.push(ask(handle, &more).await);
    said.push(ask(handle, &alice.message_with(&dave.did, MESSAGE, Value::Null, now() + 9000, 0, None)).await);
    said.push(ask(handle, &alice.message_with(&dave.did, MESSAGE, Value::Null, now(), 200, None)).await);
    sleep(Duration::from_millis(300)).await;
    let header = format!("X-Principal-Did: {}\r\n", dave.did);
    let mut cursor = String::new();
    for query in ["?limit=1", "?limit=1&cursor=", "", ""] {
        let query = if query.ends_with('=') { format!("{query}{cursor}") } else { query.to_owned() };
        let (_, body) = http(address, "GET", &format!("/amp/v1/messages{query}"), &header, b"").await;
        let page: Value = ciborium::from_reader(&body[..]).expect("CBOR");
        let messages = member(&page, "messages").and_then(Value::as_array).expect("messages");
        let known = [&unusual.bytes, &more.bytes];
        let places: Vec<_> =
            messages.iter().map(|raw| raw.as_bytes().map(|raw| known.iter().position(|sent| *sent == raw))).collect();
        cursor = member(&page, "next_cursor").and_then(Value::as_text).unwrap_or_default().to_owned();
        said.push(format!("{places:?} {} {:?}", cursor.is_empty(), member(&page, "has_more")));
    }
    said
}

async fn between_relays(handle: &Handle) -> Vec<String> {
    let (alice, bob, relay) = (Party::named("alice"), Party::named("bob"), Party::named("relay"));
    let me = did(handle).to_owned();
    let next = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let endpoint = format!("http://{}", next.local_addr().expect("an address"));
    let far = "did:web:far.test";
    let service = json!([{ "id": "#r", "type": "AgentMessagingRelay", "serviceEndpoint": endpoint }]);
    control(address(handle), &json!({ "op": "documents", "documents": [{ "id": far, "service": service }] })).await;
    let wrapper = |to: &str, from_did: &str| {
        map(vec![
            ("fwd_v", 1.into()),
            ("message", Value::Bytes(alice.message(to, MESSAGE, text_body("far")).bytes)),
            ("from_did", from_did.into()),
            ("recipient_did", to.into()),
            ("relay_path", Value::Array(Vec::new())),
            ("hop_limit", 5.into()),
            ("upstream_relay", relay.did.as_str().into()),
            ("transfer_mode", "dual".into()),
        ])
    };
    let receipt = Value::Array(vec![
        Value::Bytes(encoded(&Value::Map(vec![(1.into(), (-8).into()), (4.into(), Value::Bytes(key_id(&relay)))]))),
        Value::Map(Vec::new()),
        Value::Bytes(encoded(&map(vec![("downstream_relay", relay.did.as_str().into())]))),
        Value::Bytes(vec![0; 64]),
    ]);
    let commit = map(vec![("commit_v", 1.into()), ("commit_receipt", Value::Bytes(encoded(&receipt)))]);
    let mut said = Vec::new();
    for (path, principal, body) in [
        ("forward", &relay.did, wrapper(&bob.did, &alice.did)),
        ("forward", &relay.did, wrapper(far, &alice.did)),
        ("forward", &relay.did, wrapper(&bob.did, &bob.did)),
        ("forward", &bob.did, wrapper(&bob.did, &alice.did)),
        ("commit", &relay.did, commit),
    ] {
        let header = format!("Content-Type: application/cbor\r\nX-Principal-Did: {principal}\r\n");
        let path = format!("/amp/v1/relay/{path}");
        let (status, body) = http(address(handle), "POST", &path, &header, &encoded(&body)).await;
        let mut answer: Value = ciborium::from_reader(&body[..]).expect("CBOR");
        if let Value::Map(pairs) = &mut answer {
            for (key, value) in pairs.iter_mut().filter(|(key, _)| key.as_text() == Some("receipt")) {
                assert!(key.is_text() && value.is_bytes());
                *value = Value::Null;
            }
        }
        said.push(format!("{status} {answer:?}"));
    }
    let forwarded = read_request(&next, b"", PATIENCE).await.expect("the message is handed on");
    let forwarded: Value = ciborium::from_reader(&forwarded[..]).expect("CBOR");
    let path = member(&forwarded, "relay_path").and_then(Value::as_array).map(Vec::len);
    let upstream = member(&forwarded, "upstream_relay").and_then(Value::as_text) == Some(&me);
    said.push(format!("{:?} {path:?} {upstream}", member(&forwarded, "hop_limit")));
    said
}

fn key_id(party: &Party) -> Vec<u8> {
    let key = party.did.trim_start_matches("did:key:");
    format!("{}#{key}", party.did).into_bytes()
}

async fn on_connections(handle: &Handle) -> Vec<String> {
    let (alice, me) = (Party::named("alice"), did(handle).to_owned());
    let mut said = vec![format!("{}", tokio_tungstenite::connect_async(ws_url(handle)).await.is_ok())];
    let base = alice.message(&me, MESSAGE, text_body("early"));
    let greeting = alice.message(&me, HELLO, hello());
    let large = alice.message(&me, MESSAGE, text_body(&"x".repeat(600_000)));
    let text = Message::Text(data_encoding::HEXLOWER.encode(&base.bytes).into());
    let binary = |sent: &Sent| Message::Binary(sent.bytes.clone().into());
    let mut request = ws_url(handle).into_client_request().expect("a URL");
    request.headers_mut().insert("sec-websocket-protocol", "amp.v1".parse().expect("a header"));
    let (mut socket, _) = tokio_tungstenite::connect_async(request).await.expect("upgraded");
    for message in [binary(&base), binary(&greeting), binary(&large), text] {
        socket.send(message).await.ok();
        let reply = timeout(PATIENCE, socket.next()).await.expect("in time");
        said.push(match reply {
            Some(Ok(Message::Binary(reply))) => shown(&reply, None),
            Some(Ok(Message::Close(close))) => format!("{:?}", close.map(|close| close.code)),
            Some(Ok(Message::Text(text))) => format!("text of {} letters", text.len()),
            other => format!("{}", other.is_some()),
        });
    }
    for first in [(1, base.bytes.clone()), (2, shake(99)), (2, shake(1))] {
        let mut frames = Frames::connect(handle).await;
        for (kind, payload) in [first, (3, b"ping".to_vec()), (1, greeting.bytes.clone()), (1, base.bytes.clone())] {
            let length = u32::try_from(payload.len() + 1).expect("small").to_be_bytes();
            frames.0.write_all(&[&length[..], &[kind], &payload].concat()).await.ok();
            match timeout(Duration::from_millis(700), frames.receive()).await {
                Ok(Some((4, payload))) => said.push(format!("pong {payload:?}")),
                Ok(Some((kind, payload))) => said.push(format!("{kind} {}", shown(&payload, None))),
                Ok(None) => said.push("end".to_owned()),
                Err(_) => said.push("silence".to_owned()),
            }
        }
    }
    said
}

/// Repeated greetings, an unknown frame, and a frame that ends early.
async fn at_the_end_of_frames(handle: &Handle) -> Vec<String> {
    let (ned, me) = (Party::named("ned"), did(handle).to_owned());
    let mut said = Vec::new();
    let offer = || map(vec![("versions", Value::Array(vec!["1.0".into(), "1.0.0".into()]))]);
    let mut frames = Frames::connect(handle).await;
    frames.send(2, &shake(1)).await;
    frames.receive().await;
    for _ in 0..2 {
        frames.send(1, &ned.message(&me, HELLO, offer()).bytes).await;
        said.extend(frames.receive().await.map(|(kind, payload)| format!("{kind} {}", shown(&payload, None))));
    }
    frames.send(0x7f, b"").await;
    said.extend(frames.receive().await.map(|(kind, payload)| format!("{kind} {payload:?}")));
    let mut frames = Frames::connect(handle).await;
    frames.send(2, &shake(1)).await;
    frames.receive().await;
    frames.send(1, &ned.message(&me, HELLO, hello()).bytes).await;
    frames.receive().await;
    let base = ned.message(&me, MESSAGE, text_body("cut off"));
    frames.0.write_all(&[&4_096_u32.to_be_bytes()[..], &[1], &base.bytes].concat()).await.expect("written");
    frames.0.shutdown().await.expect("closed");
    while let Some((kind, payload)) = frames.receive().await {
        said.push(format!("{kind} {}", shown(&payload, None)));
    }
    said
}

fn shake(version: u64) -> Vec<u8> {
    encoded(&map(vec![("version", version.into()), ("max_msg_size", 1_048_576.into())]))
}

/// The body of the next request, which is answered with `reply`; `None` at the timeout.
async fn read_request(peer: &TcpListener, reply: &[u8], patience: Duration) -> Option<Vec<u8>> {
    let (mut stream, _) = timeout(patience, peer.accept()).await.ok()?.ok()?;
    let mut bytes = Vec::new();
    let body = loop {
        stream.read_buf(&mut bytes).await.ok().filter(|read| *read > 0)?;
        let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
        let length =
            text.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next()?.parse::<usize>().ok());
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        // A GET has no body and no length.
        if let (length, Some(end)) = (length.unwrap_or(0), end)
            && bytes.len() == end + 4 + length
        {
            break bytes[end + 4..].to_vec();
        }
    };
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", reply.len());
    stream.write_all(&[head.as_bytes(), reply].concat()).await.ok()?;
    Some(body)
}

/// Three peers: a silent one, one that rejects permanently, and a relay that accepts.
async fn as_sender(handle: &Handle) -> Vec<String> {
    let (bob, relay, me) = (Party::named("bob"), Party::named("relay"), did(handle).to_owned());
    let error = map(vec![
        ("code", 1002.into()),
        ("category", "protocol".into()),
        ("message", "".into()),
        ("retry", false.into()),
    ]);
    let ack = map(vec![("ack_source", "relay".into()), ("received_at", 1.into())]);
    let mut peers = Vec::new();
    for (party, answer) in [(&bob, None), (&bob, Some((ERROR, error))), (&relay, Some((ACK, ack)))] {
        let peer = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", peer.local_addr().expect("an address"));
        let sent = control(address(handle), &json!({ "op": "send", "to": bob.did, "url": url, "body": 1 })).await;
        let id = data_encoding::HEXLOWER.decode(sent["id"].as_str().expect("hex").as_bytes()).expect("hex");
        let reply = answer.map(|(typ, body)| party.message_with(&me, typ, body, now(), 60_000, Some(&id)).bytes);
        peers.push((peer, reply.unwrap_or_default(), 0, std::collections::BTreeSet::new()));
    }
    for step in 1..=7 {
        let reading = peers.iter_mut().map(|(peer, reply, copies, ids)| async {
            let Some(copy) = read_request(peer, reply, Duration::from_millis(600)).await else { return };
            *copies += 1;
            ids.insert(Got::read(&copy).get("id").and_then(Value::as_bytes).cloned());
        });
        futures_util::future::join_all(reading).await;
        sleep(Duration::from_millis(50)).await;
        // Time for the next copy.
        control(address(handle), &json!({ "op": "clock", "offset_ms": step * 20_000 })).await;
    }
    let mut said: Vec<String> =
        peers.iter().map(|(_, _, copies, ids)| format!("{copies} copies, {} ids", ids.len())).collect();
    said.push(as_poller(handle).await);
    said
}

/// A relay that keeps one message for the node.
async fn as_poller(handle: &Handle) -> String {
    let (alice, me) = (Party::named("alice"), did(handle).to_owned());
    let relay = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let kept = alice.message_with(&me, MESSAGE, text_body("kept"), now(), 60_000, None).bytes;
    let page = map(vec![
        ("messages", Value::Array(vec![Value::Bytes(kept)])),
        ("next_cursor", Value::Null),
        ("has_more", false.into()),
    ]);
    let url = format!("http://{}/amp/v1/messages", relay.local_addr().expect("an address"));
    control(address(handle), &json!({ "op": "clock", "offset_ms": 0 })).await;
    control(address(handle), &json!({ "op": "receive", "url": url })).await;
    let polled = read_request(&relay, &encoded(&page), Duration::from_secs(5)).await.is_some();
    let answered = read_request(&relay, b"", Duration::from_secs(2)).await.is_some();
    format!("polled {polled}, answered {answered}")
}
