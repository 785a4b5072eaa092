//! The rules of the Agentic Mesh Protocol, row by row from the specification, through the library adapter.

use crate::mesh_support::*;
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};

const MUST_UNDERSTAND: &str = "amp:MustUnderstand";
const SENDER: &str = "amp:Sender";

/// What becomes of a header block at an intermediary.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fate {
    Kept,
    Gone,
    Fault,
}
use Fate::{Fault, Gone, Kept};

/// Type, role, mustUnderstand and relay of a block, and what becomes of it.
type Row = (&'static str, Option<&'static str>, Option<bool>, Option<bool>, Fate);

/// The table of section 4.8.1 with the flags of 4.4 and 4.8.1 written out: type, role, mustUnderstand, relay.
#[tokio::test]
async fn blocks_are_forwarded_as_the_table_says() {
    let (yes, no) = (Some(true), Some(false));
    let rows: &[Row] = &[
        // Row 1: next, assumed, processed.
        ("noop", Some(NEXT), yes, None, Gone),
        ("noop", Some(NEXT), yes, yes, Gone),
        ("noop", Some(NEXT), no, no, Gone),
        ("reinsert", Some(NEXT), yes, None, Kept),
        ("reinsert", Some(NEXT), yes, no, Kept),
        ("reinsert", Some(NEXT), None, None, Kept),
        // Row 2: next, assumed, not processed.
        ("?", Some(NEXT), None, None, Gone),
        ("?", Some(NEXT), no, no, Gone),
        ("?", Some(NEXT), None, yes, Kept),
        ("?", Some(NEXT), no, yes, Kept),
        ("?", Some(NEXT), yes, None, Fault),
        ("?", Some(NEXT), yes, yes, Fault),
        // Row 3: user-defined, assumed, processed.
        ("noop", Some(ASSUMED), yes, None, Gone),
        ("noop", Some(ASSUMED), yes, yes, Gone),
        ("reinsert", Some(ASSUMED), yes, None, Kept),
        // Row 4: user-defined, assumed, not processed.
        ("?", Some(ASSUMED), None, None, Gone),
        ("?", Some(ASSUMED), no, yes, Kept),
        ("?", Some(ASSUMED), yes, yes, Fault),
        // Row 5: user-defined, not assumed.
        ("?", Some(OTHER), None, None, Kept),
        ("?", Some(OTHER), no, no, Kept),
        ("?", Some(OTHER), yes, no, Kept),
        ("?", Some(OTHER), yes, yes, Kept),
        ("noop", Some(OTHER), yes, None, Kept),
        ("fail", Some(OTHER), yes, no, Kept),
        // Row 7: ultimateReceiver, not assumed.
        ("?", Some(ULTIMATE), yes, None, Kept),
        ("?", Some(ULTIMATE), None, no, Kept),
        ("noop", Some(ULTIMATE), yes, no, Kept),
        ("fail", Some(ULTIMATE), yes, None, Kept),
        // Row 8: none.
        ("?", Some(NONE), yes, None, Kept),
        ("?", Some(NONE), None, no, Kept),
        ("noop", Some(NONE), yes, yes, Kept),
        ("fail", Some(NONE), no, None, Kept),
        // E30: without a role it is for the ultimate receiver.
        ("?", None, yes, None, Kept),
        ("?", None, None, None, Kept),
        ("noop", None, yes, no, Kept),
    ];
    let mut library = Library::start(config(&[]));
    for (kind, role, mandatory, relay, fate) in rows {
        let kind = if *kind == "?" { "urn:x:unknown".to_owned() } else { known(kind) };
        let mut sent = block(&kind, *role, *mandatory, *relay);
        sent["content"] = json!({ "fail": true, "deep": [{ "x": 1.50 }] });
        if kind != known("fail") {
            sent["content"]["fail"] = json!(false);
        }
        sent["extra"] = json!(null);
        let message = with_blocks(vec![sent.clone()]);
        let result = library.process(message.to_string().as_bytes(), RELAY).await;
        let found = match result["faults"][0]["code"].as_str() {
            Some(code) => {
                assert_eq!(code, MUST_UNDERSTAND, "{sent}");
                assert_eq!(result["forwarded_hex"], json!([]), "{sent}");
                Fault
            }
            None => {
                let copy: Value = serde_json::from_str(&unhex(&result["forwarded_hex"][0])).expect("JSON");
                let blocks = copy["Envelope"]["Header"]["headers"].as_array().expect("an array").clone();
                assert!(blocks.is_empty() || blocks == [sent.clone()], "{sent} was changed: {blocks:?}");
                if blocks.is_empty() { Gone } else { Kept }
            }
        };
        assert_eq!(found, *fate, "{sent}");
    }
}

#[tokio::test]
async fn blocks_that_stay_keep_their_order() {
    let mut library = Library::start(config(&[]));
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let roles = [OTHER, NEXT, NEXT, NONE, ASSUMED, NEXT, ULTIMATE];
    let mut blocks: Vec<Value> =
        names.iter().zip(roles).map(|(name, role)| block(&format!("urn:x:{name}"), Some(role), None, None)).collect();
    blocks[5] = block(&known("reinsert"), Some(NEXT), Some(true), None);
    let copy: Value =
        serde_json::from_str(&library.forwarded(with_blocks(blocks).to_string().as_bytes()).await).expect("JSON");
    let kinds: Vec<&str> = copy["Envelope"]["Header"]["headers"]
        .as_array()
        .expect("an array")
        .iter()
        .map(|block| block["type"].as_str().expect("a type"))
        .collect();
    assert_eq!(kinds, ["urn:x:a", "urn:x:d", &known("reinsert"), "urn:x:g"]);
}

/// Section 4.7: of two errors the one of the earlier step is reported. Missing means that a member is removed.
#[tokio::test]
async fn the_fault_of_the_earlier_step_comes_back() {
    let mu = || vec![unknown(NEXT)];
    let weight = |message| with(message, "MemoryGram/edges", json!([{ "source": "a", "target": "b", "weight": 2 }]));
    let ids = |message| with(message, "MemoryGram/nodes", json!([{ "id": "a" }, { "id": "a" }]));
    let refused = |message| with(message, "Body/task", json!("proofmark-refuse"));
    let version = |message| with(message, "Header/version", json!("99.0"));
    let ttl = |message, ttl: i64| with(message, "Header/ttl", json!(ttl));
    let rows: Vec<(&str, Value, &str)> = vec![
        ("1 before 4", ttl(without(base(), "Body"), 0), SENDER),
        ("1 before 6", without(with_blocks(mu()), "MemoryGram"), SENDER),
        ("3 before 4", ttl(without(base(), "Header/traceId"), 0), SENDER),
        ("3 before 6", without(with_blocks(mu()), "Header/messageId"), SENDER),
        ("3, 4 and 6", ttl(without(with_blocks(mu()), "Header/traceId"), 0), SENDER),
        ("4 before 6", ttl(with_blocks(mu()), 0), "amp:TTLExpired"),
        ("4 before 6, ttl 1", ttl(with_blocks(mu()), 1), "amp:TTLExpired"),
        ("4 before 7", weight(ttl(base(), 0)), "amp:TTLExpired"),
        ("6 before 7", ids(with_blocks(mu())), MUST_UNDERSTAND),
        ("version first: 3", version(without(base(), "Header/traceId")), "amp:VersionMismatch"),
        ("version first: 4", version(ttl(base(), 0)), "amp:VersionMismatch"),
        ("version first: 6", version(with_blocks(mu())), "amp:VersionMismatch"),
        ("version first: 7", version(weight(base())), "amp:VersionMismatch"),
    ];
    let at_receiver: Vec<(&str, Value, &str)> = vec![
        ("4 before 8", refused(ttl(base(), 0)), "amp:TTLExpired"),
        ("6 before 8", refused(with_blocks(mu())), MUST_UNDERSTAND),
        ("6 before the fields of 8", without(with_blocks(mu()), "Body/task"), MUST_UNDERSTAND),
        ("7 before 8", refused(weight(base())), "amp:InvalidMemoryGram"),
        ("8", refused(base()), "amp:Receiver"),
        ("fields of 8", without(base(), "Body/expectedOutput"), SENDER),
    ];
    let mut library = Library::start(config(&[]));
    for (name, message, code) in &rows {
        for kind in [RECEIVER, RELAY] {
            assert_eq!(library.outcome(message, kind).await, *code, "{name} at {kind}");
        }
    }
    for (name, message, code) in &at_receiver {
        assert_eq!(library.outcome(message, RECEIVER).await, *code, "{name}");
    }
    // 4.5: the body is no business of an intermediary.
    assert_eq!(library.outcome(&refused(base()), RELAY).await, "forwarded");
}

/// Section 4.7, step 6: nothing has been processed when a block is not understood.
#[tokio::test]
async fn no_block_is_processed_before_all_are_understood() {
    let mut failing = block(&known("fail"), Some(NEXT), Some(true), None);
    failing["content"] = json!({ "fail": true });
    let mut library = Library::start(config(&[]));
    for place in 0..3 {
        let mut blocks = vec![failing.clone(), block(&known("annotate"), Some(NEXT), Some(true), None)];
        blocks.insert(place, unknown(ASSUMED));
        blocks.push(unknown(NEXT));
        let text = with_blocks(blocks).to_string();
        for kind in [RECEIVER, RELAY] {
            let result = library.process(text.as_bytes(), kind).await;
            assert_eq!(result["faults"].as_array().map(Vec::len), Some(1));
            assert_eq!(result["faults"][0]["code"], MUST_UNDERSTAND);
            assert_eq!((&result["processed_blocks"], &result["body_processed"]), (&json!([]), &json!(false)));
            assert_eq!(result["memorygram_used"], false);
            let fault: Value = serde_json::from_str(&unhex(&result["faults"][0]["message_hex"])).expect("JSON");
            let envelope = &fault["Envelope"];
            assert_eq!(envelope["Body"]["fault"]["detail"]["blocks"], json!(["urn:x:unknown", "urn:x:unknown"]));
            assert_eq!(envelope["Header"]["traceId"], "pm-trace-1");
            assert_ne!(envelope["Header"]["messageId"], "pm-1");
            assert!(envelope["MemoryGram"].is_object());
        }
    }
}

/// Section 4.4: which blocks draw the fault at a receiver.
#[tokio::test]
async fn only_mandatory_blocks_for_the_node_must_be_understood() {
    let mut library = Library::start(config(&[]));
    for (role, receiver, relay) in [
        (NEXT, true, true),
        (ASSUMED, true, true),
        (ULTIMATE, true, false),
        (NONE, false, false),
        (OTHER, false, false),
        ("urn:x:any", false, false),
    ] {
        for (kind, faults) in [(RECEIVER, receiver), (RELAY, relay)] {
            for at in [0, 3, 9] {
                let mut blocks = vec![block(&known("noop"), Some(NEXT), Some(true), None); 9];
                blocks.insert(at, unknown(role));
                let outcome = library.outcome(&with_blocks(blocks), kind).await;
                assert_eq!(outcome == MUST_UNDERSTAND, faults, "{role} at place {at} of {kind}: {outcome}");
            }
        }
    }
}

/// Sections 2.1, 4.7 step 4 and 4.8.2, with E18 to E21: the ttl that is sent, and the one that is forwarded.
#[tokio::test]
async fn ttl_is_lowered_by_one() {
    let expired = "amp:TTLExpired";
    let rows = [
        ("2", "1"),
        ("3", "2"),
        ("8", "7"),
        ("100", "99"),
        ("2147483647", "2147483646"),
        ("2147483648", "2147483647"),
        ("4294967296", "4294967295"),
        ("9007199254740991", "9007199254740990"),
        ("9007199254740993", "9007199254740992"),
        ("18446744073709551616", "18446744073709551615"),
        ("5.0", "4"),
        ("1e1", "9"),
        ("1", expired),
        ("0", expired),
        ("-1", expired),
        ("-2147483648", expired),
        ("1.5", SENDER),
        ("\"5\"", SENDER),
        ("null", SENDER),
        ("true", SENDER),
        ("[]", SENDER),
        ("{}", SENDER),
        ("1e400", SENDER),
    ];
    let mut library = Library::start(config(&[]));
    for (sent, expected) in rows {
        let text = base().to_string().replace("\"ttl\":8", &format!("\"ttl\":{sent}"));
        for kind in [RECEIVER, RELAY] {
            let result = library.process(text.as_bytes(), kind).await;
            if expected.starts_with("amp:") {
                assert_eq!(result["faults"][0]["code"], expected, "ttl {sent} at {kind}");
                assert_eq!((&result["forwarded_hex"], &result["body_processed"]), (&json!([]), &json!(false)));
                continue;
            }
            assert_eq!(result["faults"], json!([]), "ttl {sent} at {kind}");
            assert_eq!(result["ttl_after"].to_string().parse::<f64>(), expected.parse::<f64>());
            if kind == RELAY {
                let copy = unhex(&result["forwarded_hex"][0]);
                assert!(copy.contains(&format!("\"ttl\":{expected}")), "ttl {sent}: {copy}");
            }
        }
    }
}

/// Sections 2 to 2.2, with E08: each is a malformation at every node that must look at it.
#[tokio::test]
async fn malformed_messages_draw_sender_faults() {
    let mut rows: Vec<(String, String)> = Vec::new();
    let mut add = |name: &str, message: Value| rows.push((name.to_owned(), message.to_string()));
    add("no Envelope", json!({}));
    add("no Envelope around", base()["Envelope"].clone());
    for value in [json!(null), json!(true), json!(1), json!("x"), json!([])] {
        add("Envelope", json!({ "Envelope": value }));
    }
    for component in ["Header", "Body", "MemoryGram"] {
        add(component, without(base(), component));
        for value in [json!(null), json!([]), json!("x"), json!(7)] {
            add(component, with(base(), component, value));
        }
        let mut respelled = without(base(), component);
        respelled["Envelope"][component.to_lowercase()] = base()["Envelope"][component].clone();
        add(component, respelled);
    }
    let wrong = [json!(null), json!(42), json!(true), json!({}), json!(["x"])];
    for field in ["messageId", "traceId", "routingIntent", "roles", "ttl"] {
        add(field, without(base(), &format!("Header/{field}")));
        for value in
            wrong.iter().filter(|value| !(field == "roles" && value.is_array() || field == "ttl" && value.is_u64()))
        {
            add(field, with(base(), &format!("Header/{field}"), value.clone()));
        }
    }
    for value in [json!("BYOE"), json!(true), json!([]), json!(1)] {
        add("encryption", with(base(), "Header/encryption", value));
    }
    add("headers", with(base(), "Header/headers", json!({})));
    add("a block without type", with_blocks(vec![json!({ "role": NEXT })]));
    rows.extend(
        ["", "{", "[]", "null", "\"x\"", "1", "<a/>", "{} {}", "{\"a\":1,}", "{} // x", "[{}]"]
            .map(|text| (text.to_owned(), text.to_owned())),
    );
    let duplicate = base().to_string().replace("\"ttl\":8", "\"ttl\":8,\"ttl\":7");
    rows.push(("a member twice".to_owned(), duplicate));
    let mut library = Library::start(config(&[]));
    for (name, text) in &rows {
        for kind in [RECEIVER, RELAY] {
            let result = library.process(text.as_bytes(), kind).await;
            assert_eq!(result["faults"][0]["code"], SENDER, "{name} at {kind}: {text}");
            assert_eq!(result["forwarded_hex"], json!([]));
        }
    }
    let mut bytes = base().to_string().into_bytes();
    let at = bytes.windows(5).position(|window| window == b"nonce").expect("a nonce");
    bytes[at] = 0xff;
    assert_eq!(library.process(&bytes, RELAY).await["faults"][0]["code"], SENDER);
}

/// What a recipient takes: sections 1.6, 3, 4.3, 4.8.2.1 rules 6 and 11 to 14, Security, Extensibility.
#[tokio::test]
async fn what_is_legal_is_accepted() {
    let example = json!({"Envelope": {
        "Header": {"messageId": "AMP-001234", "traceId": "Q4-LAUNCH-871", "roles": ["planner", "vendor"],
                   "routingIntent": "delegate", "ttl": 5, "encryption": {"type": "BYOE"}},
        "Body": {"task": "Execute Q4 launch", "expectedOutput": ["timeline", "approval"], "context": {"urgency": "high"}},
        "MemoryGram": {"nodes": [{"id": "plan-123", "type": "plan", "metadata": {"decay": 0.1, "importance": 0.95}}],
                       "edges": [{"source": "plan-123", "target": "budget-req", "weight": 0.8, "context": "derived from"}],
                       "mode": "snapshot", "encoding": "json"}}});
    let rows = vec![
        ("the example of 1.5", example),
        ("version 1.0", with(base(), "Header/version", json!("1.0"))),
        ("an unknown intent", with(base(), "Header/routingIntent", json!("urn:x:flood"))),
        ("Header members", with(base(), "Header/audit", json!({ "a": null }))),
        ("Envelope members", with(base(), "Extra", json!([1]))),
        ("Body members", with(base(), "Body/more", json!(1))),
        ("no context", without(base(), "Body/context")),
        ("an empty MemoryGram", with(base(), "MemoryGram", json!({}))),
        ("edges without nodes", without(base(), "MemoryGram/nodes")),
        (
            "metadata",
            with(
                base(),
                "MemoryGram/nodes",
                json!([{ "id": "a", "metadata": { "importance": 5, "decay": "slow", "x": { "y": [] } }, "z": 1 }]),
            ),
        ),
        ("ids that differ in case", with(base(), "MemoryGram/nodes", json!([{ "id": "a" }, { "id": "A" }]))),
        (
            "weights",
            with(
                base(),
                "MemoryGram/edges",
                json!([{ "source": "a", "target": "b", "weight": 0 }, { "source": "a", "target": "b", "weight": 1.0, "metadata": {} }]),
            ),
        ),
        (
            "a sealed MemoryGram",
            with(with(base(), "Header/encryption", json!({ "type": "BYOE" })), "MemoryGram", json!("eyJhbGciOi")),
        ),
        ("a sealed field", with(base(), "Body/context/plan\u{1f510}", json!({ "encryptedFor": "legal" }))),
        ("no encryption", with(base(), "Header/encryption", json!(null))),
        ("version elsewhere", with(base(), "Body/context/version", json!("99.0"))),
        (
            "a block with members",
            with_blocks(vec![json!({ "type": known("noop"), "role": NEXT, "mustUnderstand": true, "x": 1 })]),
        ),
    ];
    let mut library = Library::start(config(&[]));
    for (name, message) in &rows {
        assert_eq!(library.outcome(message, RECEIVER).await, "delivered", "{name}");
        assert_eq!(library.outcome(message, RELAY).await, "forwarded", "{name}");
    }
    let escaped = base().to_string().replace("Envelope", "\\u0045nvelope").replace("ttl", "tt\\u006c");
    for text in [escaped, format!("\r\n\t {} \n", serde_json::to_string_pretty(&base()).expect("JSON"))] {
        assert_eq!(library.process(text.as_bytes(), RECEIVER).await["outcome"], "delivered");
    }
}

/// Section 3, for nodes that validate MemoryGrams (E11, E13, E58, E59); others ignore it (4.6).
#[tokio::test]
async fn invalid_memorygrams_draw_their_own_fault() {
    let edge = |name: &str, value: Value| {
        let mut edge = json!({ "source": "a", "target": "b" });
        edge[name] = value;
        json!({ "edges": [edge] })
    };
    let node = |name: &str, value: Value| {
        let mut node = json!({ "id": "a" });
        node[name] = value;
        json!({ "nodes": [node] })
    };
    let mut rows = vec![
        json!({ "nodes": {} }),
        json!({ "nodes": "x" }),
        json!({ "edges": 1 }),
        json!({ "mode": [] }),
        json!({ "encoding": 1 }),
        json!({ "nodes": [1] }),
        json!({ "edges": ["x"] }),
        json!({ "nodes": [{ "type": "plan" }] }),
        json!({ "nodes": [{ "id": "a" }, { "id": "a", "type": "plan" }] }),
        json!({ "edges": [{ "target": "b" }] }),
        json!({ "edges": [{ "source": "a" }] }),
    ];
    rows.extend([node("id", json!(7)), node("id", json!(null)), node("type", json!(3)), node("type", json!([]))]);
    rows.extend([node("metadata", json!("x")), node("metadata", json!([]))]);
    rows.extend([
        edge("source", json!(1)),
        edge("target", json!(2)),
        edge("context", json!(4)),
        edge("context", json!({})),
    ]);
    rows.extend(
        [json!("0.8"), json!(null), json!(true), json!(-0.01), json!(1.01), json!(2), json!(-1)]
            .map(|weight| edge("weight", weight)),
    );
    let mut library = Library::start(config(&[]));
    for graph in &rows {
        let message = with(base(), "MemoryGram", graph.clone());
        for kind in [RECEIVER, RELAY] {
            assert_eq!(library.outcome(&message, kind).await, "amp:InvalidMemoryGram", "{graph}");
        }
        let mut ignoring = crate::mesh_support::node(RECEIVER);
        ignoring["memorygram"] = json!("ignores");
        let params = json!({ "message_hex": hex(message.to_string().as_bytes()), "node": ignoring });
        let result = library.result("process", params).await;
        assert_eq!((&result["outcome"], &result["memorygram_used"]), (&json!("delivered"), &json!(false)), "{graph}");
    }
}

/// Section 4.8.2.1, rule 1: a copy differs from what came in ttl and traceId, and in nothing else, to the byte.
#[tokio::test]
async fn everything_else_is_preserved_to_the_byte() {
    let text = r#"{"before":1e400,"Envelope":{"Body":{"zz":[3,1,2],"task":"echo","expectedOutput":["b","a","b"],"context":{"":0,"a.b":{"a":{"b":1}},"A":1,"a":2,"/~":"\\\"","__proto__":{"constructor":null},"$ref":"x","plan🔐":{"encryptedFor":"legal","n":-0.0},"e":[1.50,1E+2,-0,12345678901234567890,0.12345678901234567890],"t":["",[],{},[null],true,false,"0",0,null],"s":"\u0000\u001f é é 😀"}},"Header":{"x":null,"version":"1.0","ttl":8,"roles":["v","p","v"],"traceId":"t","routingIntent":"delegate","messageId":"m \" ü 🚀","encryption":{"type":"BYOE","kms":"urn:k"},"headers":[{"type":"k","role":"urn:x","mustUnderstand":true,"relay":false,"content":[{}],"y":1.0}]},"MemoryGram":{"encoding":"json","more":{},"edges":[{"weight":0.125,"source":"a","target":"gone","x":[]},{"target":"gone","source":"a","weight":0.333}],"nodes":[{"metadata":{"processedBy":["p"],"decay":0.10},"id":"a","u":1}]},"beside":[{"z":1}]}}"#;
    let depth = format!("{}1{}", "[".repeat(64), "]".repeat(64));
    let text = text.replace("\"beside\"", &format!("\"deep\":{depth},\"beside\""));
    let mut library = Library::start(config(&[]));
    let copy = library.forwarded(text.as_bytes()).await;
    let expected = text.replace("\"ttl\":8", "\"ttl\":7").replace("\"traceId\":\"t\"", "\"traceId\":\"t;hop=tested\"");
    assert_eq!(copy, expected);
}

/// Binding 6, sections 4.8.1 and 4.8.3: what the modules do to the copy.
#[tokio::test]
async fn modules_change_what_they_say() {
    let mut library = Library::start(config(&[]));
    let module = |kind: &str, content: Value| {
        let mut block = block(&known(kind), Some(NEXT), Some(true), None);
        block["content"] = content;
        block
    };
    let message = with_blocks(vec![
        module("annotate", json!({})),
        module("augment", json!({})),
        module("augment", json!({})),
        module("redact", json!({ "member": "secret" })),
        module("fail", json!({ "fail": false })),
    ]);
    let message = with(message, "Body/context/secret", json!(1));
    let copy: Value = serde_json::from_str(&library.forwarded(message.to_string().as_bytes()).await).expect("JSON");
    let envelope = &copy["Envelope"];
    assert_eq!(envelope["Header"]["headers"], json!([]));
    assert_eq!(envelope["Body"]["context"], json!({ "proofmark": "nonce-1" }));
    let first = json!({ "importance": 0.5, "decay": 0.1, "processedBy": ["urn:x:node:tested"], "processingTimestamp": "2026-01-20T00:00:00.000Z" });
    assert_eq!(envelope["MemoryGram"]["nodes"][0]["metadata"], first);
    let nodes = envelope["MemoryGram"]["nodes"].as_array().expect("nodes");
    let ids: std::collections::BTreeSet<&str> = nodes.iter().filter_map(|node| node["id"].as_str()).collect();
    assert_eq!((nodes.len(), ids.len()), (4, 4), "{nodes:?}");
    let edges = envelope["MemoryGram"]["edges"].as_array().expect("edges");
    for added in nodes[2..].iter().chain(&edges[1..]) {
        assert_eq!(added["addedBy"], "urn:x:node:tested");
    }
    let mut failing = module("fail", json!({ "fail": true }));
    for blocks in [
        vec![failing.clone()],
        vec![module("fail", json!({})), failing.clone()],
        vec![failing.clone(), module("fail", json!({}))],
    ] {
        assert_eq!(library.outcome(&with_blocks(blocks), RELAY).await, "amp:Receiver");
    }
    failing["content"] = json!({});
    failing["fail"] = json!(true);
    assert_eq!(library.outcome(&with_blocks(vec![failing]), RELAY).await, "forwarded");
}

/// The functions of the adapter besides processing (binding.md, 9).
#[tokio::test]
async fn the_library_has_the_functions_of_the_binding() {
    let mut library = Library::start(config(&[("node-uri", "urn:x:a")]));
    let described = library.result("describe", json!({})).await;
    assert_eq!(
        (&described["node_uri"], &described["header_blocks_at"]),
        (&json!("urn:x:a"), &json!("/Envelope/Header/headers"))
    );
    assert_eq!(described["methods"].as_array().map(Vec::len), Some(14));
    let base_hex = hex(base().to_string().as_bytes());
    let parsed = library.result("parse", json!({ "message_hex": base_hex, "node": node(RELAY) })).await;
    assert_eq!((&parsed["ok"], &parsed["version"], &parsed["blocks"]), (&json!(true), &json!("1.0"), &json!([])));
    let blocks = with_blocks(vec![unknown(OTHER), unknown(NEXT), block(&known("noop"), Some(ASSUMED), None, None)]);
    let blocks_hex = hex(blocks.to_string().as_bytes());
    let target = library.result("target", json!({ "message_hex": blocks_hex, "node": node(RELAY) })).await;
    assert_eq!(target, json!({ "targeted": [1, 2], "mandatory": [1], "not_understood": [1] }));
    let other = json!({ "type": "urn:x:back" });
    let forward = json!({ "message_hex": blocks_hex, "node": node(RELAY), "processed": [2],
        "reinserted": [{ "index": 1, "block_hex": hex(other.to_string().as_bytes()) }] });
    let copy: Value =
        serde_json::from_str(&unhex(&library.result("forward", forward).await["message_hex"])).expect("JSON");
    assert_eq!(copy["Envelope"]["Header"]["headers"], json!([unknown(OTHER), other]));
    assert_eq!(copy["Envelope"]["Header"]["ttl"], 7);
    let built = library.result("build", json!({ "body": { "task": "echo" }, "blocks": [unknown(NEXT)] })).await;
    let built: Value = serde_json::from_str(&unhex(&built["message_hex"])).expect("JSON");
    assert_eq!(library.outcome(&built, RECEIVER).await, MUST_UNDERSTAND);
    let fault = json!({ "code": "urn:x:busy", "reason": "later", "inbound_hex": base_hex, "node": node(RELAY) });
    let fault = library.result("fault", fault).await["message_hex"].clone();
    let read = library.result("read_fault", json!({ "message_hex": fault })).await;
    assert_eq!(read, json!({ "is_fault": true, "code": "urn:x:busy" }));
    let read = library.result("read_fault", json!({ "message_hex": base_hex })).await;
    assert_eq!(read, json!({ "is_fault": false, "code": null }));
    let path = json!({ "nodes": [{ "id": "a" }, { "id": "b" }, { "id": "c" }, { "id": "d" }],
        "edges": [{ "source": "a", "target": "b" }, { "source": "b", "target": "c" }, { "source": "c", "target": "d" }] });
    let path_hex = hex(path.to_string().as_bytes());
    let valid = library.result("memorygram_check", json!({ "memorygram_hex": path_hex })).await;
    assert_eq!(valid, json!({ "valid": true, "code": null }));
    let filtered = library.result("memorygram_filter", json!({ "memorygram_hex": path_hex, "drop": ["d"] })).await;
    let filtered: Value = serde_json::from_str(&unhex(&filtered["memorygram_hex"])).expect("JSON");
    assert_eq!(
        (filtered["nodes"].as_array().map(Vec::len), filtered["edges"].as_array().map(Vec::len)),
        (Some(3), Some(2))
    );
    let augment = json!({ "memorygram_hex": path_hex, "node_uri": "urn:x:n", "nodes": [{ "id": "a" }], "edges": [] });
    let augmented = library.result("memorygram_augment", augment).await;
    let augmented: Value = serde_json::from_str(&unhex(&augmented["memorygram_hex"])).expect("JSON");
    assert_eq!(augmented["nodes"][4]["addedBy"], "urn:x:n");
    assert_ne!(augmented["nodes"][4]["id"], "a");
    assert_eq!(library.call("send", json!({})).await["error"]["code"], -32601);
    assert_eq!(library.call("parse", json!({ "message_hex": "0" })).await["error"]["code"], -32602);
    let strange = json!({ "message_hex": base_hex, "node": { "kind": "gateway" } });
    assert_eq!(library.call("process", strange).await["error"]["code"], -32001);
}

/// Security: the marker, the addressee, and no clear text.
#[tokio::test]
async fn encryption_leaves_no_clear_text() {
    let mut library = Library::start(config(&[]));
    let message = with(base(), "Body/context/draftPlan", json!({ "text": "attack at dawn" }));
    let params = json!({ "message_hex": hex(message.to_string().as_bytes()), "pointer": "/Envelope/Body/context/draftPlan", "encrypted_for": "legal" });
    let text = unhex(&library.result("encrypt_field", params).await["message_hex"]);
    let sealed: Value = serde_json::from_str(&text).expect("JSON");
    let context = &sealed["Envelope"]["Body"]["context"];
    assert_eq!(context["draftPlan\u{1f510}"]["encryptedFor"], "legal");
    assert!(context.get("draftPlan").is_none() && !text.contains("attack at dawn"));
    let params = json!({ "message_hex": hex(base().to_string().as_bytes()), "encrypted_for": "legal" });
    let text = unhex(&library.result("encrypt_section", params).await["message_hex"]);
    let sealed: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(sealed["Envelope"]["MemoryGram"]["encryptedFor"], "legal");
    assert!(
        sealed["Envelope"]["Header"]["encryption"].is_object()
            && !text.contains("importance")
            && !text.contains("\"n1\"")
    );
    assert_eq!(library.outcome(&sealed, RECEIVER).await, "delivered");
    assert_eq!(library.outcome(&sealed, RELAY).await, "forwarded");
}

/// The readings that errata.md tolerates, each in the place that names it.
#[tokio::test]
async fn the_other_variant_takes_the_other_readings() {
    let mut library = Library::start(Config { variant: Variant::Other, ..config(&[]) });
    let ttl = |ttl: i64| with(base(), "Header/ttl", json!(ttl));
    let optional = block("urn:x:o", Some(OTHER), Some(false), Some(false));
    for (erratum, message, kind, expected) in [
        ("E08", json!({}), RECEIVER, "amp:VersionMismatch"),
        ("E11", with(base(), "MemoryGram/nodes", json!({})), RECEIVER, SENDER),
        ("E12", with(with_blocks(vec![unknown(NEXT)]), "MemoryGram/nodes", json!({})), RELAY, SENDER),
        ("E19", ttl(1), RECEIVER, "delivered"),
        ("E19", ttl(1), RELAY, "amp:TTLExpired"),
        ("E20", ttl(0), RELAY, SENDER),
        ("E26", without(with_blocks(vec![unknown(NEXT)]), "Body/task"), RECEIVER, SENDER),
        ("E42", with(base(), "Header/routingIntent", json!("flood")), RELAY, SENDER),
        ("E53", with(base(), "Extra", json!(1)), RELAY, SENDER),
        ("E76", with(base(), "Header/encryption", json!({ "type": "BYOE" })), RECEIVER, "amp:Receiver"),
        ("E84", with(base(), "MemoryGram", json!(null)), RELAY, "amp:InvalidMemoryGram"),
        ("none", base(), RECEIVER, "delivered"),
        ("none", with_blocks(vec![unknown(NEXT)]), RELAY, MUST_UNDERSTAND),
    ] {
        assert_eq!(library.outcome(&message, kind).await, expected, "{erratum}: {message}");
    }
    let message = with_blocks(vec![unknown(OTHER), optional]);
    let copy: Value = serde_json::from_str(&library.forwarded(message.to_string().as_bytes()).await).expect("JSON");
    let header = &copy["Envelope"]["Header"];
    assert_ne!(header["traceId"], "pm-trace-1");
    assert_eq!(header["traceHistory"], "pm-trace-1");
    let expected = json!([{ "type": "urn:x:o", "role": OTHER, "content": {}, "relayedBy": "urn:x:node:tested" },
                          { "type": "urn:x:unknown", "role": OTHER, "mustUnderstand": true, "content": {}, "relayedBy": "urn:x:node:tested" }]);
    assert_eq!(header["headers"], expected);
}
