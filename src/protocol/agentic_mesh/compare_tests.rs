use super::*;
use crate::exchange::TargetClass;
use crate::protocol::agentic_mesh::block::Vocabulary;
use crate::target::Target;
use crate::wire::json;

const SENT: &str = r#"{"Envelope":{"Header":{"messageId":"m","traceId":"t-1","roles":["a","b","a"],
    "routingIntent":"direct","ttl":8,"x":[1,null],"headers":[
      {"type":"urn:u:1","role":"urn:agentic:mesh:role:next","relay":true,"content":{"mark":"one"}},
      {"type":"urn:u:2","role":"urn:agentic:mesh:role:next","content":{"mark":"two"}},
      {"type":"urn:u:3","role":"urn:agentic:mesh:role:none","mustUnderstand":true,"content":{"mark":"three"}}]},
    "Body":{"task":"echo","expectedOutput":["echo"],"context":{"big":9007199254740993,"list":[1,2]}},
    "MemoryGram":{"nodes":[{"id":"n1","type":"plan","metadata":{"importance":0.5}}],
      "edges":[{"source":"n1","target":"n2","weight":0.125}],"mode":"snapshot","encoding":"json"}}}"#;

/// What a correct relay sends for it.
const COPY: &str = r#"{"Envelope":{"Header":{"messageId":"m","traceId":"t-1;hop=x","roles":["a","b","a"],
    "routingIntent":"direct","ttl":7,"x":[1,null],"headers":[
      {"type":"urn:u:1","role":"urn:agentic:mesh:role:next","relay":true,"content":{"mark":"one"}},
      {"type":"urn:u:3","role":"urn:agentic:mesh:role:none","mustUnderstand":true,"content":{"mark":"three"}}]},
    "Body":{"task":"echo","expectedOutput":["echo"],"context":{"big":9007199254740993,"list":[1,2]}},
    "MemoryGram":{"nodes":[{"id":"n1","type":"plan","metadata":{"importance":0.5}}],
      "edges":[{"source":"n1","target":"n2","weight":0.125}],"mode":"snapshot","encoding":"json"}}}"#;

fn rows(from: &str, to: &str) -> Vec<&'static str> {
    assert!(from.is_empty() || COPY.contains(from), "{from}");
    rows_between(SENT, &COPY.replacen(from, to, 1))
}

fn rows_between(sent: &str, copy: &str) -> Vec<&'static str> {
    let rules = Rules {
        vocabulary: Vocabulary::of(&Target::new(TargetClass::Endpoint, "t")),
        blocks_at: Path::parse("/Envelope/Header/headers").ok(),
        marks: Vec::new(),
        node_uri: "urn:node:x".to_owned(),
        hops: 1,
    };
    let sent = json::parse(sent.as_bytes()).unwrap();
    let found = compare(&sent, &json::parse(copy.as_bytes()).unwrap(), &rules);
    found.into_iter().map(|difference| difference.row).collect()
}

#[test]
fn a_correct_copy_has_no_difference() {
    assert_eq!(rows("", ""), [""; 0]);
}

#[test]
fn permitted_changes_are_no_differences() {
    for (from, to) in [
        (r#""routingIntent""#, r#""hop":{"by":"x"},"routingIntent""#),
        (r#""routingIntent""#, r#""encryption":null,"routingIntent""#),
        (r#""metadata":{"importance":0.5}"#, r#""metadata":{"importance":0.50,"processedBy":["x"]}"#),
        (r#""weight":0.125}"#, r#""weight":0.125},{"source":"a","target":"b","weight":0,"addedBy":"x"}"#),
        (r#""content":{"mark":"three"}}"#, r#""content":{"mark":"three"},"seen":1},{"type":"urn:audit"}"#),
    ] {
        assert_eq!(rows(from, to), [""; 0], "{to}");
    }
}

#[test]
fn each_difference_has_its_row() {
    for (from, to, expected) in [
        (r#""ttl":7"#, r#""ttl":8"#, &["ttl"][..]),
        (r#""ttl":7"#, r#""ttl":7.0"#, &["ttl-spelling"]),
        (r#""messageId":"m""#, r#""messageId":"n""#, &["message-id"]),
        ("t-1;hop=x", "t-1", &["trace-changed"]),
        ("t-1;hop=x", "other", &["trace-extended", "trace-found"]),
        (r#"["a","b","a"]"#, r#"["a","a","b"]"#, &["array-order", "directives"]),
        (r#""routingIntent""#, r#""encryption":{},"routingIntent""#, &["directives"]),
        (r#""x":[1,null]"#, r#""x":[1]"#, &["header"]),
        (r#""list":[1,2]"#, r#""list":[2,1]"#, &["array-order", "body"]),
        ("9007199254740993", "9007199254740992", &["numbers"]),
        (r#""task":"echo""#, r#""task":"echo","y":1"#, &["body-additions"]),
        (r#""Body":{"#, r#""hops":[],"Body":{"#, &["additions"]),
        (r#""weight":0.125"#, r#""weight":0.1"#, &["graph-identity"]),
        (r#"{"importance":0.5}"#, r#"{"importance":0.4}"#, &["metadata"]),
        (r#""mustUnderstand":true"#, r#""mustUnderstand":false"#, &["block-members", "block-flags"]),
        (r#"{"id":"n1","type":"plan","metadata":{"importance":0.5}}"#, "", &["graph-removals"]),
        (r#""weight":0.125}"#, r#""weight":0.125},{"source":"a","target":"b"}"#, &["graph-additions"]),
    ] {
        assert_eq!(rows(from, to), expected, "{to}");
    }
}

#[test]
fn nodes_without_an_id_may_stay_as_they_are() {
    const NODE: &str = r#"{"id":"n1","type":"plan","metadata":{"importance":0.5}}"#;
    let found = |sent: &str, copy: &str| rows_between(&SENT.replacen(NODE, sent, 1), &COPY.replacen(NODE, copy, 1));
    let sent = r#"{"type":"plan","metadata":{}},{"id":7,"type":"issue","metadata":{}},"text""#;
    assert_eq!(found(sent, sent), [""; 0]);
    assert_eq!(found(sent, &sent.replace("{}", r#"{"processedBy":["x"]}"#)), [""; 0]);
    assert_eq!(found(sent, &sent.replace(":7", ":8")), ["graph-identity"]);
    assert_eq!(found(sent, &sent.replace(r#","text""#, "")), ["graph-removals"]);
}

#[test]
fn blocks_that_must_go_or_stay_are_found() {
    let one = r#"{"type":"urn:u:1","role":"urn:agentic:mesh:role:next","relay":true,"content":{"mark":"one"}},"#;
    assert_eq!(rows(one, ""), ["blocks-kept"]);
    let two = r#"{"type":"urn:u:2","role":"urn:agentic:mesh:role:next","content":{"mark":"two"}},"#;
    assert_eq!(rows(one, &format!("{one}{two}")), ["blocks-removed"]);
    assert_eq!(rows(one, &format!("{one}{one}")), ["blocks-kept"]);
}
