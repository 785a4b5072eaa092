//! The faults of amp-core: the table is consistent, each fault is planted once, and those of the library are
//! observable: the same calls get other answers than without them. Which check catches them is for proofmark to prove.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use crate::support::library::{self, Library, library_config};
use ciborium::cbor;
use proofmark_reference::{Config, Fault, Needs};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const ALICE: &str = "46918a243ff3cf322a4ca7599bc2694890ae5240d437f3af6b7fd5f4b4733635";
const BOB: &str = "ce2e8ea1d4135d748bff94d5824a7d6befb1ba537a5d882d5956ad3f53bdb992";
const NOW: u64 = 1_760_000_001_000;

/// The files of faults that a library does not show, because they concern the state and the transports of a node.
const OF_A_NODE: [&str; 4] = ["node", "net", "store", "adapter"];

/// Shows in an ERROR that a node sends, not in an outcome.
const IN_AN_ERROR: &str = "decrypt-oracle-details";

fn amp_core() -> &'static dyn proofmark_reference::Implementation {
    proofmark_reference::find("amp-core").expect("a row")
}

fn faults() -> &'static [Fault] {
    amp_core().faults()
}

#[test]
fn the_table_is_well_formed() {
    let table = faults();
    for (index, fault) in table.iter().enumerate() {
        assert!(table[..index].iter().all(|other| other.name != fault.name), "{} occurs twice", fault.name);
        assert!(!fault.breaks.is_empty() && fault.breaks.iter().all(|id| id.starts_with("AMP-")), "{}", fault.name);
        assert!(fault.summary.ends_with('.') && ["core", "full", "binding"].contains(&fault.level), "{}", fault.name);
    }
}

/// The faults that are planted in all program text under `folder`, without tests, by the folder they are in.
fn planted(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            names.extend(planted(&path));
            continue;
        }
        let file = std::fs::read_to_string(&path).expect("readable");
        let text = file.split("#[cfg(test)]").next().unwrap_or_default();
        names.extend(self::names(text));
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

fn folder() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/amp_core")
}

#[test]
fn every_fault_is_planted_exactly_once() {
    let names = planted(&folder());
    let table = || amp_core().all_faults();
    for fault in table() {
        let places = names.iter().filter(|name| *name == fault.name).count();
        assert_eq!(places, 1, "{} is planted {places} times", fault.name);
    }
    for name in &names {
        assert!(table().any(|fault| fault.name == name), "{name} has no row");
    }
}

/// Calls of all kinds with their answers, without values that change between runs.
async fn conversation(questions: Arc<Vec<(&'static str, Value)>>, fault: Option<&str>) -> Vec<Value> {
    let mut library = Library::start(Config { fault: fault.map(str::to_owned), ..library_config() });
    let mut said = Vec::new();
    for (method, params) in questions.iter() {
        let mut answer = library.answer(&format!("amp-core/{method}"), params).await;
        for place in ["ack", "message"] {
            // They hold the present time and chance.
            if let Some(bytes) = answer["result"].get(place).filter(|_| *method != "build_plain") {
                answer["result"][place] = shown(bytes);
            }
        }
        said.push(answer);
    }
    said.extend(chance(&mut library).await);
    said.extend(machines(&mut library).await);
    said
}

/// A message or body without id, sig and received_at.
fn shown(bytes: &Value) -> Value {
    let bytes = data_encoding::HEXLOWER.decode(bytes.as_str().expect("hex").as_bytes()).expect("hex");
    let mut rest = &bytes[..];
    let value: ciborium::Value = ciborium::from_reader(&mut rest).expect("CBOR");
    let mut pairs = value.into_map().expect("a map");
    let chance = |key: &ciborium::Value| matches!(key.as_text(), Some("id" | "sig" | "received_at"));
    let signed = pairs
        .iter()
        .any(|(key, value)| key.as_text() == Some("sig") && value.as_bytes().is_some_and(|sig| !sig.is_empty()));
    pairs.retain(|(key, _)| !chance(key));
    format!("signed {signed} {pairs:?} and {} bytes", rest.len()).into()
}

/// Replaces the values that change between runs.
async fn chance(library: &mut Library) -> Vec<Value> {
    let ids = library.call("make_id", &json!({"ts": NOW, "count": 12})).await;
    let ids: Vec<&str> = ids["ids"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let small = ids.iter().all(|id| id[16..].starts_with("00000000"));
    // A fault that moves the time by chance leaves one id in 256 alone, but hardly ever all.
    let times: BTreeSet<&str> = ids.iter().map(|id| &id[..16]).collect();
    let times = if times.len() == 1 { ids[0][..16].to_owned() } else { "several times".to_owned() };
    let encrypted = encrypted(None);
    let (first, second) =
        (library.call("build_encrypted", &encrypted).await, library.call("build_encrypted", &encrypted).await);
    let same = first["nonce"] == second["nonce"];
    let enc = decoded(first["message"].as_str().expect("hex")).into_iter();
    let enc = enc.filter(|(key, _)| key.as_text() == Some("enc")).flat_map(|(_, enc)| enc.into_map().expect("a map"));
    let members: Vec<String> = enc.map(|(key, _)| key.into_text().expect("a text")).collect();
    vec![json!([times, small, same, first["plaintext"], members])]
}

fn alice() -> Value {
    json!({"did": "did:key:z6Mkjo1gXcLVm2CxbVPM6d15gij8H3anEdWUFr9iEVNZ3w6r", "ed25519_seed": ALICE})
}

fn headers(more: &Value) -> Value {
    let mut headers = json!({"id": "00000199c82cc000beadfacedeadbeef", "typ": 16, "ts": NOW - 1000, "ttl": 60000,
        "to": "did:key:z6Mkh4RrL9X4Tei6wX1sFShnH5AT44Xuet6WutGojDAhDs7S"});
    for (name, value) in more.as_object().expect("an object") {
        headers[name] = value.clone();
    }
    headers
}

const BOB_AGREES: &str = "z6LSii5xvrURgVHuXaXQmTG8iP9LgAahtSxqTaUNYPE5Ut3x";

fn encrypted(nonce: Option<&str>) -> Value {
    json!({"sender": alice(), "headers": headers(&json!({})), "body": "a1636d73676568656c6c6f", "nonce": nonce,
        "recipient_document": {"id": "did:web:bob.test", "verificationMethod": [
            {"id": "#z", "type": "Multikey", "publicKeyMultibase": "z6LSgGHziYpMc3mHeVLVB38T6bVT5X3ZwxzL8ngexawcwwVR"},
            {"id": "#s", "type": "JsonWebKey2020", "publicKeyJwk": {"kty": "OKP", "crv": "Ed25519",
                "x": "JrnKKPdu7SNZSGDC3wJvzn5w8ovGqH2hQlycxn-yDX0"}}],
            "assertionMethod": ["#s"],
            "keyAgreement": [{"id": "#b", "type": "X25519KeyAgreementKey2020", "publicKeyMultibase": BOB_AGREES}, "#z"]}})
}

fn keys(name: &str) -> Value {
    match name {
        "alice" => alice(),
        "bob" => json!({"did": "did:key:z6Mkh4RrL9X4Tei6wX1sFShnH5AT44Xuet6WutGojDAhDs7S", "ed25519_seed": BOB}),
        _ => json!({"did": "did:web:example.com:agent:bob", "x25519_private":
            "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100", "ed25519_seed":
            "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"}),
    }
}

/// The calls that do not depend on others.
async fn questions() -> Vec<(&'static str, Value)> {
    let data: Value = serde_json::from_str(include_str!("data/amp_core.json")).expect("the file is JSON");
    let mut questions = Vec::new();
    for vector in data["vectors"].as_array().expect("a list") {
        let mut params = json!({"self": keys(vector["self"].as_str().expect("a name")), "now": vector["now"],
            "documents": vector["documents"], "message": vector["message"]});
        for name in ["original", "trusted_relays"] {
            if vector.get(name).is_some() {
                params[name] = vector[name].clone();
            }
        }
        if vector.get("message").is_some() {
            questions.push(("receive", params));
        }
    }
    for frame in data["frames"].as_array().expect("a list") {
        questions.push(("frame_decode", json!({"data": frame["frame"]})));
    }
    for wrapper in data["wrappers"].as_array().expect("a list") {
        questions.push(("wrapper_decode", json!({"kind": "poll", "cbor": wrapper["cbor"]})));
    }
    let mut plain = Library::start(library_config());
    questions.extend(crafted(&mut plain).await);
    questions.extend(acknowledgements(&mut plain).await);
    questions.extend(documents());
    questions.extend(small());
    questions
}

/// A CBOR value as it travels.
fn hex(value: Result<ciborium::Value, ciborium::value::Error>) -> String {
    let mut bytes = Vec::new();
    ciborium::into_writer(&value.expect("a value"), &mut bytes).expect("written");
    library::hex(&bytes)
}

fn received(message: &str) -> (&'static str, Value) {
    ("receive", json!({"self": keys("bob"), "now": NOW, "message": message}))
}

async fn built(library: &mut Library, headers: &Value, body: &str, ext: Option<&str>) -> String {
    let params = json!({"sender": alice(), "headers": self::headers(headers), "body": body, "ext": ext});
    library.call("build_plain", &params).await["message"].as_str().expect("hex").to_owned()
}

fn decoded(message: &str) -> Vec<(ciborium::Value, ciborium::Value)> {
    let bytes = data_encoding::HEXLOWER.decode(message.as_bytes()).expect("hex");
    ciborium::from_reader::<ciborium::Value, _>(&bytes[..]).expect("CBOR").into_map().expect("a map")
}

/// The message with another value for a member.
fn with(message: &str, name: &str, change: impl FnOnce(&mut ciborium::Value)) -> String {
    let mut pairs = decoded(message);
    change(&mut pairs.iter_mut().find(|(key, _)| key.as_text() == Some(name)).expect("the member is there").1);
    hex(Ok(ciborium::Value::Map(pairs)))
}

fn flip(sig: &mut ciborium::Value) {
    sig.as_bytes_mut().expect("bytes")[0] ^= 1;
}

/// Messages that the vectors do not have.
async fn crafted(library: &mut Library) -> Vec<(&'static str, Value)> {
    let base = built(library, &json!({}), "f6", None).await;
    let error = hex(cbor!({"code" => 1002, "category" => "protocol", "message" => ""}));
    let error = built(library, &json!({"typ": 15}), &error, None).await;
    let trusting = built(library, &json!({}), "f6", Some(&hex(cbor!({"verified" => true})))).await;
    let ts = NOW - 7_200_000;
    let hours = json!({"id": format!("{ts:016x}00000000000000ff"), "ts": ts, "ttl": 86_400_000});
    let old = built(library, &hours, "f6", None).await;
    let deep = built(library, &json!({}), "818181818181818180", None).await;
    let zero = built(library, &json!({"v": 0}), "f6", None).await;
    let sealed = library.call("build_encrypted", &encrypted(None)).await["message"].clone();
    let epk = with(sealed.as_str().expect("hex"), "enc", |enc| {
        enc.as_map_mut().expect("a map").push(("epk".into(), ciborium::Value::Bytes(vec![1; 32])));
    });
    let text_sig = with(&base, "sig", |sig| {
        *sig = library::hex(sig.as_bytes().expect("bytes")).into();
    });
    let mut questions: Vec<(&str, Value)> = [
        with(&error, "sig", flip),
        with(&trusting, "sig", flip),
        with(&base, "from", |from| *from = "alice".into()),
        "a1615f5bffffffffffffffff".to_owned(),
        old,
        deep,
        zero,
        epk,
        text_sig,
    ]
    .iter()
    .map(|message| received(message))
    .collect();
    let upper = built(library, &json!({"to": "did:web:BOB.test"}), "f6", None).await;
    let bob = json!({"did": "did:web:bob.test", "ed25519_seed": BOB});
    questions.push(("receive", json!({"self": bob, "now": NOW, "message": upper})));
    let hash = ciborium::Value::Bytes(Sha256::digest(b"abc").to_vec());
    let data = ciborium::Value::Bytes(b"abc".to_vec());
    let short = ciborium::Value::Bytes(vec![0]);
    let document = |size: u64, hash: &ciborium::Value| cbor!({"content_type" => "a/b", "filename" => "f", "size" => size, "hash" => hash, "data" => data});
    let bodies = [
        (0x03, cbor!({"received_at" => 1})),
        (0x71, cbor!({"selected" => "1.0", "x" => 1})),
        (0x70, cbor!({"versions" => []})),
        (0x31, cbor!({})),
        (0x31, cbor!({"doc_id" => "d", "accept" => "text/plain"})),
        (0x31, cbor!({"hash" => hash, "accept" => "text/plain"})),
        (0x31, cbor!({"doc_id" => "d"})),
        (0x50, cbor!({"credential" => null, "expires" => "tomorrow"})),
        (0x30, document(1, &hash)),
        (0x30, document(3, &short)),
    ];
    for (typ, body) in bodies {
        questions.push(received(&built(library, &json!({"typ": typ}), &hex(body), None).await));
    }
    questions
}

/// ACKs of the baseline by its recipient, with what 16.1 forbids.
async fn acknowledgements(library: &mut Library) -> Vec<(&'static str, Value)> {
    let original = built(library, &json!({}), "f6", None).await;
    let (other, right) = ("00000199c82cc000beadfacedeadbee0", "00000199c82cc000beadfacedeadbeef");
    let mut questions = Vec::new();
    for (reply_to, body) in [
        (other, cbor!({"ack_source" => "recipient", "received_at" => 1})),
        (right, cbor!({"ack_source" => "Recipient", "received_at" => 1})),
        (right, cbor!({"ack_source" => "recipient", "received_at" => 1, "ack_target" => "did:web:x.org"})),
    ] {
        let headers = headers(&json!({"typ": 3, "to": alice()["did"], "reply_to": reply_to}));
        let made = json!({"sender": keys("bob"), "headers": headers, "body": hex(body)});
        let ack = library.call("build_plain", &made).await["message"].clone();
        questions.push(("validate_ack", json!({"ack": ack, "original": original, "now": NOW})));
    }
    questions
}

/// Documents in every format and shape.
fn documents() -> Vec<(&'static str, Value)> {
    const KEY: &str = "z6MkgsHfAoXR7tKZHPuiLkq8UkY75cEURgsomhZXPB46U1Nu";
    let multibase = |kind: &str| json!({"id": "#k", "type": kind, "publicKeyMultibase": KEY});
    let mut revoked = multibase("Ed25519VerificationKey2020");
    revoked["revoked"] = "2020-01-01T00:00:00Z".into();
    let jwk = json!({"kty": "OKP", "crv": "Ed25519", "x": "JrnKKPdu7SNZSGDC3wJvzn5w8ovGqH2hQlycxn-yDX0"});
    let methods = [
        json!({"id": "#k", "type": "Ed25519VerificationKey2018", "publicKeyBase58": "3cAojuGd87Ddq2BAZsjwRycTEVG4EzrADsMstwCgJeL4"}),
        multibase("Multikey"),
        multibase("Ed25519VerificationKey2020"),
        json!({"id": "#k", "type": "JsonWebKey", "publicKeyJwk": jwk}),
        revoked,
    ];
    let mut questions = Vec::new();
    let mut ask = |document: Value, purpose: &str| {
        questions.push(("select_key", json!({"document": document, "did": "did:web:a.test", "purpose": purpose})));
    };
    for method in methods {
        ask(json!({"id": "did:web:a.test", "verificationMethod": [method], "assertionMethod": ["#k"]}), "signature");
        ask(json!({"id": "did:web:a.test", "assertionMethod": [method]}), "signature");
    }
    ask(
        json!({"id": "did:web:a.test", "verificationMethod": [{"id": "#x", "type": "Multikey", "publicKeyMultibase": BOB_AGREES}]}),
        "agreement",
    );
    questions
}

/// Calls with short parameters.
fn small() -> Vec<(&'static str, Value)> {
    let mut questions = vec![
        ("encode_deterministic", json!({"cbor": "fb4000000000000000"})),
        ("error_info", json!({"code": 1002})),
        ("error_info", json!({"code": 5001})),
        ("frame_encode", json!({"type": 3, "payload": "01"})),
        ("frame_decode", json!({"data": "0000000401a1617801", "max_size": 2})),
    ];
    for version in ["1.0", "10.2.3", "1.0.0"] {
        questions.push(("major", json!({"version": version})));
    }
    for offered in [json!(["99.0"]), json!(["x", "1.0"]), json!(["99.0", "1.0"]), json!(["2.0", "10.0", "1.0"])] {
        questions.push(("select_version", json!({"supported": ["1.0", "2.0", "10.0"], "offered": offered})));
    }
    for code in [1001, 1002, 5001] {
        questions.push((
            "error_build",
            json!({"sender": keys("bob"), "to": alice()["did"], "now": NOW, "code": code,
            "reply_to": "00000199c82cc000beadfacedeadbeef"}),
        ));
    }
    for (attempt, random) in [(1, 0.0), (1, 0.2), (3, 0.5), (10, 0.5)] {
        questions.push(("retry_delay", json!({"attempt": attempt, "random": random})));
    }
    questions.push(("retry_delay", json!({"attempt": 1, "random": 0.5, "last": {"code": 1002, "retry": false}})));
    questions.push(("retry_delay", json!({"attempt": 3, "random": 0.5, "ttl_left_ms": 10})));
    questions
}

/// The state machines.
async fn machines(library: &mut Library) -> Vec<Value> {
    let mut said = Vec::new();
    let hello = |version: &str| hex(cbor!({"versions" => [version]}));
    let selected = |version: &str| hex(cbor!({"selected" => version}));
    let (one, nine) = ("1.0", "9.0");
    let scripts: [&[(&str, Value)]; 7] = [
        &[("hello", hello(one).into()), ("message", json!(1)), ("message", json!(2))],
        &[("hello", hello(nine).into())],
        &[("hello", hex(cbor!({"versions" => []})).into())],
        &[("send_hello", Value::Null), ("send_hello", Value::Null), ("hello_reject", Value::Null)],
        &[("send_hello", Value::Null), ("hello_ack", selected(nine).into())],
        &[("send_hello", Value::Null), ("hello_ack", selected(one).into()), ("message", json!(1))],
        &[("hello_ack", selected(one).into())],
    ];
    for script in scripts {
        let opened = library.call("negotiation_open", &json!({"role": "initiator", "supported": ["1.0"]})).await;
        for (event, data) in script {
            let params = json!({"negotiation": opened["negotiation"], "event": event, "data": data});
            said.push(library.answer("amp-core/negotiation_event", &params).await);
        }
    }
    said.extend(streams(library).await);
    said
}

fn start(size: u64, chunks: u64, chunk: u64, algorithm: &str) -> String {
    hex(cbor!({"stream_id" => "s", "content_type" => "a/b", "filename" => "f", "total_size" => size,
        "total_chunks" => chunks, "chunk_size" => chunk, "hash_algo" => algorithm}))
}

/// Streams of `abcd` in chunks of two, and invalid ones.
async fn streams(library: &mut Library) -> Vec<Value> {
    const ABCD: &str = "88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589";
    let mut said = Vec::new();
    let starts = [start(4, 3, 2, "sha256"), start(4, 2, 2, "md5"), start(1 << 40, 1 << 39, 2, "sha256")];
    for start in starts {
        said.push(library.answer("amp-core/stream_open", &json!({"sender": "did:x:a", "start": start})).await);
    }
    let good = [(0, "6162"), (1, "6364")];
    let scripts: [(&[(u64, &str)], &str); 10] = [
        (&good, ABCD),
        (&[(1, "6364"), (0, "6162")], ABCD),
        (&[(0, "6162"), (0, "7878"), (1, "6364")], ABCD),
        (&[(0, "6162")], ABCD),
        (&[(0, "6162"), (1, "6364"), (2, "6565")], ABCD),
        (&[(0, "616263"), (1, "64")], ABCD),
        (&[(0, "61"), (1, "63")], ABCD),
        (&good, ""),
        // SHA-256 of the encoded chunks, and of the chunks with their lengths before them.
        (&good, "ENCODED"),
        (&good, "LENGTHS"),
    ];
    for (chunks, hash) in scripts {
        let hash = match hash {
            "ENCODED" => digest(&[0x42, 0x61, 0x62, 0x42, 0x63, 0x64]),
            "LENGTHS" => digest(&[0, 0, 0, 2, 0x61, 0x62, 0, 0, 0, 2, 0x63, 0x64]),
            other => other.to_owned(),
        };
        let opened =
            library.call("stream_open", &json!({"sender": "did:x:a", "start": start(4, 2, 2, "sha256")})).await;
        for (index, data) in chunks {
            let params = json!({"stream": opened["stream"], "index": index, "data": data});
            said.push(library.answer("amp-core/stream_chunk", &params).await);
        }
        let mut end = library.answer("amp-core/stream_end", &json!({"stream": opened["stream"], "hash": hash})).await;
        if let Some(ack) = end["result"].get("ack") {
            end["result"]["ack"] = shown(ack);
        }
        said.push(end);
        let late = json!({"stream": opened["stream"], "index": 0, "data": "6162"});
        said.push(library.answer("amp-core/stream_chunk", &late).await);
    }
    for (event, data) in
        [("ack", hex(cbor!({"stream_id" => "other", "verified" => true})).into()), ("timeout", Value::Null)]
    {
        let params =
            json!({"stream_id": "s", "data": "61626364", "chunk_size": 2, "filename": "f", "content_type": "a/b"});
        let sent = library.call("stream_sender_open", &params).await;
        let event = json!({"stream": sent["stream"], "event": event, "data": data});
        said.push(sent.clone());
        said.push(library.answer("amp-core/stream_sender_event", &event).await);
    }
    said
}

fn digest(bytes: &[u8]) -> String {
    library::hex(&Sha256::digest(bytes))
}

/// The faults of the library.
fn of_the_library() -> Vec<&'static str> {
    let names = |folder: &str| planted(&self::folder().join(folder));
    let others: Vec<String> =
        OF_A_NODE.iter().filter(|name| folder().join(name).exists()).flat_map(|name| names(name)).collect();
    let all = planted(&folder());
    // A library has no settings of a node.
    let table = faults().iter().filter(|fault| fault.needs == Needs::Nothing).map(|fault| fault.name);
    table.filter(|name| all.iter().any(|known| known == name) && !others.iter().any(|other| other == name)).collect()
}

/// Faults of forms of keys, of types and of texts that no question here has; `proofmark prove` catches them.
const NOT_ASKED: [&str; 11] = [
    "key-base58-zero-dropped",
    "key-fragment-suffix",
    "key-revoked-ahead",
    "streams-unsupported",
    "credentials-unsupported",
    "sig-drops-byte-order-marks",
    "stream-order-as-text",
    "stream-index-in-a-byte",
    "box-long-bodies-unopened",
    "doc-empty-refused",
    "sig-repeated-recipient-dropped",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_of_the_library_shows() {
    let questions = Arc::new(questions().await);
    let plain = conversation(questions.clone(), None).await;
    assert!(conversation(questions.clone(), None).await == plain, "the conversation is not repeatable");
    let mut silent = Vec::new();
    let shown: Vec<&'static str> = of_the_library().into_iter().filter(|fault| *fault != IN_AN_ERROR).collect();
    for several in shown.chunks(8) {
        let held: Vec<_> =
            several.iter().map(|fault| tokio::spawn(conversation(questions.clone(), Some(fault)))).collect();
        for (fault, held) in several.iter().zip(held) {
            if held.await.expect("the conversation ends") == plain {
                silent.push(fault);
            }
        }
    }
    silent.retain(|fault| !NOT_ASKED.contains(fault));
    assert!(silent.is_empty(), "{} faults without an observable effect: {silent:?}", silent.len());
}
