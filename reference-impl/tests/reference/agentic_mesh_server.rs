//! The server of the Agentic Mesh Protocol over real sockets: answers, forwarding, chains, and the control interface.

use crate::mesh_support::*;
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};

/// The only message that has arrived at the next hop.
fn only(hop: &Hop) -> Value {
    let mut arrived = hop.take();
    assert_eq!(arrived.len(), 1, "{arrived:?}");
    serde_json::from_str(&arrived.remove(0)).expect("JSON")
}

#[tokio::test]
async fn a_receiver_replies_and_logs_and_a_relay_forwards() {
    let hop = Hop::start(202, "").await;
    let server = serve(&hop, &[], None).await;
    let (status, reply) = post(&server, "/amp", &base()).await;
    let reply: Value = serde_json::from_str(&reply).expect("JSON");
    assert_eq!((status, &reply["Envelope"]["Body"]["context"]["echo"]), (200, &json!({ "proofmark": "nonce-1" })));
    assert_eq!(reply["Envelope"]["Header"]["traceId"], "pm-trace-1");
    let named = with(base(), "Body/task", json!("another"));
    assert_eq!(post(&server, "/amp", &named).await, (202, String::new()));
    assert_eq!(post(&server, "/amp/relay", &base()).await, (202, String::new()));
    let copy = only(&hop);
    let expected = with(with(base(), "Header/ttl", json!(7)), "Header/traceId", json!("pm-trace-1;hop=target"));
    assert_eq!(copy, expected);
    let (_, deliveries) = exchange(&server, "GET", "/control/deliveries", "", b"").await;
    let deliveries: Value = serde_json::from_str(&deliveries).expect("JSON");
    let row = |task: &str| json!({ "nonce": "nonce-1", "messageId": "pm-1", "traceId": "pm-trace-1", "task": task, "time": "2026-01-20T00:00:00.000Z" });
    assert_eq!(deliveries, json!([row("echo"), row("another")]));
    assert_eq!(exchange(&server, "DELETE", "/control/deliveries", "", b"").await.0, 204);
    assert_eq!(exchange(&server, "GET", "/control/deliveries", "", b"").await.1, "[]");
    assert_eq!(exchange(&server, "GET", "/control/health", "", b"").await.0, 200);
    assert_eq!(exchange(&server, "GET", "/amp", "", b"").await.0, 405);
    assert_eq!(exchange(&server, "POST", "/amp/chain/4", "", b"{}").await.0, 404);
    assert_eq!(exchange(&server, "POST", "/elsewhere", "", b"{}").await.0, 404);
}

#[tokio::test]
async fn faults_are_answered_with_their_status_and_nothing_is_forwarded() {
    let hop = Hop::start(202, "").await;
    let server = serve(&hop, &[], None).await;
    let mut failing = block(&known("fail"), Some(NEXT), Some(true), None);
    failing["content"] = json!({ "fail": true });
    for (message, status, expected) in [
        (json!({}), 400, "amp:Sender"),
        (without(base(), "Header/traceId"), 400, "amp:Sender"),
        (with(base(), "Header/ttl", json!(1)), 400, "amp:TTLExpired"),
        (with(base(), "MemoryGram/nodes", json!("x")), 400, "amp:InvalidMemoryGram"),
        (with(base(), "Header/version", json!("99.0")), 500, "amp:VersionMismatch"),
        (with_blocks(vec![unknown(NEXT)]), 500, "amp:MustUnderstand"),
        (with_blocks(vec![failing]), 500, "amp:Receiver"),
    ] {
        for path in ["/amp", "/amp/relay", "/amp/chain/1"] {
            let (found, body) = post(&server, path, &message).await;
            assert_eq!((found, code(&body).as_str()), (status, expected), "{path}: {message}");
        }
    }
    let large = with(base(), "Body/context/x", json!("x".repeat(5 * 1024 * 1024)));
    assert_eq!(code(&post(&server, "/amp/relay", &large).await.1), "amp:Sender");
    assert!(hop.take().is_empty());
    let (_, faults) = exchange(&server, "GET", "/control/faults", "", b"").await;
    let faults: Value = serde_json::from_str(&faults).expect("JSON");
    assert_eq!(faults.as_array().map(Vec::len), Some(22));
    assert_eq!(faults[2]["hop"], "urn:proofmark:mesh:node:hop-1");
}

/// Binding.md, 8, with three hops; each row is a message to the first one and what the next hop of the third one gets.
#[tokio::test]
async fn a_chain_of_three_does_what_each_hop_does() {
    let hop = Hop::start(202, "").await;
    let server = serve(&hop, &[], None).await;
    let ttl = |ttl: i64| with(base(), "Header/ttl", json!(ttl));
    let role = |number: u8| format!("urn:proofmark:mesh:role:hop-{number}");
    for (sent, arrived) in [(8, 5), (4, 1)] {
        assert_eq!(post(&server, "/amp/chain/1", &ttl(sent)).await.0, 202);
        let header = only(&hop)["Envelope"]["Header"].clone();
        assert_eq!((&header["ttl"], &header["messageId"]), (&json!(arrived), &json!("pm-1")));
        assert_eq!(header["traceId"], "pm-trace-1;hop=hop-1;hop=hop-2;hop=hop-3");
    }
    for (message, expected, hop_number) in [
        (ttl(3), "amp:TTLExpired", 3),
        (ttl(2), "amp:TTLExpired", 2),
        (ttl(1), "amp:TTLExpired", 1),
        (with_blocks(vec![unknown(&role(2))]), "amp:MustUnderstand", 2),
        (with_blocks(vec![unknown(&role(3))]), "amp:MustUnderstand", 3),
    ] {
        let (_, body) = post(&server, "/amp/chain/1", &message).await;
        assert_eq!(code(&body), expected);
        let fault: Value = serde_json::from_str(&body).expect("JSON");
        let uri = format!("urn:proofmark:mesh:node:hop-{hop_number}");
        assert_eq!(fault["Envelope"]["Body"]["fault"]["node"], uri.as_str(), "{message}");
        assert!(hop.take().is_empty());
    }
    let yes = Some(true);
    for (sent, kept) in [
        (block(&known("noop"), Some(NEXT), yes, None), false),
        (block(&known("reinsert"), Some(NEXT), yes, None), true),
        (block(&known("noop"), Some(&role(2)), yes, None), false),
        (block("urn:x:k", Some(NEXT), None, yes), true),
        (block("urn:x:k", Some(NEXT), None, Some(false)), false),
        (block("urn:x:k", Some(NONE), yes, None), true),
        (block("urn:x:k", Some(ULTIMATE), yes, None), true),
        (block("urn:x:k", Some(OTHER), yes, None), true),
    ] {
        assert_eq!(post(&server, "/amp/chain/1", &with_blocks(vec![sent.clone()])).await.0, 202, "{sent}");
        let blocks = only(&hop)["Envelope"]["Header"]["headers"].clone();
        assert_eq!(blocks, if kept { json!([sent]) } else { json!([]) });
    }
    let annotate = block(&known("annotate"), Some(ASSUMED), yes, None);
    post(&server, "/amp/chain/1", &with_blocks(vec![annotate])).await;
    let history = only(&hop)["Envelope"]["MemoryGram"]["nodes"][0]["metadata"]["processedBy"].clone();
    assert_eq!(history, json!([1, 2, 3].map(|number| format!("urn:proofmark:mesh:node:hop-{number}"))));
}

/// What the next hop answers goes back: its fault unchanged, its reply, and a failure of its own as a fault of this node.
#[tokio::test]
async fn the_answer_of_the_next_hop_goes_back() {
    const FAULT: &str =
        r#"{"Envelope":{"Header":{},"Body":{"fault":{"code":{"value":"amp:Sender"}}},"MemoryGram":{}}}"#;
    const REPLY: &str = r#"{"Envelope":{"Header":{"messageId":"r"},"Body":{"task":"t"},"MemoryGram":{}}}"#;
    for (status, answer, expected) in [
        (400, FAULT, (400, FAULT)),
        (200, FAULT, (500, FAULT)),
        (200, REPLY, (200, REPLY)),
        (200, "", (202, "")),
        (204, "", (202, "")),
    ] {
        let hop = Hop::start(status, answer).await;
        let server = serve(&hop, &[], None).await;
        let (found, body) = post(&server, "/amp/relay", &base()).await;
        assert_eq!((found, body.as_str()), expected, "{status} {answer}");
    }
    let hop = Hop::start(503, "busy").await;
    let server = serve(&hop, &[], None).await;
    assert_eq!(code(&post(&server, "/amp/relay", &base()).await.1), "amp:Receiver");
    let alone = mesh().serve(config(&[("next-hop", "http://127.0.0.1:1/closed")])).await.expect("the server starts");
    assert_eq!(code(&post(&alone, "/amp/relay", &base()).await.1), "amp:Receiver");
    assert_eq!(post(&alone, "/amp", &base()).await.0, 200);
    assert_eq!(exchange(&alone, "GET", "/control/health", "", b"").await.0, 404, "control is off unless asked for");
}

#[tokio::test]
async fn broadcast_goes_to_each_next_hop_and_other_intents_to_the_first() {
    let (first, second) = (Hop::start(202, "").await, Hop::start(202, "").await);
    let server = serve(&first, &[("next-hop", &second.url)], None).await;
    post(&server, "/amp/relay", &base()).await;
    assert_eq!((first.take().len(), second.take().len()), (1, 0));
    post(&server, "/amp/relay", &with(base(), "Header/routingIntent", json!("broadcast"))).await;
    let (one, other) = (first.take(), second.take());
    assert_eq!((one.len(), &one), (1, &other));
}

#[tokio::test]
async fn a_node_is_set_up_by_settings_control_and_header() {
    let (hop, elsewhere) = (Hop::start(202, "").await, Hop::start(202, "").await);
    let server = serve(&hop, &[("next-hop-header", "on")], None).await;
    let header = format!("AMP-Next-Hop: {}\r\n", elsewhere.url);
    let text = base().to_string();
    assert_eq!(exchange(&server, "POST", "/amp/relay", &header, text.as_bytes()).await.0, 202);
    assert_eq!((hop.take().len(), elsewhere.take().len()), (0, 1));
    let far = "AMP-Next-Hop: http://192.0.2.1/x\r\n";
    exchange(&server, "POST", "/amp/relay", far, text.as_bytes()).await;
    assert_eq!(hop.take().len(), 1, "a next hop elsewhere is not taken from a request");
    let node = json!({ "kind": "intermediary", "roles": ["urn:x:new"], "next_hop": elsewhere.url, "memorygram": "ignores",
        "understands": [{ "type": "urn:x:mine", "behaviour": "reinsert" }] });
    assert_eq!(exchange(&server, "PUT", "/control/node", "", node.to_string().as_bytes()).await.0, 200);
    let mine = block("urn:x:mine", Some("urn:x:new"), Some(true), None);
    let odd = with(with_blocks(vec![mine.clone()]), "MemoryGram/nodes", json!("x"));
    assert_eq!(post(&server, "/amp/relay", &odd).await.0, 202);
    assert_eq!(only(&elsewhere)["Envelope"]["Header"]["headers"], json!([mine]));
    assert_eq!(code(&post(&server, "/amp", &odd).await.1), "amp:InvalidMemoryGram", "the receiver is another node");
    assert_eq!(exchange(&server, "DELETE", "/control/node", "", b"").await.0, 204);
    post(&server, "/amp/relay", &base()).await;
    assert_eq!(hop.take().len(), 1);
    for bad in
        ["[]", "{", r#"{"kind":"gateway"}"#, r#"{"roles":1}"#, r#"{"understands":[{"type":"t","behaviour":"x"}]}"#]
    {
        assert_eq!(exchange(&server, "PUT", "/control/node", "", bad.as_bytes()).await.0, 400, "{bad}");
    }
    for (name, value) in [("node-uri", "word"), ("role", "next"), ("header-blocks-at", "headers"), ("blocks", "[1]")] {
        assert!(mesh().serve(config(&[(name, value)])).await.is_err(), "{name}={value}");
    }
    let open = Config { listen: "0.0.0.0:0".parse().expect("an address"), ..config(&[("control", "on")]) };
    assert!(mesh().serve(open).await.is_err(), "control is for loopback addresses");
    let relay = mesh().serve(config(&[("kind", "intermediary"), ("chain", "0")])).await.expect("the server starts");
    assert_eq!(post(&relay, "/amp", &base()).await.0, 404);
}

/// The configuration of a node and the logs survive a restart (binding.md, 11); the same file without them is none the worse.
#[tokio::test]
async fn the_store_keeps_the_configuration_and_the_logs() {
    let folder = tempfile::tempdir().expect("a folder");
    let config = || Config {
        database: proofmark_reference::Database::File(folder.path().join("mesh.db")),
        ..config(&[("control", "on")])
    };
    let server = mesh().serve(config()).await.expect("the server starts");
    let node = json!({ "kind": "ultimateReceiver", "tasks": { "echo": "refuse" } }).to_string();
    post(&server, "/amp", &base()).await;
    assert_eq!(exchange(&server, "PUT", "/control/node", "", node.as_bytes()).await.0, 200);
    server.stop().await;
    let server = mesh().serve(config()).await.expect("the server starts again");
    assert_eq!(code(&post(&server, "/amp", &base()).await.1), "amp:Receiver");
    let (_, deliveries) = exchange(&server, "GET", "/control/deliveries", "", b"").await;
    assert_eq!(serde_json::from_str::<Value>(&deliveries).expect("JSON").as_array().map(Vec::len), Some(1));
    server.stop().await;
}

#[tokio::test]
async fn time_does_not_consume_ttl() {
    let hop = Hop::start(202, "").await;
    let server = serve(&hop, &[], None).await;
    let text = with(base(), "Header/ttl", json!(2)).to_string();
    assert_eq!(held(&server, "POST", "/amp/relay", "", text.as_bytes(), 2200).await.0, 202);
    assert_eq!(only(&hop)["Envelope"]["Header"]["ttl"], 1);
}

#[tokio::test]
async fn the_other_variant_answers_before_it_forwards_and_drops_repeats() {
    let hop = Hop::start(400, "no").await;
    let config = Config { variant: Variant::Other, ..config(&[("next-hop", &hop.url)]) };
    let server = mesh().serve(config).await.expect("the server starts");
    assert_eq!(post(&server, "/amp", &base()).await, (202, String::new()));
    assert_eq!(post(&server, "/amp/relay", &base()).await, (202, String::new()));
    assert_eq!(post(&server, "/amp/relay", &base()).await, (202, String::new()));
    tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    assert_eq!(hop.take().len(), 1);
    let (status, body) = post(&server, "/amp", &json!({})).await;
    let fault: Value = serde_json::from_str(&body).expect("JSON");
    assert_eq!((status, &fault["fault"]["code"]), (500, &json!("amp:VersionMismatch")));
    let (status, body) = exchange(&server, "POST", "/amp", "", b"{\"a\":\"\xff\"}").await;
    assert_eq!((status, body.as_str()), (400, ""));
}
