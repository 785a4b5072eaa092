//! The vectors of RFC 001, appendix A, and those of the binding, run against the library: each must have the declared
//! result, in the strict reading. They were made by another implementation than this one.

use crate::support::library::{Library, hex, library_config};
use ciborium::Value as Cbor;
use proofmark_reference::{Config, Variant};
use serde_json::{Value, json};

const ALICE: &str = "46918a243ff3cf322a4ca7599bc2694890ae5240d437f3af6b7fd5f4b4733635";
const BOB: &str = "ce2e8ea1d4135d748bff94d5824a7d6befb1ba537a5d882d5956ad3f53bdb992";

fn data() -> Value {
    serde_json::from_str(include_str!("data/amp_core.json")).expect("the file is JSON")
}

fn list<'a>(data: &'a Value, name: &str) -> &'a [Value] {
    data[name].as_array().expect("a list")
}

async fn library() -> Library {
    Library::start(library_config())
}

/// The identities of binding.md, 6, and those of RFC 001, A.1.
fn keys(name: &str) -> Value {
    let seed = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f";
    match name {
        "alice" => json!({"did": "did:key:z6Mkjo1gXcLVm2CxbVPM6d15gij8H3anEdWUFr9iEVNZ3w6r", "ed25519_seed": ALICE}),
        "bob" => json!({"did": "did:key:z6Mkh4RrL9X4Tei6wX1sFShnH5AT44Xuet6WutGojDAhDs7S", "ed25519_seed": BOB}),
        "spec-bob" => json!({"did": "did:web:example.com:agent:bob", "ed25519_seed": seed,
            "x25519_private": "1f1e1d1c1b1a191817161514131211100f0e0d0c0b0a09080706050403020100"}),
        _ => json!({"did": "did:web:example.com:agent:alice", "ed25519_seed": seed,
            "x25519_private": "8f8e8d8c8b8a898887868584838281807f7e7d7c7b7a79787776757473727170"}),
    }
}

/// The documents behind the DIDs of RFC 001, A.1: both sign with one key.
async fn spec_documents(library: &mut Library) -> Value {
    let mut documents = Vec::new();
    for name in ["spec-alice", "spec-bob"] {
        let keys = keys(name);
        let did = keys["did"].as_str().expect("a DID");
        let signing = library.call("public_key", &json!({"seed": keys["ed25519_seed"]})).await;
        let agreement = library.call("x25519_public", &json!({"private_key": keys["x25519_private"]})).await;
        let jwk = |curve: &str, key: &Value| {
            let bytes = data_encoding::HEXLOWER.decode(key.as_str().expect("hex").as_bytes()).expect("hex");
            json!({"kty": "OKP", "crv": curve, "x": data_encoding::BASE64URL_NOPAD.encode(&bytes)})
        };
        documents.push(json!({"id": did, "verificationMethod": [
            {"id": "#sig", "type": "JsonWebKey2020", "publicKeyJwk": jwk("Ed25519", &signing["public_key"])},
            {"id": "#agree", "type": "JsonWebKey", "publicKeyJwk": jwk("X25519", &agreement["public_key"])},
        ], "assertionMethod": ["#sig"], "keyAgreement": ["#agree"]}));
    }
    documents.into()
}

/// Calls `receive` with one message.
async fn receive(library: &mut Library, vector: &Value, message: &Value, documents: &Value) -> Value {
    let mut known = documents.as_array().cloned().unwrap_or_default();
    known.extend(vector["documents"].as_array().cloned().unwrap_or_default());
    let mut params = json!({"self": keys(vector["self"].as_str().expect("a name")), "message": message,
        "now": vector["now"], "documents": known});
    for name in ["original", "trusted_relays"] {
        if vector.get(name).is_some() {
            params[name] = vector[name].clone();
        }
    }
    library.call("receive", &params).await
}

fn disagreement(expect: &Value, outcome: &Value) -> Option<String> {
    let agrees = match expect.get("reject") {
        Some(codes) => codes.as_array().expect("a list").contains(&outcome["code"]),
        None => outcome["outcome"] == "accept",
    };
    (!agrees).then(|| format!("expected {expect}, got {outcome}"))
}

#[tokio::test]
async fn every_vector_has_its_result() {
    let data = data();
    let mut library = library().await;
    let documents = spec_documents(&mut library).await;
    let mut wrong = Vec::new();
    for vector in list(&data, "vectors").iter().filter(|vector| vector.get("message").is_some()) {
        let outcome = receive(&mut library, vector, &vector["message"], &documents).await;
        let mut problem = disagreement(&vector["expect"], &outcome);
        if problem.is_none() && outcome["outcome"] == "accept" {
            let mut params = json!({"message": vector["message"]});
            if outcome["encrypted"] == true {
                params["body"] = outcome["body"].clone();
            }
            let input = library.call("sig_input", &params).await;
            for (name, found) in [("body", &outcome["body"]), ("sig_input", &input["sig_input"])] {
                if vector[name] != *found {
                    problem = Some(format!("another {name}: {found}"));
                }
            }
        }
        wrong.extend(problem.map(|problem| format!("{} {}: {problem}", vector["id"], vector["title"])));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(list(&data, "vectors").len(), 127);
}

/// The other variant deviates only where an erratum tolerates it.
#[tokio::test]
async fn the_other_variant_deviates_only_where_tolerated() {
    let data = data();
    let mut library = Library::start(Config { variant: Variant::Other, ..library_config() });
    let documents = spec_documents(&mut library).await;
    let mut differing = 0;
    let mut wrong = Vec::new();
    for vector in list(&data, "vectors").iter().filter(|vector| vector.get("message").is_some()) {
        let outcome = receive(&mut library, vector, &vector["message"], &documents).await;
        let found = if outcome["outcome"] == "accept" { json!("accept") } else { outcome["code"].clone() };
        let tolerated = vector["expect"]["tolerate"].as_array().is_some_and(|tolerated| tolerated.contains(&found));
        let problem = disagreement(&vector["expect"], &outcome);
        differing += usize::from(problem.is_some());
        wrong.extend(problem.filter(|_| !tolerated).map(|problem| format!("{}: {problem}", vector["id"])));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(differing > 10, "the variants differ in {differing} vectors only");
}

#[tokio::test]
async fn the_published_vectors_verify_and_can_be_made_again() {
    let data = data();
    let mut library = library().await;
    let documents = spec_documents(&mut library).await;
    for vector in list(&data, "published") {
        let title = vector["title"].as_str().expect("a title");
        let encrypted = title.starts_with("A.6");
        // The ACK goes the other way.
        let (from, to) = if title.starts_with("A.4") { ("spec-bob", "spec-alice") } else { ("spec-alice", "spec-bob") };
        let asked = json!({"self": to, "now": 1_707_055_205_000_u64});
        let outcome = receive(&mut library, &asked, &vector["message"], &documents).await;
        if encrypted {
            // E01: no key opens the printed ciphertext.
            assert_eq!((&outcome["code"], &outcome["stage"]), (&json!(3001), &json!("decryption")));
            continue;
        }
        assert_eq!(outcome["outcome"], "accept", "{title}: {outcome}");
        let headers = &outcome["headers"];
        let made = json!({"sender": keys(from), "headers": headers, "body": outcome["body"]});
        let built = library.call("build_plain", &made).await;
        assert_eq!((&built["message"], &built["sig_input"]), (&vector["message"], &vector["sig_input"]), "{title}");
        let signed =
            library.call("sign", &json!({"seed": made["sender"]["ed25519_seed"], "data": vector["sig_input"]})).await;
        assert_eq!(signed["sig"], vector["signature"], "{title}");
    }
    // E01: the actual result of the keys and the nonce of A.1.
    let corrected = &list(&data, "vectors")[0];
    let headers = receive(&mut library, corrected, &corrected["message"], &documents).await["headers"].clone();
    let made = json!({"sender": keys("spec-alice"), "recipient_document": documents[1], "headers": headers,
        "body": corrected["body"], "nonce": corrected["nonce"]});
    let built = library.call("build_encrypted", &made).await;
    for name in ["message", "sig_input", "nonce", "ciphertext"] {
        assert_eq!(built[name], corrected[name], "{name}");
    }
    let published = list(&data, "published").last().expect("A.6");
    assert_eq!(built["sig_input"], published["sig_input"]);
}

#[tokio::test]
async fn the_items_of_the_batch_are_judged_one_by_one() {
    let data = data();
    let mut library = library().await;
    let batch = list(&data, "vectors").iter().find(|vector| vector["id"] == "PM-AMP-82").expect("the batch");
    let items = library.call("batch_split", &json!({"body": batch["body"]})).await;
    for (item, expect) in list(&items, "items").iter().zip(list(batch, "items")) {
        let outcome = receive(&mut library, batch, item, &json!([])).await;
        assert_eq!(disagreement(expect, &outcome), None);
    }
}

fn member(body: &Value, name: &str) -> Cbor {
    let bytes = data_encoding::HEXLOWER.decode(body.as_str().expect("hex").as_bytes()).expect("hex");
    let body: Cbor = ciborium::from_reader(&bytes[..]).expect("CBOR");
    let map = body.into_map().expect("a map");
    map.into_iter().find(|(key, _)| key.as_text() == Some(name)).expect("the member is there").1
}

fn bytes(value: Cbor) -> Value {
    hex(&value.into_bytes().expect("bytes")).into()
}

#[tokio::test]
async fn streams_end_as_they_must() {
    let data = data();
    let mut library = library().await;
    for (id, verified) in [("PM-AMP-84", true), ("PM-AMP-85", false)] {
        let vector = list(&data, "vectors").iter().find(|vector| vector["id"] == id).expect("the stream");
        let (mut stream, mut end) = (Value::Null, Value::Null);
        for message in list(vector, "sequence") {
            let received = receive(&mut library, vector, message, &json!([])).await;
            assert_eq!(received["outcome"], "accept", "{id}: {received}");
            let (body, sender) = (&received["body"], &received["headers"]["from"]);
            match received["headers"]["typ"].as_u64() {
                Some(0x13) => {
                    let opened = library.call("stream_open", &json!({"sender": sender, "start": body})).await;
                    stream = opened["stream"].clone();
                }
                Some(0x14) => {
                    let index = u64::try_from(member(body, "index").into_integer().expect("an integer"));
                    let index = index.expect("an unsigned integer");
                    let chunk = json!({"stream": stream, "index": index, "data": bytes(member(body, "data"))});
                    let taken = library.call("stream_chunk", &chunk).await;
                    assert_eq!(taken["state"], "RECEIVING", "{id}: {taken}");
                }
                _ => {
                    let hash = bytes(member(body, "hash"));
                    end = library.call("stream_end", &json!({"stream": stream, "hash": hash})).await;
                }
            }
        }
        assert_eq!((&end["verified"], &end["complete"]), (&json!(verified), &json!(verified)), "{id}: {end}");
        if verified {
            assert_eq!(member(&end["ack"], "stream_id").as_text(), Some("pm-stream-1"));
            assert_eq!(member(&end["ack"], "chunks_received").into_integer(), Ok(3.into()));
        } else {
            assert_eq!(end["code"], 4004);
        }
    }
}

#[tokio::test]
async fn frames_and_wrappers_are_read_as_they_must() {
    let data = data();
    let mut library = library().await;
    for vector in list(&data, "frames") {
        let read = library.call("frame_decode", &json!({"data": vector["frame"]})).await;
        let Some(payload) = vector.get("payload") else {
            assert_eq!(read["code"], 1001, "{vector}");
            continue;
        };
        let frame = &read["frames"][0];
        assert_eq!((&frame["payload"], &read["rest"]), (payload, &json!("")), "{vector}");
        let written = library.call("frame_encode", frame).await;
        assert_eq!(written["frame"], vector["frame"]);
    }
    // RFC 002, A.2: excess bytes are the start of another frame, which never arrives.
    let read = library.call("frame_decode", &json!({"data": "0000000401a1617801"})).await;
    assert_eq!((&read["frames"][0]["payload"], &read["rest"]), (&json!("a16178"), &json!("01")));
    for vector in list(&data, "wrappers") {
        let read = library.call("wrapper_decode", &json!({"kind": "poll", "cbor": vector["cbor"]})).await;
        let valid = vector["expect"] == "valid";
        assert_eq!(read.get("value").is_some(), valid, "{vector}");
        assert_eq!(read["code"] == 1001, !valid, "{vector}");
    }
}

/// Every single bit of a message matters: v and enc are not signed, but only their exact values are
/// accepted.
#[tokio::test]
async fn no_bit_of_a_message_may_be_another() {
    let mut library = library().await;
    let headers = json!({"typ": 17, "ts": 1_760_000_000_000_u64, "ttl": 60000, "to": [keys("bob")["did"]],
        "reply_to": "00000199c82cc0007c83f01a5d1c2ca0", "thread_id": "01"});
    let body = "a2626f70646563686f646461746163616263"; // {"op": "echo", "data": "abc"}
    let plain = json!({"sender": keys("alice"), "headers": headers, "body": body});
    let plain = library.call("build_plain", &plain).await["message"].clone();
    let bob = library.call("x25519_derive", &json!({"ed25519_seed": BOB})).await["public_key"].clone();
    let key = data_encoding::HEXLOWER.decode(bob.as_str().expect("hex").as_bytes()).expect("hex");
    let key = data_encoding::BASE64URL_NOPAD.encode(&key);
    let document = json!({"id": keys("bob")["did"], "keyAgreement": [{"id": "#a", "type": "JsonWebKey",
        "publicKeyJwk": {"kty": "OKP", "crv": "X25519", "x": key}}]});
    let sealed = json!({"sender": keys("alice"), "headers": headers, "body": body, "recipient_document": document});
    let sealed = library.call("build_encrypted", &sealed).await["message"].clone();
    let asked = json!({"self": "bob", "now": 1_760_000_001_000_u64});
    for message in [plain, sealed] {
        let accepted = receive(&mut library, &asked, &message, &json!([])).await;
        assert_eq!((&accepted["outcome"], &accepted["body"]), (&json!("accept"), &json!(body)));
        let bytes = data_encoding::HEXLOWER.decode(message.as_str().expect("hex").as_bytes()).expect("hex");
        for bit in 0..bytes.len() * 8 {
            let mut altered = bytes.clone();
            altered[bit / 8] ^= 1 << (bit % 8);
            let outcome = receive(&mut library, &asked, &hex(&altered).into(), &json!([])).await;
            assert_eq!(outcome["outcome"], "reject", "bit {bit} of {message}");
        }
    }
}
