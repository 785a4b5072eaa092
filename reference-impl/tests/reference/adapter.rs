//! The library adapter over a pipe inside this process.

use crate::support::{agentic, config, full, minimal};
use proofmark_reference::Config;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

struct Library {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
}

impl Library {
    fn start(config: Config) -> Self {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        let (reader, writer) = tokio::io::split(theirs);
        tokio::spawn(agentic().serve_adapter(config, Box::new(reader), Box::new(writer)));
        let (reader, writer) = tokio::io::split(ours);
        Self { reader: BufReader::new(reader), writer }
    }

    async fn line(&mut self, line: &str) -> Value {
        self.writer.write_all(format!("{line}\n").as_bytes()).await.expect("written");
        let mut answer = String::new();
        self.reader.read_line(&mut answer).await.expect("read");
        serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer:?}"))
    }

    async fn call(&mut self, method: &str, params: Value) -> Value {
        let request = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let answer = self.line(&request.to_string()).await;
        assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &json!(7)));
        answer
    }

    async fn result(&mut self, method: &str, params: Value) -> Value {
        let answer = self.call(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    async fn error(&mut self, method: &str, params: Value) -> i64 {
        let answer = self.call(method, params).await;
        answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{method}: {answer}"))
    }
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

fn text(hex: &Value) -> String {
    let digits = hex.as_str().unwrap_or_else(|| panic!("not a string: {hex}"));
    let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    String::from_utf8((0..digits.len()).step_by(2).map(byte).collect()).expect("UTF-8")
}

fn value(hex: &Value) -> Value {
    serde_json::from_str(&text(hex)).expect("JSON")
}

#[tokio::test]
async fn it_describes_itself() {
    let mut library = Library::start(config());
    let described = library.result("describe", json!({})).await;
    assert_eq!(described["protocols"], json!(["agentic"]));
    let operations = described["operations"].as_array().expect("a list").clone();
    assert!(
        operations.contains(&json!("agentic/canonicalize")) && operations.contains(&json!("agentic/awaiting_review"))
    );
    assert_eq!(library.result("agentic/hello", json!({})).await["methods"], described["operations"]);
    let mut low = Library::start(Config { level: Some("L1".into()), ..config() });
    let hello = low.result("agentic/hello", json!({})).await;
    assert_eq!(hello["level"], "L1");
    assert!(!hello["methods"].as_array().expect("a list").contains(&json!("agentic/assert_fact")));
    let store = low.result("agentic/open", json!({})).await["store"].clone();
    assert_eq!(low.error("agentic/assert_fact", json!({ "store": store, "json_hex": hex("{}") })).await, -32006);
}

#[tokio::test]
async fn invalid_requests_get_errors_and_the_next_one_is_answered() {
    let mut library = Library::start(config());
    for (line, code) in [
        ("{", -32700),
        ("[]", -32600),
        ("{\"id\":1}", -32600),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nothing\",\"params\":{}}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agentic/nothing\",\"params\":{}}", -32601),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agentic/hello\",\"params\":[]}", -32602),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agentic/canonicalize\",\"params\":{}}", -32602),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agentic/orient\",\"params\":{\"store\":\"x\"}}", -32602),
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"agentic/canonicalize\",\"params\":{\"json_hex\":\"7\"}}", -32602),
    ] {
        assert_eq!(library.line(line).await["error"]["code"], code, "{line}");
    }
    library.writer.write_all(b"\n{\"jsonrpc\":\"2.0\",\"method\":\"agentic/hello\"}\n").await.expect("written");
    assert!(library.result("agentic/hello", json!({})).await["name"].is_string());
}

#[tokio::test]
async fn canonical_forms_hashes_and_refusals() {
    let mut library = Library::start(config());
    let form = library.result("agentic/canonicalize", json!({ "json_hex": hex("{ \"b\": 1.0, \"a\": null }") })).await;
    assert_eq!(text(&form["canonical_hex"]), "{\"b\":1}");
    for refused in [
        "7b2261223a31",
        "7b2261223a312c7d",
        "7b2761273a317d",
        "7b2261223a30317d",
        "7b2261223a2b317d",
        "7b2261223a2e357d",
        "7b2261223a4e614e7d",
        "7b2261223a2209227d",
        "7b2261223a225c783431227d",
        "7b2261223a317d7b2262223a327d",
        "",
        "7b2261223a22ff227d",
        "efbbbf7b2261223a317d",
        "7b2261223a312c2261223a327d",
        "7b2261223a312c225c7530303631223a327d",
        "7b2261223a225c7564383030227d",
        "7b2261223a31653430307d",
        "7b2261223a22eda080227d",
    ] {
        assert_eq!(library.error("agentic/canonicalize", json!({ "json_hex": refused })).await, -32009, "{refused}");
    }
    let package = full("proj", "pkg").to_string();
    let hash = library.result("agentic/content_hash", json!({ "json_hex": hex(&package) })).await["hash"].clone();
    for (claimed, expected) in [(hash.as_str().expect("a hash").to_owned(), true), ("0".repeat(64), false)] {
        let params = json!({ "json_hex": hex(&package), "hash": claimed });
        assert_eq!(library.result("agentic/verify", params).await["match"], expected);
    }
    let kept = library.result("agentic/roundtrip_package", json!({ "json_hex": hex(&package) })).await;
    assert_eq!(text(&kept["json_hex"]), package);
    let judged = library.result("agentic/validate_package", json!({ "json_hex": hex("{\"title\":\"\"}") })).await;
    assert_eq!((&judged["valid"], judged["errors"].as_array().map(Vec::len)), (&json!(false), Some(9)));
    assert_eq!(library.result("agentic/validate_package", json!({ "json_hex": hex(&package) })).await["valid"], true);
    assert_eq!(library.result("agentic/validate_fact", json!({ "json_hex": hex("[]") })).await["valid"], false);
}

#[tokio::test]
async fn stores_are_independent_and_have_a_clock() {
    let mut library = Library::start(config());
    let open = json!({ "now": "2026-01-03T00:00:00Z" });
    let first = library.result("agentic/open", open.clone()).await["store"].clone();
    let second = library.result("agentic/open", open).await["store"].clone();
    let package = minimal("proj", "pkg").to_string();
    let params = json!({ "store": first, "project_id": "proj", "json_hex": hex(&package) });
    let deposited = library.result("agentic/deposit", params.clone()).await;
    assert_eq!((text(&deposited["package_hex"]), &deposited["created"]), (package, &json!(true)));
    assert_eq!(library.result("agentic/deposit", params).await["created"], false);
    let pulled = library.result("agentic/pull_specific", json!({ "store": second, "package_id": "pkg" })).await;
    assert_eq!(pulled, json!({ "package_hex": null, "hash": null }));
    let bundle = library.result("agentic/orient", json!({ "store": first, "project_id": "proj" })).await;
    assert_eq!(value(&bundle["bundle_hex"])["generated_at"], "2026-01-03T00:00:00Z");
    library.result("agentic/set_now", json!({ "store": first, "now": "2026-03-01T00:00:00Z" })).await;
    let bundle = library.result("agentic/orient", json!({ "store": first, "project_id": "proj" })).await;
    assert_eq!(value(&bundle["bundle_hex"])["recent_packages"], json!([]));
    library.result("agentic/close", json!({ "store": first })).await;
    assert_eq!(library.error("agentic/pull_latest", json!({ "store": first, "project_id": "proj" })).await, -32602);
}

#[tokio::test]
async fn a_tampered_package_is_reported_and_quarantined() {
    let mut library = Library::start(config());
    let store = library.result("agentic/open", json!({ "now": "2026-01-03T00:00:00Z" })).await["store"].clone();
    for id in ["good", "bad"] {
        let params = json!({ "store": store, "project_id": "proj", "json_hex": hex(&minimal("proj", id).to_string()) });
        library.result("agentic/deposit", params).await;
    }
    let altered = minimal("proj", "bad").to_string().replace("Title", "Tampered title");
    library.result("agentic/tamper", json!({ "store": store, "package_id": "bad", "json_hex": hex(&altered) })).await;
    assert_eq!(library.error("agentic/pull_specific", json!({ "store": store, "package_id": "bad" })).await, -32008);
    let latest = library.result("agentic/pull_latest", json!({ "store": store, "project_id": "proj" })).await;
    assert_eq!(latest["packages"].as_array().map(Vec::len), Some(1));
    let project = json!({ "store": store, "project_id": "proj" });
    let bundle = library.result("agentic/orient", project.clone()).await;
    assert_eq!(value(&bundle["bundle_hex"])["recent_packages"].as_array().map(Vec::len), Some(1));
    assert!(!text(&library.result("agentic/export", project).await["ndjson_hex"]).contains("bad"));
    assert_eq!(
        library.error("agentic/tamper", json!({ "store": store, "package_id": "x", "json_hex": "" })).await,
        -32005
    );
}

#[tokio::test]
async fn facts_and_reviews_work_as_over_http() {
    let mut library = Library::start(config());
    let store = library.result("agentic/open", json!({})).await["store"].clone();
    let fact = json!({ "project_id": "proj", "subject": "s", "predicate": "p", "value": "v" }).to_string();
    let asserted = library.result("agentic/assert_fact", json!({ "store": store, "json_hex": hex(&fact) })).await;
    assert_eq!(value(&asserted["fact_hex"])["valid_to"], Value::Null);
    let valid = library.result("agentic/validate_fact", json!({ "json_hex": asserted["fact_hex"] })).await;
    assert_eq!(valid["valid"], true);
    let pair = json!({ "store": store, "project_id": "proj", "subject": "s", "predicate": "p" });
    assert_eq!(library.result("agentic/query_facts", pair.clone()).await["facts"].as_array().map(Vec::len), Some(1));
    assert_eq!(library.result("agentic/invalidate_fact", pair.clone()).await["count"], 1);
    assert_eq!(library.result("agentic/query_facts", pair).await["facts"], json!([]));

    let draft = minimal("proj", "pkg").to_string().replace("complete", "draft");
    library.result("agentic/deposit", json!({ "store": store, "project_id": "proj", "json_hex": hex(&draft) })).await;
    let flag = json!({ "store": store, "package_id": "pkg", "review_type": "human", "note": "n" });
    let flagged = library.result("agentic/flag_for_review", flag.clone()).await;
    assert_eq!(value(&flagged["package_hex"])["status"], "awaiting_review");
    assert_eq!(library.error("agentic/flag_for_review", flag).await, -32007);
    let waiting = library.result("agentic/awaiting_review", json!({ "store": store, "project_id": "proj" })).await;
    assert_eq!(waiting["packages"], json!([flagged["package_hex"]]));
    let done = library
        .result("agentic/transition", json!({ "store": store, "package_id": "pkg", "status": "complete" }))
        .await;
    assert_eq!(value(&done["package_hex"])["status"], "complete");
    let allowed = library.result("agentic/transition_allowed", json!({ "from": "complete", "to": "draft" })).await;
    assert_eq!(allowed["allowed"], false);
    let archived = library.result("agentic/archive_project", json!({ "store": store, "project_id": "proj" })).await;
    assert!(archived["archived_at"].is_string());
    let restored = library.result("agentic/restore_project", json!({ "store": store, "project_id": "proj" })).await;
    assert_eq!(restored["archived_at"], Value::Null);
}
