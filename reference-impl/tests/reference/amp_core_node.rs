//! Nodes behind the adapter, with the clock of the caller; and the other readings of a server.

use crate::amp_support::*;
use crate::support::library::{Library, library_config};
use ciborium::Value;
use proofmark_reference::{Config, Variant};
use serde_json::json;

const NOW: u64 = 1_760_000_001_000;
const BOB: &str = "ce2e8ea1d4135d748bff94d5824a7d6befb1ba537a5d882d5956ad3f53bdb992";

#[tokio::test]
async fn a_node_caches_retries_and_expires() {
    let (alice, bob) = (Party::named("alice"), Party::named("bob"));
    let mut library = Library::start(library_config());
    let open =
        json!({"self": {"did": bob.did, "ed25519_seed": BOB}, "documents": [], "trusted_relays": [], "now": NOW});
    let node = library.call("node_open", &open).await["node"].clone();
    let message = alice.message_with(&bob.did, MESSAGE, text_body("x"), NOW - 1000, 60_000, None);
    let hex = data_encoding::HEXLOWER.encode(&message.bytes);
    let receive = |now: u64| json!({"node": node, "message": hex, "now": now});
    let first = library.call("node_receive", &receive(NOW)).await;
    assert_eq!((&first["outcome"]["outcome"], &first["effects"]), (&json!("accept"), &json!(1)));
    let ack = data_encoding::HEXLOWER.decode(first["replies"][0].as_str().expect("hex").as_bytes()).expect("hex");
    assert_eq!((Got::read(&ack).typ(), Got::read(&ack).reply_to()), (ACK, message.id));
    // 16.2: until ts + ttl, and for ttl from receipt.
    let again = library.call("node_receive", &receive(NOW + 59_000)).await;
    assert_eq!((&again["outcome"]["outcome"], &again["replies"]), (&json!("cached"), &first["replies"]));
    let late = library.call("node_receive", &receive(NOW + 59_001)).await;
    assert_eq!((&late["outcome"]["code"], &late["effects"]), (&json!(1003), &json!(1)));

    // 16.3: five copies, the same bytes, and then failed.
    let send =
        json!({"node": node, "to": alice.did, "typ": 16, "body": "f6", "ttl": 3_600_000, "now": NOW, "encrypt": true});
    let sent = library.call("node_send", &send).await["message"].clone();
    let (mut now, mut copies, mut failed) = (NOW, vec![sent.clone()], Vec::new());
    while failed.is_empty() && now < NOW + 120_000 {
        now += 500;
        let ticked = library.call("node_tick", &json!({"node": node, "now": now})).await;
        copies.extend(ticked["sent"].as_array().expect("a list").clone());
        failed.extend(ticked["failed"].as_array().expect("a list").clone());
    }
    assert_eq!((copies.len(), failed.len()), (5, 1));
    assert!(copies.iter().all(|copy| *copy == sent));
    library.call("node_close", &json!({"node": node})).await;
}

#[tokio::test]
async fn the_other_readings_serve_as_well() {
    let handle = start(Config { variant: Variant::Other, ..config() }).await;
    let (alice, me, address) = (Party::named("alice"), did(&handle).to_owned(), address(&handle));
    let (status, replies) = post(address, &alice.message(&me, MESSAGE, text_body("x")).bytes).await;
    assert_eq!((status, replies[0].typ()), (200, ACK));
    // E70: several replies are concatenated.
    let request = alice.message(&me, REQUEST, echo("x"));
    let (status, body) = http(address, "POST", "/amp/v1/messages", "", &request.bytes).await;
    let (mut rest, mut types) = (&body[..], Vec::new());
    while !rest.is_empty() {
        let value: Value = ciborium::from_reader(&mut rest).expect("CBOR");
        types.push(member(&value, "typ").map(number));
    }
    assert_eq!((status, types), (200, vec![Some(ACK), Some(4), Some(RESPONSE)]));
    let mut frames = Frames::connect(&handle).await;
    frames.send(1, &request.bytes).await;
    assert_eq!(frames.receive().await, None);
}
