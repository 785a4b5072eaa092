//! Signatures and tokens, against the vectors of binding.md section 7.

use crate::meshai_support::*;
use serde_json::{Value, json};

const KEY: &str = "proofmark-meshai-hmac-key-32byte";

/// Message V1 in its canonical form.
const V1: &str = "{\"destination\":{\"agent_id\":\"agent-b\",\"capability\":\"text-analysis\"},\"headers\":{\"correlation_id\":\"pm-sig-0001\",\"priority\":5,\"routing_hints\":{},\"timeout_ms\":30000},\"id\":\"pm-sig-0001\",\"payload\":{\"capability\":\"text-analysis\",\"parameters\":{\"text\":\"Hello mesh\"}},\"source\":{\"agent_id\":\"proofmark-a\"},\"timestamp\":\"2025-01-27T10:00:00Z\",\"type\":\"request\"}";

/// The recipe, the text of the message, the signature in base64 and in hexadecimal.
const SIGNATURES: &[(&str, &str, &str, &str)] = &[
    (
        "jcs",
        "Hello mesh",
        "qQdnZ1PvcjjL6aKTIxGRs5vO1kBsc0VCEE4oya5a8nU=",
        "a907676753ef7238cbe9a293231191b39bced6406c734542104e28c9ae5af275",
    ),
    (
        "python-compact",
        "Hello mesh",
        "qQdnZ1PvcjjL6aKTIxGRs5vO1kBsc0VCEE4oya5a8nU=",
        "a907676753ef7238cbe9a293231191b39bced6406c734542104e28c9ae5af275",
    ),
    (
        "python-default",
        "Hello mesh",
        "oNmwOzkL9EzLGxw08fyuqlm7Jro+jfR2bTs9J25w4iY=",
        "a0d9b03b390bf44ccb1b1c34f1fcaeaa59bb26ba3e8df4766d3b3d276e70e226",
    ),
    (
        "jcs",
        "Caf\u{e9} \u{20ac}",
        "yky87voCsLCkf2QI9ccoDynH9OuOwgfCrU9D3uCpY10=",
        "ca4cbceefa02b0b0a47f6408f5c7280f29c7f4eb8ec207c2ad4f43dee0a9635d",
    ),
    (
        "python-compact",
        "Caf\u{e9} \u{20ac}",
        "LqcX9J1+IpAMsIY+uMcOoh9xAMAEmTDYtDIHekNW5DM=",
        "2ea717f49d7e22900cb0863eb8c70ea21f7100c0049930d8b432077a4356e433",
    ),
    (
        "python-default",
        "Caf\u{e9} \u{20ac}",
        "di90M/j5gDkCIkvg2aq7cQX8siLIgiKbZnsqgRTTJJo=",
        "762f7433f8f9803902224be0d9aabb7105fcb222c882229b667b2a8114d3249a",
    ),
];

const VALID: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJwcm9vZm1hcmstYSIsImFnZW50X2lkIjoicHJvb2ZtYXJrLWEiLCJjYXBhYmlsaXRpZXMiOltdLCJpYXQiOjE3Mzc5NzIwMDAsImV4cCI6NDEwMjQ0NDgwMH0.5HAqUXBykbFJQ8AWpTb0m-NK9VJuYiGcnZQwvTWLbpM";
const EXPIRED: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiJwcm9vZm1hcmstYSIsImFnZW50X2lkIjoicHJvb2ZtYXJrLWEiLCJjYXBhYmlsaXRpZXMiOltdLCJpYXQiOjE3Mzc5NzIwMDAsImV4cCI6MTczNzk3NTYwMH0.QNcoQpnwCeOcXZMdh5kunsZEoX-zOQKxVbKWo1kdVnQ";

fn v1(text: &str) -> Value {
    let mut message: Value = serde_json::from_str(V1).expect("JSON");
    message["payload"]["parameters"]["text"] = json!(text);
    json!({"protocol": "AMP/1.0", "message": message})
}

#[tokio::test]
async fn the_vectors_of_the_binding_come_out() {
    let mut library = Library::start(config(&[]));
    let canonical = library.call("canonical", json!({"envelope": v1("Hello mesh")})).await;
    assert_eq!(unhex(&canonical["bytes"]), V1);
    let key = hex(KEY.as_bytes());
    for (recipe, text, base64, hexadecimal) in SIGNATURES {
        // A server with this recipe accepts both spellings and refuses a changed message.
        let handle = start(&[("hmac-key", KEY), ("hmac-required", "on"), ("hmac-canonical", recipe)]).await;
        for value in [base64, hexadecimal] {
            let mut signed = v1(text);
            signed["message"]["destination"]["agent_id"] = json!("agent-b");
            signed["message"]["headers"]["signature"] = json!({"algorithm": "HMAC-SHA256", "value": value});
            // agent-b does not offer text-analysis: behind the signature, that is what is wrong.
            assert_eq!(code(&post(&handle, &signed).await.1), "CAPABILITY_NOT_FOUND", "{recipe} {text}");
            signed["message"]["payload"]["parameters"]["text"] = json!("Hello mess");
            assert_eq!(code(&post(&handle, &signed).await.1), "AUTHENTICATION_FAILED", "{recipe} {text}");
        }
        if *recipe == "jcs" {
            let raw = hex(v1(text).to_string().as_bytes());
            let signed = library.call("sign", json!({"raw": raw, "key": key})).await;
            let signed: Value = serde_json::from_str(&unhex(&signed["raw"])).expect("JSON");
            assert_eq!(
                at(&signed, "/message/headers/signature"),
                &json!({"algorithm": "HMAC-SHA256", "value": base64})
            );
            let raw = hex(signed.to_string().as_bytes());
            assert_eq!(library.call("verify", json!({"raw": raw, "key": key})).await["valid"], true);
        }
    }
}

#[tokio::test]
async fn a_signature_covers_everything_but_itself() {
    let mut library = Library::start(config(&[]));
    let key = hex(KEY.as_bytes());
    let raw = hex(v1("Hello mesh").to_string().as_bytes());
    let signed = library.call("sign", json!({"raw": raw, "key": key})).await;
    let signed: Value = serde_json::from_str(&unhex(&signed["raw"])).expect("JSON");
    let value = at(&signed, "/message/headers/signature/value").as_str().expect("a text").to_owned();
    let bytes = data_encoding::BASE64.decode(value.as_bytes()).expect("base64");
    let cut = data_encoding::BASE64.encode(&bytes[..16]);
    let rows = [
        ("/message/payload/parameters/text", json!("Hello")),
        ("/message/payload/capability", json!("summarization")),
        ("/message/source/agent_id", json!("proofmark-b")),
        ("/message/destination/agent_id", json!("agent-a")),
        ("/message/id", json!("pm-sig-0002")),
        ("/message/timestamp", json!("2025-01-27T10:00:01Z")),
        ("/message/headers/priority", json!(6)),
        ("/message/headers/signature/algorithm", json!("none")),
        ("/message/headers/signature/algorithm", json!("HMAC-MD5")),
        ("/message/headers/signature/value", json!("")),
        ("/message/headers/signature/value", json!("-")),
        ("/message/headers/signature/value", json!(null)),
        ("/message/headers/signature/value", json!(cut)),
    ];
    for (pointer, changed) in rows {
        let mut altered = signed.clone();
        *altered.pointer_mut(pointer).expect("there") = changed.clone();
        let raw = hex(altered.to_string().as_bytes());
        assert_eq!(
            library.call("verify", json!({"raw": raw, "key": key})).await["valid"],
            false,
            "{pointer} {changed}"
        );
    }
    // protocol is not covered; white space and order do not matter.
    let mut other = signed.clone();
    other["protocol"] = json!("AIP/1.0");
    let raw = hex(serde_json::to_string_pretty(&other).expect("text").as_bytes());
    assert_eq!(library.call("verify", json!({"raw": raw, "key": key})).await["valid"], true);
    let mut bits = KEY.as_bytes().to_vec();
    bits[31] ^= 1;
    let raw = hex(signed.to_string().as_bytes());
    assert_eq!(library.call("verify", json!({"raw": raw, "key": hex(&bits)})).await["valid"], false);
}

#[tokio::test]
async fn tokens_are_verified_and_expire() {
    let mut library = Library::start(config(&[]));
    let key = hex(KEY.as_bytes());
    let claims = json!({"sub": "proofmark-a", "agent_id": "proofmark-a", "capabilities": [], "iat": 1_737_972_000, "exp": 4_102_444_800_u64});
    assert_eq!(library.call("make_jwt", json!({"claims": claims, "key": key})).await["token"], VALID);
    let checked = library.call("check_jwt", json!({"token": VALID, "key": key, "now": "2026-01-01T00:00:00Z"})).await;
    assert_eq!((&checked["valid"], &checked["claims"]), (&json!(true), &claims));
    let cut = VALID.rsplit_once('.').expect("three parts").0;
    let none = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIiwiZXhwIjo0MTAyNDQ0ODAwfQ.";
    let rows = [
        (EXPIRED.to_owned(), "2025-01-27T11:00:00Z", false), // the end itself
        (EXPIRED.to_owned(), "2025-01-27T10:59:59Z", true),
        (format!("{VALID}A"), "2026-01-01T00:00:00Z", false),
        (VALID.replace("5HAq", "5HAr"), "2026-01-01T00:00:00Z", false),
        (format!("{cut}."), "2026-01-01T00:00:00Z", false),
        (cut.to_owned(), "2026-01-01T00:00:00Z", false),
        (none.to_owned(), "2026-01-01T00:00:00Z", false),
        (String::new(), "2026-01-01T00:00:00Z", false),
        ("not a token".to_owned(), "2026-01-01T00:00:00Z", false),
    ];
    for (token, now, valid) in rows {
        let checked = library.call("check_jwt", json!({"token": token, "key": key, "now": now})).await;
        assert_eq!(checked["valid"], valid, "{token} at {now}: {checked}");
    }
    let other = hex(b"another key of the same length..");
    assert_eq!(library.call("check_jwt", json!({"token": VALID, "key": other})).await["valid"], false);
    for audience in [json!("amp-mesh"), json!(["x", "amp-mesh"]), json!("other"), json!(["x"])] {
        let claims = json!({"exp": 4_102_444_800_u64, "aud": audience});
        let token = library.call("make_jwt", json!({"claims": claims, "key": key})).await["token"].clone();
        let valid = audience.to_string().contains("amp-mesh");
        assert_eq!(library.call("check_jwt", json!({"token": token, "key": key})).await["valid"], valid, "{audience}");
    }
}

#[tokio::test]
async fn a_key_is_needed_whole_and_in_either_place() {
    let key = "proofmark-meshai-api-key-0001";
    let handle = start(&[("api-key", key)]).await;
    let body = request("1", "a", "text-analysis", json!({"text": "x"})).to_string();
    let rows = [
        (format!("Authorization: Bearer {key}\r\n"), 200),
        (format!("Authorization: bearer {key}\r\n"), 200),
        (format!("X-API-Key: {key}\r\n"), 200),
        (format!("Authorization: Basic {key}\r\n"), 401),
        (format!("Authorization: Bearer {}\r\n", &key[..28]), 401),
        (format!("Authorization: Bearer {key}0\r\n"), 401),
        (format!("Authorization: Bearer {}\r\n", key.to_uppercase()), 401),
        ("Authorization: Bearer proofmark-meshai-api-key-0002\r\n".to_owned(), 401),
        ("Authorization: Bearer \r\n".to_owned(), 401),
        (String::new(), 401),
    ];
    for (header, expected) in rows {
        let (status, answer) = http(&handle, "POST", "/aip/v1/invoke", &header, body.as_bytes()).await;
        assert_eq!(status, expected, "{header} {answer}");
        assert_eq!(expected == 401, answer.contains("AUTHENTICATION_FAILED"), "{header} {answer}");
    }
    let mut inside = request("2", "a", "text-analysis", json!({"text": "x"}));
    inside["message"]["headers"]["authentication"] = json!({"type": "api_key", "token": key, "credentials": key});
    assert_eq!(post(&handle, &inside).await.0, 200);
    inside["message"]["headers"]["authentication"]["token"] = json!("wrong");
    assert_eq!(post(&handle, &inside).await.0, 401);
    // Health needs none.
    assert_eq!(http(&handle, "GET", "/health", "", b"").await.0, 200);
}
