//! Every fault of the Agentic Mesh Protocol is planted once, names requirements, and is observable: the same conversation
//! goes otherwise than without it. Which check catches it is for proofmark to prove.

use std::path::Path;
use std::sync::Arc;

use crate::mesh_support::*;
use proofmark_reference::{Config, Fault};
use serde_json::{Value, json};

/// Maximum number of concurrent conversations.
const CONVERSATIONS: usize = 40;

#[test]
fn the_table_is_well_formed() {
    let table = mesh().faults();
    assert!(table.len() >= 150);
    for (index, fault) in table.iter().enumerate() {
        assert!(table[..index].iter().all(|other| other.name != fault.name), "{} occurs twice", fault.name);
        assert!(!fault.breaks.is_empty() && fault.breaks.iter().all(|id| id.starts_with("MESH-")), "{}", fault.name);
        let levels = ["message", "node", "intermediary", "security"];
        assert!(fault.summary.ends_with('.') && levels.contains(&fault.level), "{}", fault.name);
    }
}

#[test]
fn every_fault_is_planted_exactly_once() {
    let source = source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agentic_mesh"));
    for Fault { name, .. } in mesh().all_faults() {
        // At a line of its own, or as a row of a table of alike faults.
        let forms = [format!("is(\"{name}\")"), format!("fault, \"{name}\", "), format!("(\"{name}\", &[")];
        let spread = source.split_whitespace().collect::<Vec<_>>().join(" ").replace("( \"", "(\"");
        let places: usize = forms.iter().map(|form| spread.matches(form).count()).sum();
        assert_eq!(places, 1, "{name} is planted {places} times");
    }
}

/// All program text under `folder`, without tests.
fn source(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            text.push_str(&self::source(&path));
        } else {
            let file = std::fs::read_to_string(&path).expect("readable");
            text.push_str(file.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
        }
    }
    text
}

/// Faults that take more than the conversations here, such as hundreds of objects; `proofmark prove` catches them.
const LONGER: &[&str] = &[
    "large-memorygram-skips-blocks",
    "first-edge-checked-only",
    "large-message-refused",
    "parameter-names-ignore-case",
    "role-fragment-ignored",
    "trace-id-replaced-in-body",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_shows() {
    let plain = in_library(None).await;
    let (http, slow) = (over_http(None).await, slowly(None).await);
    assert!(in_library(None).await == plain && over_http(None).await == http, "the conversation is not repeatable");
    let mut silent = Vec::new();
    let said = Arc::new((plain, http, slow));
    for several in mesh().faults().chunks(CONVERSATIONS) {
        let shown: Vec<_> =
            several.iter().map(|fault| tokio::spawn(shows(Some(fault.name), Arc::clone(&said)))).collect();
        for (fault, shown) in several.iter().zip(shown) {
            if !shown.await.expect("the conversation ends") {
                silent.push(fault.name);
            }
        }
    }
    silent.retain(|name| !LONGER.contains(name));
    let mut unseen = Vec::new();
    for name in silent {
        // Between others what a fault does late can come too late: alone it has the machine.
        if !shows(Some(name), Arc::clone(&said)).await {
            unseen.push(name);
        }
    }
    assert!(unseen.is_empty(), "{} faults without an observable effect: {unseen:?}", unseen.len());
}

/// What the reference says without a fault: as a library, over HTTP, and slowly.
type Said = (Vec<String>, Vec<String>, Vec<String>);

/// Whether a fault changes what the reference says.
async fn shows(fault: Option<&str>, said: Arc<Said>) -> bool {
    let (plain, http, slow) = &*said;
    in_library(fault).await != *plain || over_http(fault).await != *http || slowly(fault).await != *slow
}

fn faulty(fault: Option<&str>, settings: &[(&str, &str)]) -> Config {
    Config { fault: fault.map(str::to_owned), ..config(settings) }
}

/// What the library says about each message, without values that change between runs.
async fn in_library(fault: Option<&str>) -> Vec<String> {
    let mut library = Library::start(faulty(fault, &[]));
    let mut said = Vec::new();
    for text in texts() {
        for kind in [RECEIVER, RELAY] {
            let params = json!({ "message_hex": hex(&text), "node": node(kind) });
            said.push(shown(&library.call("process", params).await));
        }
    }
    let active = json!({ "kind": RELAY, "roles": [ASSUMED], "active": true });
    let message = with_blocks(vec![block(&known("noop"), Some(NEXT), Some(true), None)]).to_string();
    let params = json!({ "message_hex": hex(message.as_bytes()), "node": active });
    said.push(shown(&library.call("process", params).await));
    let graph = json!({ "nodes": [{ "id": "a" }, { "id": "b" }, { "id": "c" }],
        "edges": [{ "source": "a", "target": "b" }, { "source": "b", "target": "c" }] });
    let graph = hex(graph.to_string().as_bytes());
    let message = hex(base().to_string().as_bytes());
    let put_back = with_blocks(vec![block(&known("reinsert"), Some(NEXT), Some(true), None)]).to_string();
    let put_back = hex(put_back.as_bytes());
    let other = hex(block(&known("reinsert"), Some(NEXT), Some(true), Some(true)).to_string().as_bytes());
    for (method, params) in [
        ("describe", json!({})),
        ("memorygram_filter", json!({ "memorygram_hex": graph, "drop": ["c"] })),
        (
            "memorygram_augment",
            json!({ "memorygram_hex": graph, "node_uri": "urn:x:n", "nodes": [{ "id": "d" }], "edges": [] }),
        ),
        ("memorygram_annotate", json!({ "memorygram_hex": graph, "node_uri": "urn:x:n", "ids": ["a"] })),
        (
            "encrypt_field",
            json!({ "message_hex": message, "pointer": "/Envelope/Body/context/proofmark", "encrypted_for": "legal" }),
        ),
        ("encrypt_section", json!({ "message_hex": message, "encrypted_for": "legal" })),
        ("build", json!({ "header": { "roles": ["planner"], "ttl": 5 }, "body": { "task": "echo" } })),
        ("fault", json!({ "code": "example:Busy", "reason": "x" })),
        (
            "forward",
            json!({ "message_hex": put_back, "processed": [0], "reinserted": [{ "index": 0, "block_hex": other }] }),
        ),
    ] {
        said.push(shown(&library.call(method, params).await));
    }
    // After the messages that are not JSON, and after an unsupported version.
    for bad in [b"{".to_vec(), with(base(), "Header/version", json!("99.0")).to_string().into_bytes()] {
        for text in [bad, base().to_string().into_bytes()] {
            let params = json!({ "message_hex": hex(&text), "node": node(RELAY) });
            said.push(shown(&library.call("process", params).await));
        }
        tokio::time::sleep(std::time::Duration::from_millis(160)).await;
    }
    said
}

/// A result with the texts decoded, and without random values.
fn shown(answer: &Value) -> String {
    fn decoded(value: &Value) -> Value {
        match value {
            Value::Object(object) => {
                let member = |(name, value): (&String, &Value)| match (name.ends_with("_hex"), value) {
                    (true, Value::String(_)) => (name.clone(), unhex(value).into()),
                    (true, Value::Array(items)) => (name.clone(), items.iter().map(unhex).collect()),
                    _ => (name.clone(), decoded(value)),
                };
                object.iter().map(member).collect()
            }
            Value::Array(items) => items.iter().map(decoded).collect(),
            other => other.clone(),
        }
    }
    masked(&decoded(answer).to_string())
}

/// A text with identifiers and ciphertexts replaced.
fn masked(text: &str) -> String {
    let is_id = |word: &str| word.len() == 36 && word.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-');
    let is_sealed = |word: &str| {
        word.len() >= 32 && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte))
    };
    let word = |word: &str| {
        if is_id(word) {
            "ID".to_owned()
        } else if is_sealed(word) {
            "SEALED".to_owned()
        } else {
            word.to_owned()
        }
    };
    text.split(['"', '\\']).map(word).collect::<Vec<_>>().join("\"")
}

/// What a server says and sends on.
async fn over_http(fault: Option<&str>) -> Vec<String> {
    let (hop, trap) = (Hop::start(202, "").await, Hop::start(202, "").await);
    let server = serve(&hop, &[], fault).await;
    let mut said = Vec::new();
    let dialled = with_blocks(vec![block("urn:x:k", Some(trap.url.as_str()), None, Some(true))]);
    let two = without(without(base(), "Header/roles"), "Header/traceId");
    for message in [base(), base(), json!([]), two, dialled, with_blocks(vec![unknown(NEXT)])] {
        for path in ["/amp", "/amp/relay"] {
            said.push(format!("{:?}", post(&server, path, &message).await));
        }
    }
    said.push(format!("{:?}", exchange(&server, "POST", "/amp", "", b"{").await));
    tokio::time::sleep(std::time::Duration::from_millis(60)).await;
    said.push(trap.take().len().to_string());
    said.extend(hop.take().into_iter().map(|copy| copy.replace(&trap.url, "TRAP")));
    said.iter().map(|text| masked(text)).collect()
}

/// The same for a message that takes its time; only faults of time are asked.
async fn slowly(fault: Option<&str>) -> Vec<String> {
    if !fault.is_none_or(|name| ["ttl-as-seconds", "weights-aged-while-held"].contains(&name)) {
        return slowly_plain().await;
    }
    let hop = Hop::start(202, "").await;
    let server = serve(&hop, &[], fault).await;
    let text = with(base(), "Header/ttl", json!(2)).to_string();
    let (status, _) = held(&server, "POST", "/amp/relay", "", text.as_bytes(), 2100).await;
    [vec![status.to_string()], hop.take()].concat()
}

/// What is said without a fault: the copy of the base message.
async fn slowly_plain() -> Vec<String> {
    let copy = with(with(base(), "Header/ttl", json!(1)), "Header/traceId", json!("pm-trace-1;hop=target"));
    vec!["202".to_owned(), copy.to_string()]
}

/// The messages of the conversation: for each rule a message that only a correct node treats as it should.
fn texts() -> Vec<Vec<u8>> {
    let mut messages =
        vec![base(), json!({}), base()["Envelope"].clone(), json!({ "Envelope": null }), json!([base()])];
    let set = |at: &str, value: Value| with(base(), at, value);
    for component in ["Header", "Body", "MemoryGram"] {
        messages.push(without(base(), component));
        messages.extend([json!(null), json!([]), json!("x"), json!(7)].map(|value| set(component, value)));
        let mut respelled = without(base(), component);
        respelled["Envelope"][component.to_lowercase()] = base()["Envelope"][component].clone();
        messages.push(respelled);
    }
    for field in ["messageId", "traceId", "roles", "routingIntent", "ttl"] {
        messages.push(without(base(), &format!("Header/{field}")));
        messages.extend(
            [json!(42), json!("5"), json!("5,6"), json!(["a"]), json!(true), json!(1.5)]
                .map(|value| set(&format!("Header/{field}"), value)),
        );
    }
    messages.extend([json!("BYOE"), json!({ "type": "BYOE" })].map(|value| set("Header/encryption", value)));
    messages.extend(
        [0_i64, 1, 2, 3, -1, -2_147_483_648, 2_147_483_648, 4_294_967_296].map(|ttl| set("Header/ttl", json!(ttl))),
    );
    messages.extend(["broadcast", "delegate", "flood"].map(|intent| set("Header/routingIntent", json!(intent))));
    messages.extend([json!("1.0"), json!(1.0)].map(|version| set("Header/version", version)));
    messages.extend([
        set("Header/extra", json!(1)),
        set("Extra", json!(1)),
        set("Body/extra", json!(1)),
        set("Body/context/version", json!("99.0")),
    ]);
    messages.extend([json!(null), json!(3), json!(["echo"])].map(|task| set("Body/task", task)));
    messages.extend([json!("status"), json!(1)].map(|value| set("Body/expectedOutput", value)));
    messages.extend(
        [json!("x"), json!({ "a": { "b": [] } }), json!({ "plan\u{1f510}": { "encryptedFor": "x" } })]
            .map(|context| set("Body/context", context)),
    );
    messages.extend(["Body/task", "Body/expectedOutput", "Body/context"].map(|at| without(base(), at)));
    messages.push(set("Body/task", json!("proofmark-refuse")));
    // MemoryGrams.
    for (name, value) in [
        ("nodes", json!({})),
        ("edges", json!({})),
        ("mode", json!(1)),
        ("encoding", json!(1)),
        ("mode", json!("full")),
    ] {
        messages.push(set(&format!("MemoryGram/{name}"), value));
    }
    messages.push(without(base(), "MemoryGram/edges"));
    for node in [
        json!({ "id": 7 }),
        json!({ "type": "plan" }),
        json!({ "id": "a", "type": 3 }),
        json!({ "id": "a", "metadata": "x" }),
        json!({ "id": "a", "type": "new" }),
        json!({ "id": "a", "metadata": { "x": 1, "ttl": 99 }, "z": 1 }),
    ] {
        messages.push(set("MemoryGram/nodes", json!([node])));
    }
    messages.push(set("MemoryGram/nodes", json!([{ "id": "a" }, { "id": "a" }])));
    messages.push(set("MemoryGram/nodes", json!([{ "id": "a" }, { "id": "b" }, { "id": "a" }])));
    let good = json!({ "source": "n1", "target": "n2" });
    messages.push(set("MemoryGram/edges", json!([good, { "source": "n1", "target": "n2", "weight": "0.8" }])));
    for (name, value) in [
        ("source", json!(1)),
        ("target", json!(2)),
        ("weight", json!("0.8")),
        ("weight", json!(1)),
        ("weight", json!(2)),
        ("weight", json!(0.125)),
        ("context", json!(4)),
        ("metadata", json!({})),
        ("target", json!("gone")),
    ] {
        let mut edge = json!({ "source": "n1", "target": "n2" });
        edge[name] = value;
        messages.push(set("MemoryGram/edges", json!([edge])));
    }
    // Two errors.
    let mu = || with_blocks(vec![unknown(NEXT)]);
    let weight = |message| with(message, "MemoryGram/edges", json!([{ "source": "a", "target": "b", "weight": 2 }]));
    let refused = |message| with(message, "Body/task", json!("proofmark-refuse"));
    let expired = |message| with(message, "Header/ttl", json!(0));
    let version = |message| with(message, "Header/version", json!("99.0"));
    messages.extend([
        expired(without(base(), "Body")),
        expired(without(base(), "Header/traceId")),
        without(mu(), "Header/messageId"),
        expired(mu()),
        weight(mu()),
        weight(expired(base())),
        weight(refused(base())),
        refused(expired(base())),
        refused(mu()),
        version(without(base(), "Header/traceId")),
        weight(version(base())),
    ]);
    messages.extend(blocks());
    let mut texts: Vec<Vec<u8>> = messages.iter().map(|message| message.to_string().into_bytes()).collect();
    let text = base().to_string();
    texts.push(text.replace("Envelope", "\\u0045nvelope").into_bytes());
    texts.push(format!(" {text}").into_bytes());
    let swapped = json!({ "Envelope": { "Body": base()["Envelope"]["Body"], "Header": base()["Envelope"]["Header"], "MemoryGram": base()["Envelope"]["MemoryGram"] } });
    texts.push(swapped.to_string().into_bytes());
    let mut bytes = text.clone().into_bytes();
    let at = bytes.windows(5).position(|window| window == b"nonce").expect("a nonce");
    bytes[at] = 0xff;
    texts.push(bytes);
    let deep = format!("{}1{}", "[".repeat(50), "]".repeat(50));
    let values = format!(
        r#""context":{{"Up":1,"n":null,"e":[],"o":{{}},"a.b":1,"s":"e\u0301","f":0.1234567890123,"i":12345678901234567890,"d":{deep},"🔐":1}}"#
    );
    let odd = text
        .replace(r#""context":{"proofmark":"nonce-1"}"#, &values)
        .replace(r#"["planner","vendor"]"#, r#"["v","p","v"]"#);
    texts.push(odd.into_bytes());
    texts
}

/// The messages about header blocks.
fn blocks() -> Vec<Value> {
    let (yes, no) = (Some(true), Some(false));
    let mut failing = block(&known("fail"), Some(NEXT), yes, None);
    failing["content"] = json!({ "fail": true });
    let calm = block(&known("fail"), Some(NEXT), yes, None);
    let mut beside = calm.clone();
    beside["fail"] = json!(true);
    let mut named = json!({ "name": known("noop"), "role": NEXT, "mustUnderstand": true, "content": {} });
    let mut spelled = json!({ "type": "urn:x:k", "Role": NEXT, "mustUnderstand": true });
    let mut extra = block(&known("noop"), Some(NEXT), yes, None);
    extra["x"] = json!(1);
    named["type"] = json!("urn:x:k");
    spelled["content"] = json!({});
    let mut all = Vec::new();
    for role in
        [Some(NEXT), Some(ASSUMED), Some(OTHER), Some(NONE), Some(ULTIMATE), None, Some("next"), Some("urn:x:any")]
    {
        for kind in ["urn:x:k", &known("noop"), &known("reinsert"), &known("fail")] {
            for (mandatory, relay) in [(yes, None), (None, None), (no, yes), (yes, yes), (None, no)] {
                all.push(with_blocks(vec![block(kind, role, mandatory, relay)]));
            }
        }
    }
    for role in [ULTIMATE, NONE] {
        let mut failing = failing.clone();
        failing["role"] = json!(role);
        all.push(with_blocks(vec![failing]));
    }
    for several in [
        vec![failing.clone()],
        vec![failing.clone(), calm.clone()],
        vec![calm.clone(), failing.clone()],
        vec![failing, unknown(NEXT)],
        vec![beside],
        vec![named],
        vec![spelled],
        vec![extra],
        vec![json!({ "name": known("noop"), "role": NEXT })],
        vec![unknown(NEXT), unknown(NEXT), unknown(ASSUMED)],
        vec![calm, unknown(ASSUMED)],
        vec![
            block("urn:x:k", Some(NEXT), None, None),
            block("urn:x:l", Some(NEXT), None, None),
            block("urn:x:m", Some(OTHER), yes, yes),
        ],
        vec![
            block("urn:x:k", Some(ASSUMED), None, None),
            block(&known("noop"), Some(ASSUMED), yes, None),
            block("urn:x:k", Some(ASSUMED), None, None),
        ],
        vec![block(&known("annotate"), Some(NEXT), yes, None), block(&known("augment"), Some(NEXT), yes, None)],
    ] {
        all.push(with_blocks(several));
    }
    let mut many = vec![block("urn:x:k", Some(NONE), None, None); 20];
    all.push(with_blocks(many.clone()));
    many.push(unknown(NEXT));
    all.push(with(with_blocks(many), "Header/roles", json!(["vendor"])));
    all.push(with(with_blocks(vec![unknown(NEXT)]), "Header/routingIntent", json!("broadcast")));
    let mut bare = unknown(NEXT);
    bare.as_object_mut().expect("an object").remove("content");
    all.push(with_blocks(vec![bare]));
    let mut distinct = Vec::new();
    for index in 0..20 {
        distinct.push(block(&format!("urn:x:{index}"), Some(NONE), None, None));
    }
    all.push(with_blocks(distinct));
    let mut reinserted = block(&known("reinsert"), Some(NEXT), yes, None);
    reinserted["extra"] = json!(1);
    all.push(with_blocks(vec![reinserted]));
    let mut redact = block(&known("redact"), Some(NEXT), yes, None);
    redact["content"] = json!({ "member": "secret" });
    all.push(with(with_blocks(vec![redact]), "Body/context", json!({ "secret": 1, "open": { "secret": 2 } })));
    let nodes = json!([{ "id": "n1" }, { "id": "n2", "metadata": {} }]);
    for kind in ["annotate", "augment"] {
        let asked = with_blocks(vec![block(&known(kind), Some(NEXT), yes, None)]);
        all.push(with(asked, "MemoryGram/nodes", nodes.clone()));
    }
    all.push(with(base(), "Header/messageId", json!("x ".repeat(200))));
    all.push(with(base(), "Body/context", json!({ "at": "2026-01-02T03:04:05+01:00", "text": "é".repeat(5000) })));
    let roles = with_blocks(vec![unknown("urn:x:any")]);
    all.push(with(roles, "Header/roles", json!(["urn:x:any"])));
    let mut sparse = block("urn:x:sparse", Some(NONE), None, None);
    sparse["content"] = json!({ "none": null });
    let sparse = with(with_blocks(vec![sparse]), "Header/roles", json!([" Vendor "]));
    let record = json!([{ "id": "n1", "none": null, "metadata": { "big": 4_294_967_297_i64 } }]);
    all.push(with(sparse, "MemoryGram/nodes", record));
    all.push(with(base(), "Header/encryption", json!({ "type": "BYOE", "none": null })));
    let direct = with(base(), "Header/traceId", json!("t;hop=x"));
    all.push(direct);
    all
}
