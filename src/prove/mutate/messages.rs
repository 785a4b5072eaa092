//! Changes of whole messages: addressed to another message, replaced by what proofmark sends, or laid out in other bytes.

use super::document::{Document, Form};
use crate::exchange::{Body, Incoming, Transport};
use crate::protocol::Protocol;
use crate::value::Value;
use crate::wire::json;

/// The message in a request or an answer: the decoded body, or what a call of a library carries as `message`.
pub fn message(body: &Body, transport: Transport) -> Option<Value> {
    let document = Document::read(&body.0)?;
    if transport != Transport::Adapter {
        return Some(document.value).filter(|value| value.as_map().is_some());
    }
    let inner = document.value.member("params").or_else(|| document.value.member("result"))?.member("message")?;
    Document::inside("message", inner).map(|inner| inner.value)
}

/// Makes a message that arrived in answer to one message the answer to another: a member that repeats a member of the former
/// repeats that of the latter. Returns whether anything was changed.
pub fn readdress(protocol: &dyn Protocol, received: &mut Incoming, from: &Value, to: &Value) -> bool {
    let echoes = |value: &Value| {
        let repeated = from.as_map()?.iter().find(|(_, member)| member == value && is_telling(value))?;
        to.member(repeated.0.as_text()?).cloned()
    };
    rewrite(protocol, received, &|message| {
        let Value::Map(members) = message else { return false };
        let mut any = false;
        for (_, member) in members.iter_mut() {
            if let Some(other) = echoes(member).filter(|other| other != member) {
                *member = other;
                any = true;
            }
        }
        any
    })
}

/// Makes an answer to `asked` carry the content of `request`, as if the target had sent what proofmark sends: the members that
/// repeat one of `asked` stay, all others are those of the request. Returns whether anything was changed.
pub fn reflect(protocol: &dyn Protocol, received: &mut Incoming, asked: &Value, request: &Value) -> bool {
    rewrite(protocol, received, &|message| {
        let Some(members) = message.as_map() else { return false };
        let repeats = |value: &Value| {
            is_telling(value) && asked.as_map().is_some_and(|all| all.iter().any(|(_, own)| own == value))
        };
        let kept: Vec<(Value, Value)> = members.iter().filter(|(_, member)| repeats(member)).cloned().collect();
        let names = |name: &Value| kept.iter().any(|(own, _)| own == name);
        let taken = request.as_map().into_iter().flatten().filter(|(name, _)| !names(name)).cloned();
        *message = Value::Map(kept.iter().cloned().chain(taken).collect());
        true
    })
}

/// Encodes every CBOR message of an answer in another layout. Returns whether that changed a byte.
pub fn lay(protocol: &dyn Protocol, received: &mut Incoming, layout: &str) -> bool {
    let mut any = false;
    for body in std::iter::once(&mut received.body).chain(received.arrived.iter_mut().map(|arrival| &mut arrival.body))
    {
        let Some(mut document) = Document::read(&body.0) else { continue };
        let other = match document.form {
            Form::Cbor => protocol.codec().encode(&document.value, layout),
            _ => {
                lay_below(protocol, &mut document.value, layout);
                document.write(&[], protocol)
            }
        };
        any |= *body.0 != other;
        *body = Body::from(other);
    }
    any
}

/// The same for the messages in hex in the result of a library.
fn lay_below(protocol: &dyn Protocol, value: &mut Value, layout: &str) {
    let Value::Map(members) = value else { return };
    for (name, member) in members.iter_mut() {
        match name.as_text().and_then(|name| Document::inside(name, member)) {
            Some(inner) if inner.form == Form::Cbor && member.as_text().is_some() => {
                *member = Value::text(data_encoding::HEXLOWER.encode(&protocol.codec().encode(&inner.value, layout)));
            }
            _ => lay_below(protocol, member, layout),
        }
    }
}

/// What messages of one kind have in common: the names of their members, and small numbers.
pub fn shape(message: &Value) -> String {
    const SMALL: i128 = 0x1_0000;
    match message {
        Value::Map(members) => {
            let one = |(name, member): &(Value, Value)| format!("{}:{}", json::compact(name), shape(member));
            members.iter().map(one).collect::<Vec<_>>().join(",")
        }
        Value::Integer(number) if *number < SMALL => number.to_string(),
        Value::Array(items) => items.first().map(shape).unwrap_or_default(),
        _ => String::new(),
    }
}

/// Whether two equal values are the same value, and not equal by chance.
fn is_telling(value: &Value) -> bool {
    const TELLING: usize = 8;
    value.as_text().is_some_and(|text| text.len() >= TELLING)
        || matches!(value, Value::Bytes(bytes) if bytes.len() >= TELLING)
}

/// Rewrites every message in an answer.
fn rewrite(protocol: &dyn Protocol, received: &mut Incoming, change: &dyn Fn(&mut Value) -> bool) -> bool {
    let mut any = false;
    for body in std::iter::once(&mut received.body).chain(received.arrived.iter_mut().map(|arrival| &mut arrival.body))
    {
        let Some(mut document) = Document::read(&body.0) else { continue };
        if rewrite_below(protocol, &mut document.value, change) {
            *body = Body::from(document.write(&[], protocol));
            any = true;
        }
    }
    any
}

/// Rewrites the message that a value is, or those in the result of a library.
fn rewrite_below(protocol: &dyn Protocol, value: &mut Value, change: &dyn Fn(&mut Value) -> bool) -> bool {
    let is_call = value.member("jsonrpc").is_some();
    if !is_call {
        return change(value);
    }
    let Value::Map(members) = value else { return false };
    let Some((_, result)) = members.iter_mut().find(|(name, _)| name.as_text() == Some("result")) else { return false };
    let Value::Map(results) = result else { return false };
    let mut any = false;
    for (name, holder) in results.iter_mut() {
        let name = name.as_text().unwrap_or_default();
        if let Value::Array(items) = holder {
            items.iter_mut().for_each(|item| any |= rewrite_inside(protocol, "*", item, change));
        } else {
            any |= rewrite_inside(protocol, name, holder, change);
        }
    }
    any
}

/// Rewrites the message that a value holds in hex.
fn rewrite_inside(
    protocol: &dyn Protocol,
    name: &str,
    holder: &mut Value,
    change: &dyn Fn(&mut Value) -> bool,
) -> bool {
    let Some(mut inner) = Document::inside(name, holder) else { return false };
    let changed = change(&mut inner.value);
    if changed {
        *holder = inner.as_inside(holder, &[], protocol);
    }
    changed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::{Arrival, ArrivalKind, Ended};

    fn protocol() -> &'static dyn Protocol {
        crate::protocol::ALL[0]
    }

    fn received(body: &str) -> Incoming {
        Incoming { body: Body::from(body.as_bytes().to_vec()), ..Incoming::nothing(Ended::Complete) }
    }

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).expect("JSON")
    }

    /// What a library returns: one message in hex by itself, others in a list.
    fn returned(message: &str, replies: &[&str]) -> Incoming {
        let hex = |text: &&str| format!("\"{}\"", data_encoding::HEXLOWER.encode(text.as_bytes()));
        let replies: Vec<String> = replies.iter().map(hex).collect();
        received(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"result":{{"message":{},"replies":[{}]}}}}"#,
            hex(&message),
            replies.join(",")
        ))
    }

    #[test]
    fn an_answer_is_readdressed_where_it_repeats_the_message_asked_for() {
        let (from, to) = (value(r#"{"id":"message-0001","n":1}"#), value(r#"{"id":"message-0002","n":2}"#));
        let mut answer = received(r#"{"reply_to":"message-0001","n":1,"other":"message-0003"}"#);
        assert!(readdress(protocol(), &mut answer, &from, &to));
        // Small values are equal by chance.
        assert_eq!(answer.body.text(), Some(r#"{"reply_to":"message-0002","n":1,"other":"message-0003"}"#));
        assert!(!readdress(protocol(), &mut answer, &from, &to), "nothing repeats the first message any more");
    }

    #[test]
    fn every_message_that_arrived_and_every_one_in_hex_is_readdressed() {
        let (from, to) = (value(r#"{"id":"message-0001"}"#), value(r#"{"id":"message-0002"}"#));
        let mut answer = received("");
        let body = Body::from(br#"{"reply_to":"message-0001"}"#.to_vec());
        answer.arrived = vec![Arrival { kind: ArrivalKind::WsBinary, code: None, body, at_ms: 1, host: String::new() }];
        assert!(readdress(protocol(), &mut answer, &from, &to));
        assert_eq!(answer.arrived[0].body.text(), Some(r#"{"reply_to":"message-0002"}"#));

        let (old, new) = (r#"{"reply_to":"message-0001"}"#, r#"{"reply_to":"message-0002"}"#);
        let mut answer = returned(old, &[r#"{"about":"nothing"}"#, old]);
        assert!(readdress(protocol(), &mut answer, &from, &to));
        assert_eq!(answer, returned(new, &[r#"{"about":"nothing"}"#, new]));
    }

    #[test]
    fn a_reflected_message_keeps_only_what_repeats_the_message_asked_for() {
        let asked = value(r#"{"id":"message-0001"}"#);
        let request = value(r#"{"kind":"query","reply_to":"message-0009"}"#);
        let mut answer = received(r#"{"reply_to":"message-0001","status":"done"}"#);
        assert!(reflect(protocol(), &mut answer, &asked, &request));
        assert_eq!(answer.body.text(), Some(r#"{"reply_to":"message-0001","kind":"query"}"#));
    }

    #[test]
    fn a_layout_changes_bytes_and_not_the_message() {
        let message = value(r#"{"n":7,"text":"x"}"#);
        let plain = crate::wire::cbor::write(&message);
        let writes_cbor = |protocol: &&&'static dyn Protocol| protocol.codec().encode(&message, "") == plain;
        let mut laid = 0;
        for protocol in crate::protocol::ALL.iter().filter(writes_cbor) {
            for layout in protocol.codec().layouts() {
                let mut answer = Incoming { body: Body::from(plain.clone()), ..Incoming::nothing(Ended::Complete) };
                let changed = lay(*protocol, &mut answer, layout);
                assert_eq!(changed, *answer.body.0 != plain, "{layout}");
                laid += usize::from(changed);
                let found = Document::read(&answer.body.0).expect("a message").value;
                // In another order, or twice, but the same members.
                for name in ["n", "text"] {
                    assert_eq!(found.member(name), message.member(name), "{layout}");
                }
            }
        }
        assert!(laid > 0, "a layout of integers changes 7");
    }

    #[test]
    fn shapes_are_names_and_small_numbers() {
        assert_eq!(shape(&value(r#"{"a":1,"b":"x"}"#)), shape(&value(r#"{"a":1,"b":"yy"}"#)));
        assert_ne!(shape(&value(r#"{"a":1}"#)), shape(&value(r#"{"a":2}"#)));
        assert_ne!(shape(&value(r#"{"a":1}"#)), shape(&value(r#"{"b":1}"#)));
        assert_eq!(shape(&value(r#"{"a":123456789}"#)), shape(&value(r#"{"a":987654321}"#)), "times and ids");
    }
}
