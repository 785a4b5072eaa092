//! Messages that this node originates: replies and faults (sections 2.1, 2.2, 4.5 and 4.7; E02, E24, E45, E70), and the text
//! of every message that it sends.

use super::code::Code;
use super::failure::Failure;
use super::message::Message;
use super::node::Node;
use super::rules::Rules;
use super::{faults, ids, memorygram};
use crate::fault::planted;
use crate::json::{Object, Value};

/// The ttl of a message of its own.
const TTL: i64 = 8;

/// The Header of an answer: a messageId of its own, and the traceId and the roles of the message that it answers, where they
/// can be read.
fn header(inbound: Option<&Message>, rules: &Rules) -> Object {
    let inbound = inbound.and_then(Message::header);
    let trace = inbound.and_then(|header| header.text("traceId"));
    let trace = trace.map_or_else(ids::fresh, str::to_owned);
    let roles = inbound.and_then(|header| header.get("roles")).filter(|roles| roles.as_list().is_some());
    // 2.1: an identifier that no other message has.
    let mut id = if rules.fault.is("originated-id-constant") { "reply".to_owned() } else { ids::fresh() };
    let known = inbound.and_then(|header| header.text("messageId"));
    planted!(rules.fault, "message-id-of-the-request", known in known => id = known.to_owned());
    Object::from([
        ("messageId", id.into()),
        ("traceId", trace.into()),
        ("roles", roles.cloned().unwrap_or_else(|| Value::List(Vec::new()))),
        ("routingIntent", "direct".into()),
        ("ttl", TTL.into()),
    ])
}

/// The reply with this Body.
#[must_use]
pub(crate) fn reply(inbound: &Message, body: Object, rules: &Rules) -> String {
    let mut header = header(Some(inbound), rules);
    // 2.1: traceId correlates linked messages.
    planted!(rules.fault, "reply-trace-id-new", header.set("traceId", ids::fresh()));
    // 4.6: a MemoryGram may be empty.
    let mut graph = memorygram::empty();
    planted!(rules.fault, "reply-lists-null", ["nodes", "edges"].iter().for_each(|name| graph.set(name, Value::Null)));
    text(&Message::new(header, body, graph), rules)
}

/// A fault as a message: an envelope whose Body holds only `fault` (E02). There is one; a list only by mistake.
#[must_use]
pub(crate) fn fault(failures: &[Failure], inbound: Option<&Message>, node: &Node, rules: &Rules) -> String {
    let Some(failure) = failures.first() else { return String::new() };
    let code = failure.code.spelled(rules);
    // Other, E02: the code and a reason, without an envelope.
    if rules.is_other() {
        let fault = Object::from([("code", code.into()), ("reason", failure.reasons.join("; ").into())]);
        return Object::from([("fault", fault.into())]).write();
    }
    planted!(rules.fault, "fault-as-bare-object", return faults::answers::bare(code));
    let mut described: Vec<Value> = failures.iter().map(|failure| described(failure, code, node).into()).collect();
    let described = if described.len() > 1 { Value::List(described) } else { described.remove(0) };
    let body = Object::from([("fault", described)]);
    text(&Message::new(header(inbound, rules), body, memorygram::empty()), rules)
}

/// The members of a fault.
fn described(failure: &Failure, code: &str, node: &Node) -> Object {
    let reason = |text: &String| Object::from([("text", text.as_str().into()), ("lang", "en".into())]).into();
    let mut fault = Object::from([
        ("code", Object::from([("value", code.into())]).into()),
        ("reason", Value::List(failure.reasons.iter().map(reason).collect())),
        ("node", node.uri.as_str().into()),
    ]);
    if !failure.blocks.is_empty() {
        let blocks = failure.blocks.iter().map(|kind| kind.as_str().into()).collect();
        fault.set("detail", Object::from([("blocks", Value::List(blocks))]));
    }
    fault
}

/// The text of a message as it is sent: RFC 8259, UTF-8 without a byte order mark, each name once (References).
#[must_use]
pub(crate) fn text(message: &Message, rules: &Rules) -> String {
    let mut text = message.0.write();
    planted!(rules.fault, "byte-order-mark-written", text.insert(0, '\u{feff}'));
    planted!(rules.fault, "trailing-comma-written", text = faults::text::with_trailing_comma(&text));
    text
}

/// Where the code of a fault stands in messages that other nodes send; the form of this implementation first.
const CODE_PLACES: [&str; 5] = [
    "/Envelope/Body/fault/code/value",
    "/Envelope/Body/fault/code",
    "/Envelope/Body/Fault/code/value",
    "/Envelope/Body/Fault/code",
    "/fault/code",
];

/// The code of a message that is a fault; `None` if it is none.
#[must_use]
pub(crate) fn code_of(message: &Message) -> Option<&str> {
    CODE_PLACES.iter().find_map(|place| super::pointer::get(&message.0, place)?.as_text())
}

/// The pointer to the code in the faults of this implementation.
#[must_use]
pub(crate) fn code_place(rules: &Rules) -> &'static str {
    if rules.is_other() { CODE_PLACES[4] } else { CODE_PLACES[0] }
}

/// The fault that somebody asks for by its code, which may be one that this implementation does not use.
#[must_use]
pub(crate) fn requested_fault(
    code: &str,
    reason: &str,
    inbound: Option<&Message>,
    node: &Node,
    rules: &Rules,
) -> String {
    let failure = Failure::new(Code::parse(code).unwrap_or(Code::Receiver), reason);
    // 4.10: further codes may be defined.
    let code = if rules.fault.is("own-codes-replaced") { failure.code.name() } else { code };
    let body = Object::from([("fault", described(&failure, code, node).into())]);
    text(&Message::new(header(inbound, rules), body, memorygram::empty()), rules)
}
