//! Envelopes of any content: if the reference accepts a message, the harness reads the same parts and the same
//! Sig_Input, and shows it as signed; and no input instead of a message makes it panic.
//!
//! The input is used twice: as bytes, and as the choices for a signed message with a wrong or unusual member, or with
//! none.

use std::borrow::Cow;

use arbitrary::{Result, Unstructured};
use data_encoding::HEXLOWER;
use proofmark::exchange::{Arrival, ArrivalKind, Body, Ended, Exchange, Incoming, Outgoing, Transport};
use proofmark::protocol::amp_core::explain;
use proofmark::protocol::amp_core::sig_input::Material;
use proofmark::protocol::{self, Known, ObservationContext};
use proofmark::target::Target;
use proofmark::template::Clock;
use proofmark::value::Value;
use proofmark::wire::cbor::{self, Layout, write_styled};
use serde_json::json;

use crate::letter::{self, Received};
use crate::{generate, reference, sample};

/// Of so many messages whose signature is wrong the difference is explained for one.
const EXPLAINED: u64 = 4;

/// Members whose value is replaced.
const MEMBERS: [&str; 12] =
    ["v", "id", "typ", "ts", "ttl", "from", "to", "reply_to", "thread_id", "body", "enc", "ext"];

/// The type of a message that holds others (RFC 001 section 4.5).
const BATCH: i128 = 0x16;

/// Checks one input.
///
/// # Panics
///
/// If the reference accepts a message that the harness reads differently, or does not show as signed.
pub fn run(data: &[u8]) {
    look(data);
    if let Ok(bytes) = made(&mut Unstructured::new(data)) {
        look(&bytes);
    }
}

/// A message with at most one wrong member, correctly signed over what it has.
fn made(u: &mut Unstructured<'_>) -> Result<Vec<u8>> {
    let (mut envelope, sender) = letter::unsigned(u)?;
    let style = generate::style(u)?;
    let name = *u.choose(&MEMBERS)?;
    match u.int_in_range(0..=3)? {
        0 => envelope.set_member(name, generate::cbor(u)?),
        1 => {
            if let Value::Map(members) = &mut envelope {
                members.retain(|(key, _)| key.as_text() != Some(name));
            }
        }
        2 => {
            let length = u.int_in_range(0..=40)?;
            envelope.set_member(name, Value::Bytes(u.bytes(length)?.to_vec()));
        }
        _ => {}
    }
    let body = cbor::write(envelope.member("body").unwrap_or(&Value::Null));
    proofmark::protocol::amp_core::message::sign_over(&mut envelope, &body, &sender);
    Ok(write_styled(&envelope, style))
}

fn look(bytes: &[u8]) {
    let received = Received::of(bytes);
    let material = Material::read(bytes, None);
    if let Ok(material) = &material {
        agree(bytes, material);
    }
    let seen = observed(&if received.verified() { bytes.into() } else { cheap(bytes) });
    if received.verified() {
        let material =
            material.unwrap_or_else(|error| panic!("only the reference reads {}: {error}", HEXLOWER.encode(bytes)));
        let shown = || format!("{}: {received:?}, {seen:?}", HEXLOWER.encode(bytes));
        // A BATCH is shown with its items.
        let batch = material.envelope().member("typ").and_then(Value::as_integer) == Some(BATCH);
        let first = seen.member("replies").and_then(Value::as_array).and_then(<[Value]>::first);
        let reply = seen.member("result_batch").filter(|_| batch).or(first);
        let reply = reply.unwrap_or_else(|| panic!("the harness shows no message of {}", shown()));
        let state = reply.member("signed").and_then(|signed| signed.member("state")).and_then(Value::as_text);
        // The harness has no document here for a DID that is not its own key.
        let known = material
            .envelope()
            .member("from")
            .and_then(Value::as_text)
            .is_some_and(|from| from.starts_with("did:key:"));
        assert!(!known || state == Some("valid"), "{}", shown());
        for name in ["id", "typ", "ts", "ttl", "from", "reply_to", "thread_id"] {
            let ours = material.envelope().member(name).map(printed);
            assert!(!received.accepted() || received.header(name) == ours, "{name}: {ours:?}, {}", shown());
        }
    }
}

/// Sig_Input of a readable message that is not encrypted.
fn agree(bytes: &[u8], material: &Material) {
    let theirs = reference::amp("sig_input", &json!({ "message": HEXLOWER.encode(bytes) }));
    if theirs.get("sig_input").is_some() {
        let ours = material.sig_input();
        assert_eq!(reference::bytes(&theirs, "sig_input"), ours, "{}", HEXLOWER.encode(bytes));
    }
}

/// A message that can be checked quickly: the harness searches thousands of structures for the content of an invalid
/// signature of full length, so the signature is shortened.
fn cheap(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Ok(Some(mut envelope)) = cbor::parse(bytes).map(|value| value.member("sig").is_some().then_some(value)) else {
        return bytes.into();
    };
    envelope.set_member("sig", Value::Bytes(vec![0; 63]));
    if sample::has(bytes, EXPLAINED) {
        let material = Material::of(envelope.clone(), None);
        let explained = explain::explain(&material, &letter::recipient().public_key(), &[]);
        assert!(!explained.verifies && !(explained.summary() + &explained.details()).is_empty());
    }
    cbor::write_as(&envelope, Layout::AsWritten).into()
}

fn printed(value: &Value) -> String {
    match value {
        Value::Bytes(bytes) => HEXLOWER.encode(bytes),
        Value::Text(text) => text.to_string(),
        other => other.as_integer().map(|integer| integer.to_string()).unwrap_or_default(),
    }
}

/// The bytes as the answer to a message, over HTTP and over a connection, in the form for expectations.
fn observed(bytes: &[u8]) -> Value {
    let amp = protocol::find("amp-core").expect("amp-core is implemented");
    let target = Target::endpoint(url::Url::parse("http://127.0.0.1:1").expect("it is a URL"));
    let known = Known::new();
    let observe = |transport, received| {
        let exchange = Exchange {
            step: 0,
            round: 0,
            actor: "alice".to_owned(),
            operation: "submit".to_owned(),
            sent: Outgoing {
                transport,
                method: "POST".to_owned(),
                url: "http://127.0.0.1:1/amp/v1/messages".to_owned(),
                headers: Vec::new(),
                body: Body::from(bytes.to_vec()),
            },
            received,
            started_ms: 0,
            elapsed_ms: 1,
            hosted: None,
            clock_ms: 0,
        };
        let clock = Clock(1_767_323_045_000_000_000);
        amp.emitted(&exchange, &ObservationContext { target: &target, transport, clock, known: &known });
        amp.observe(&exchange, &ObservationContext { target: &target, transport, clock, known: &known })
    };
    let nothing = || Incoming::nothing(Ended::Complete);
    for (kind, code) in [
        (ArrivalKind::TcpFrame, Some(1)),
        (ArrivalKind::TcpFrame, Some(6)),
        (ArrivalKind::WsBinary, None),
        (ArrivalKind::Polled, None),
    ] {
        let body = Body::from(bytes.to_vec());
        let arrived = vec![Arrival { kind, code, body, at_ms: 1, host: String::new() }];
        let transport = if kind == ArrivalKind::TcpFrame { Transport::Tcp } else { Transport::Ws };
        observe(transport, Incoming { arrived, ..nothing() });
    }
    observe(Transport::Http, Incoming { status: Some(200), body: Body::from(bytes.to_vec()), ..nothing() })
}
