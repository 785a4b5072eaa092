//! An exchange as expectations see it: what arrived, the answers to the sent message, and the outcome.

use super::identity::{Identity, NAMES};
use super::reading::{self, typ};
use super::{did, party, receipt};
use crate::exchange::{Arrival, ArrivalKind, Ended, Exchange, Transport};
use crate::protocol::{ObservationContext, base_view};
use crate::value::Value;
use crate::wire::cbor::{self, Limits};
use crate::wire::json;

/// Messages that are read of one exchange at most.
const MESSAGES: usize = 256;

/// Bytes of a frame that a view shows.
const SHOWN: usize = 256;

/// Types that need no answer (E42, E73).
const UNANSWERED: &[i128] = &[0x02, 0x03, 0x04, 0x05, 0x0f, 0x12, 0x13, 0x14, 0x71, 0x72];

/// Statuses of HTTP that refuse a message (binding, section 4).
fn refuses(status: i128) -> bool {
    (400..=417).contains(&status) || [422, 429, 431, 500, 501, 503].contains(&status)
}

/// Closes of a WebSocket that refuse a message.
const REFUSING_CLOSES: &[u16] = &[1002, 1003, 1007, 1008, 1009];

/// The type of a TCP frame that carries a message, and that of a transport error (RFC 002 section 4.3).
const MESSAGE_FRAME: u16 = 1;
const ERROR_FRAME: u16 = 6;

/// The sent message.
struct Sent {
    map: Option<Value>,
    id: Option<Value>,
    typ: i128,
}

/// Adds to the general observation:
///
/// | place | holds |
/// |---|---|
/// | `/outcome` | `accepted`, `refused`, `rejected` (HELLO_REJECT), `cached`, `quiet` (no answer arrived and none is required), `silent`, `other` |
/// | `/code` | the code of an ERROR, or of a transport ERROR frame |
/// | `/refusal` | how it was rejected: `error`, `frame`, `http`, `close` or `reset` |
/// | `/replies` | every message that arrived, as in [`reading::read`]; batches of replies and wrappers are unpacked; `rest` has the bytes after one that are no message |
/// | `/reply` | the first that answers the message |
/// | `/ack`, `/error`, `/response`, `/proc`, `/pong`, `/hello_ack`, `/hello_reject` | the first answer of that type |
/// | `/result_batch` | the BATCH that contained the answers |
/// | `/frames` | what arrived over a connection: `kind`, `code`, `size`, `hex`, and `cbor` if it is CBOR |
/// | `/sent` | the message that was sent |
/// | `/target/did`, `/target/named_key`, `/target/agreement`, `/target/frames` | the DID of the target, whether its document is known and has a key to verify its signatures with, whether it has one to encrypt for, and whether its frames over TCP are `typed` or `bare` |
/// | `/receipt/state`, `/receipt/payload` | a receipt of transfer in the answer: whether its signature is `valid`, and its payload |
/// | `/result`, `/rpc_code` | the answer of a library |
pub(super) fn observe(exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
    let mut view = base_view(exchange, context.target, context.clock);
    let sent = sent(exchange);
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            view.set_member(name, value);
        }
    };
    let (named_key, agreement) = party::keys_of_target(context);
    let framing = context.target.setting("frames").and_then(Value::as_text).unwrap_or("typed");
    put(
        "target",
        Some(Value::map([
            ("did", Value::text(party::target_did(context))),
            ("named_key", Value::Bool(named_key)),
            ("agreement", Value::Bool(agreement)),
            ("frames", Value::text(framing)),
        ])),
    );
    put("sent", sent.map.clone());
    // RFC 002 wraps data that is not a message in CBOR.
    let whole = exchange.sent.transport == Transport::Http && exchange.received.ended == Ended::Complete;
    if whole && let Ok(body) = cbor::parse(&exchange.received.body.0) {
        if let Some(Value::Bytes(receipt)) = body.member("receipt") {
            put("receipt", Some(receipt::read(receipt, context)));
        }
        put("body", Some(body));
    }
    let result = (exchange.sent.transport == Transport::Adapter).then(|| rpc(exchange)).flatten();
    if let Some(rpc) = &result {
        put("result", rpc.member("result").cloned());
        let code = rpc.member("error").and_then(|error| error.member("code")).cloned();
        put("status", Some(Value::Integer(if code.is_some() { 400 } else { 200 })));
        put("rpc_code", code.clone());
        if code == Some(Value::Integer(-32601)) {
            put("code", code);
        }
    }
    put("frames", frames(exchange));
    let (mut replies, batch) = replies(exchange, context);
    if exchange.operation != "poll" {
        let asked = asked(&sent);
        let is_shared = is_shared(&sent);
        replies.retain(|reply| concerns(reply, asked.as_deref(), is_shared));
    }
    let answer = |typs: &[i128]| replies.iter().find(|reply| answers(reply, &sent, typs)).cloned();
    // A message that a library was called to create is not an answer.
    let made = exchange.sent.transport == Transport::Adapter && sent.id.is_none();
    put("reply", replies.iter().find(|reply| made || answers(reply, &sent, &[])).cloned());
    for (name, typs) in [
        ("ack", &[typ::ACK][..]),
        ("error", &[typ::ERROR]),
        ("response", &[typ::RESPONSE]),
        ("proc", &[typ::PROC_OK, typ::PROC_FAIL]),
        ("pong", &[typ::PONG]),
        ("hello_ack", &[typ::HELLO_ACK]),
        ("hello_reject", &[typ::HELLO_REJECT]),
    ] {
        put(name, answer(typs));
    }
    put("result_batch", batch);
    let stateless = result.as_ref().and_then(|rpc| rpc.member("result"));
    let stateless =
        stateless.filter(|result| result.member("outcome").is_some_and(|outcome| outcome.as_text().is_some()));
    let amounts_to = match stateless {
        Some(result) if replies.is_empty() => of_library(result),
        _ => amount(exchange, &sent, &replies, context),
    };
    put("replies", Some(Value::Array(replies.into())));
    for (name, value) in amounts_to {
        put(name, Some(value));
    }
    view
}

/// Every message of the target in an exchange, with the message that it answers under `/answers`.
pub(super) fn emitted(exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
    let (mut messages, batch) = replies(exchange, context);
    if messages.is_empty() && batch.is_none() {
        return messages;
    }
    let sent = sent(exchange);
    if exchange.operation != "poll" {
        // Messages of other cases are checked there.
        let asked = asked(&sent);
        let is_shared = is_shared(&sent);
        messages.retain(|message| concerns(message, asked.as_deref(), is_shared));
    }
    messages.extend(batch);
    for message in &mut messages {
        message.set_member("operation", Value::text(&exchange.operation));
        message.set_member("actor", Value::text(&exchange.actor));
        if let Some(sent) = &sent.map {
            message.set_member("answers", sent.clone());
        }
    }
    // A relay forwards messages of others; a library creates messages in any name.
    let requested =
        exchange.sent.transport == Transport::Adapter && !matches!(exchange.operation.as_str(), "submit" | "deliver");
    let made = |view: &Value| {
        let from = view.member("message").and_then(|message| message.member("from")).and_then(Value::as_text);
        requested
            || from.is_none_or(|from| did::same_party(from, party::target_did(context)))
            || (answers(view, &sent, &[]) && from != sent.map.as_ref().and_then(|map| map.member("from")?.as_text()))
    };
    messages.retain(made);
    // The case chose the sender of what it had a library build, so unknown keys of that sender leave nothing open.
    let is_unresolved = |view: &Value| {
        let state = view.member("signed").and_then(|signed| signed.member("state"));
        state.and_then(Value::as_text) == Some("unresolved")
    };
    for message in messages.iter_mut().filter(|view| requested && is_unresolved(view)) {
        let because = Value::text("the case chose a sender whose keys are unknown");
        message.set_member("signed", Value::map([("state", Value::text("requested")), ("because", because)]));
    }
    messages
}

/// The DID that a message was sent from.
pub(super) fn sender(exchange: &Exchange) -> Option<String> {
    let from = sent(exchange).map?.member("from")?.as_text()?.to_owned();
    Some(did::without_fragment(&from).to_owned())
}

/// When the message that was sent over a wire expires (section 3.3): at the end of its ttl. A ttl of 0 expires at once.
pub(super) fn expires_ms(exchange: &Exchange) -> Option<i128> {
    if exchange.sent.transport == Transport::Adapter {
        return None;
    }
    let map = sent(exchange).map?;
    let number = |name: &str| map.member(name).and_then(Value::as_integer);
    number("ts")?.checked_add(number("ttl").filter(|ttl| *ttl > 0)?)
}

fn sent(exchange: &Exchange) -> Sent {
    let bytes = match exchange.sent.transport {
        Transport::Adapter => json::parse(&exchange.sent.body.0).ok().and_then(|call| {
            let hex = call.member("params")?.member("message")?.as_text()?.to_owned();
            data_encoding::HEXLOWER.decode(hex.as_bytes()).ok()
        }),
        _ => Some(exchange.sent.body.0.to_vec()),
    };
    Sent::of(bytes.as_deref())
}

impl Sent {
    /// A message as it was sent, valid or not.
    fn of(bytes: Option<&[u8]>) -> Self {
        let map = bytes
            .and_then(|bytes| cbor::read_prefix(bytes, Limits::default()).ok().map(|(document, _)| document.value));
        let map = map.filter(|value| value.as_map().is_some());
        let id = map.as_ref().and_then(|map| map.member("id")).cloned();
        let typ = map.as_ref().and_then(|map| map.member("typ")).and_then(Value::as_integer).unwrap_or(-1);
        Self { map, id, typ }
    }
}

/// Whether a message is an ERROR.
pub(super) fn is_error(message: &[u8]) -> bool {
    Sent::of(Some(message)).typ == typ::ERROR
}

/// The bytes of the id of a message.
pub(super) fn id_of(message: &[u8]) -> Option<Vec<u8>> {
    match Sent::of(Some(message)).id {
        Some(Value::Bytes(id)) => Some(id),
        _ => None,
    }
}

/// The id of a message that arrived over a connection, and the id that it answers.
pub(super) fn refers_to(arrival: &Arrival) -> Vec<Vec<u8>> {
    let is_message = match arrival.kind {
        ArrivalKind::WsBinary => true,
        ArrivalKind::TcpFrame => arrival.code.is_none_or(|kind| kind == MESSAGE_FRAME),
        _ => false,
    };
    let Some(map) = is_message.then(|| Sent::of(Some(&arrival.body.0)).map).flatten() else { return Vec::new() };
    let ids = ["id", "reply_to"].into_iter().filter_map(|name| map.member(name));
    ids.filter_map(|id| if let Value::Bytes(id) = id { Some(id.clone()) } else { None }).collect()
}

/// Whether the arrival is a message that does not answer the sent one, or a page of such messages.
pub(super) fn answers_another(message: &[u8], arrival: &Arrival) -> bool {
    let sent = Sent::of(Some(message));
    let asked = asked(&sent);
    let another = |bytes: &[u8]| {
        let said = Sent::of(Some(bytes));
        let reply_to = said.map.as_ref().and_then(|map| map.member("reply_to")).cloned();
        let of_item = matches!((&reply_to, &asked), (Some(reply_to), Some(asked)) if asked.contains(reply_to));
        let holds_several = match reply_to {
            Some(_) => sent.typ == typ::BATCH && asked.is_none(),
            None => said.typ == typ::BATCH,
        };
        let Some(map) = said.map.filter(|_| said.id.is_some() && !of_item && !holds_several) else { return false };
        !answers(&Value::map([("message", map)]), &sent, &[])
    };
    match arrival.kind {
        ArrivalKind::WsBinary => another(&arrival.body.0),
        ArrivalKind::TcpFrame => arrival.code.is_none_or(|kind| kind == MESSAGE_FRAME) && another(&arrival.body.0),
        ArrivalKind::Polled => {
            let page = cbor::parse(&arrival.body.0).ok();
            let messages = page.as_ref().and_then(|page| page.member("messages")).and_then(Value::as_array);
            messages.is_some_and(|all| all.iter().all(|one| matches!(one, Value::Bytes(bytes) if another(bytes))))
        }
        _ => false,
    }
}

fn rpc(exchange: &Exchange) -> Option<Value> {
    json::parse(&exchange.received.body.0).ok()
}

/// The parameters of a call of a library, and its result.
pub(super) fn call(exchange: &Exchange) -> Option<(Value, Value)> {
    let call = (exchange.sent.transport == Transport::Adapter).then(|| json::parse(&exchange.sent.body.0).ok())??;
    Some((call.member("params")?.clone(), rpc(exchange)?.member("result")?.clone()))
}

/// Whether a message answers the sent one and has one of these types (any type if empty).
fn answers(reply: &Value, sent: &Sent, typs: &[i128]) -> bool {
    let message = reply.member("message");
    let typ = message.and_then(|message| message.member("typ")).and_then(Value::as_integer).unwrap_or(-1);
    if !typs.is_empty() && !typs.contains(&typ) {
        return false;
    }
    match (message.and_then(|message| message.member("reply_to")), &sent.id) {
        (Some(reply_to), Some(id)) => reply_to == id,
        // E43: the answers to HELLO need no reply_to; a late one does not answer the message after it. An ERROR without
        // reply_to counts as the answer to the only possible message; cases on reply_to judge its absence.
        (None, _) if [typ::HELLO_ACK, typ::HELLO_REJECT].contains(&typ) => [typ::HELLO, typ::BATCH].contains(&sent.typ),
        (None, _) => typ == typ::ERROR,
        (Some(_), None) => typ == typ::ERROR,
    }
}

/// The ids that answers to a message may reference: its own, and those of packed messages. `None` if they are unknown.
fn asked(sent: &Sent) -> Option<Vec<Value>> {
    let mut ids = vec![sent.id.clone()?];
    if sent.typ == typ::BATCH {
        let items = sent.map.as_ref()?.member("body")?.member("items")?.as_array()?;
        let id = |item: &Value| match item {
            Value::Bytes(bytes) => cbor::read_prefix(bytes, Limits::default()).ok()?.0.value.member("id").cloned(),
            _ => None,
        };
        ids.extend(items.iter().filter_map(id));
    }
    Some(ids)
}

/// Whether a reply shows that a BATCH was opened. An ERROR does only if it names the id of an item: one that names another may
/// be about the container, which has an id that others read in another way.
fn is_of_items(reply: &Value, sent: &Sent) -> bool {
    let message = reply.member("message");
    let member = |name: &str| message.and_then(|message| message.member(name));
    if member("typ") != Some(&Value::Integer(typ::ERROR)) {
        return true;
    }
    let Some(Value::Bytes(id)) = member("reply_to") else { return false };
    let items = || sent.map.as_ref()?.member("body")?.member("items")?.as_array();
    let holds = |item: &Value| match item {
        Value::Bytes(bytes) => !id.is_empty() && bytes.windows(id.len()).any(|window| window == id.as_slice()),
        other => matches!(other.member("id"), Some(Value::Bytes(own)) if own == id),
    };
    items().is_some_and(|items| items.iter().any(holds))
}

/// Whether a message may answer the sent one: a poll for one sender returns the answers to all its messages, those
/// of other cases among them. An ERROR without `reply_to` answers a message whose id cannot be read (E32); other cases send as
/// a named party too.
fn concerns(reply: &Value, asked: Option<&[Value]>, is_shared: bool) -> bool {
    let polled = reply.member("channel").and_then(Value::as_text) == Some("polled");
    let member = |name: &str| reply.member("message").and_then(|message| message.member(name));
    let is_id = |id: &Value| matches!(id, Value::Bytes(bytes) if bytes.len() == 16);
    match (polled, member("reply_to"), asked) {
        (true, Some(reply_to), Some(asked)) => asked.contains(reply_to),
        (true, None, Some([id, ..])) if is_shared && is_id(id) => member("typ") != Some(&Value::Integer(typ::ERROR)),
        _ => true,
    }
}

/// Whether several cases send messages from the sender of this one.
fn is_shared(sent: &Sent) -> bool {
    let from = sent.map.as_ref().and_then(|map| map.member("from")).and_then(Value::as_text);
    from.and_then(Identity::requested).is_none_or(|identity| NAMES.contains(&identity.name()))
}

/// Every message in the arrivals, and the BATCH that contained the answers.
fn replies(exchange: &Exchange, context: &ObservationContext<'_>) -> (Vec<Value>, Option<Value>) {
    let mut found = Vec::new();
    let mut batch = None;
    let received = &exchange.received;
    match exchange.sent.transport {
        Transport::Adapter => {
            let result = rpc(exchange).and_then(|rpc| rpc.member("result").cloned());
            for bytes in result.iter().flat_map(made_by_library) {
                unpack(&bytes, "result", context, &mut found, &mut batch);
            }
        }
        _ if received.ended == Ended::Complete && !received.body.is_empty() => match exchange.operation.as_str() {
            "poll" => wrapped(&received.body.0, context, &mut found),
            "document" | "control" | "summon" | "forward" | "commit" => {}
            _ => unpack(&received.body.0, "response", context, &mut found, &mut batch),
        },
        _ => {}
    }
    for arrival in &received.arrived {
        match (arrival.kind, arrival.code) {
            (ArrivalKind::WsBinary, _) => unpack(&arrival.body.0, "ws", context, &mut found, &mut batch),
            (ArrivalKind::TcpFrame, Some(MESSAGE_FRAME) | None) => {
                unpack(&arrival.body.0, "tcp", context, &mut found, &mut batch);
            }
            (ArrivalKind::Polled, _) => wrapped(&arrival.body.0, context, &mut found),
            (ArrivalKind::CalledBack, _) => unpack(&arrival.body.0, "called-back", context, &mut found, &mut batch),
            _ => {}
        }
    }
    found.truncate(MESSAGES);
    (found, batch)
}

/// The messages in the result of a library: the members that hold one, or several.
fn made_by_library(result: &Value) -> Vec<Vec<u8>> {
    let hex = |value: &Value| value.as_text().and_then(|text| data_encoding::HEXLOWER.decode(text.as_bytes()).ok());
    let mut found: Vec<Vec<u8>> = result.member("message").and_then(hex).into_iter().collect();
    for name in ["replies", "sent"] {
        found.extend(result.member(name).and_then(Value::as_array).unwrap_or_default().iter().filter_map(hex));
    }
    found
}

/// Reads bytes as one message, a BATCH of replies, or a sequence of messages (E70). Bytes after a message that are not another one
/// are its `/rest`.
fn unpack(
    bytes: &[u8],
    channel: &str,
    context: &ObservationContext<'_>,
    found: &mut Vec<Value>,
    batch: &mut Option<Value>,
) {
    let mut rest = bytes;
    while !rest.is_empty() && found.len() < MESSAGES {
        let next = cbor::read_prefix(rest, Limits::default()).ok();
        let one = next.as_ref().map_or(rest, |(_, after)| &rest[..rest.len() - after.len()]);
        rest = &rest[one.len()..];
        // A wrapper of RFC 002 is not an incomplete message.
        let is_message = |map: &Value| ["id", "typ", "sig"].iter().any(|name| map.member(name).is_some());
        let view = next.and_then(|_| reading::read(one, channel, context));
        let Some(view) = view.filter(|view| view.member("message").is_some_and(is_message)) else {
            if let Some(last) = found.last_mut() {
                let shown = &one[..one.len().min(SHOWN)];
                last.set_member("rest", Value::text(data_encoding::HEXLOWER.encode(shown)));
            }
            continue;
        };
        let is_batch = view.member("message").and_then(|map| map.member("typ")).and_then(Value::as_integer);
        let items = view.member("body").and_then(|body| body.member("items")).and_then(Value::as_array);
        match (is_batch == Some(typ::BATCH), items) {
            (true, Some(items)) => {
                let items = items.iter().filter_map(|item| match item {
                    Value::Bytes(bytes) => reading::read(bytes, channel, context),
                    _ => None,
                });
                found.extend(items);
                batch.get_or_insert(view);
            }
            _ => found.push(view),
        }
    }
}

/// The messages of a poll response (RFC 002 section 6.2).
fn wrapped(bytes: &[u8], context: &ObservationContext<'_>, found: &mut Vec<Value>) {
    let Ok(wrapper) = cbor::parse(bytes) else { return };
    for item in wrapper.member("messages").and_then(Value::as_array).unwrap_or_default() {
        if let Value::Bytes(bytes) = item
            && !found.iter().any(|known| {
                known.member("hex").and_then(Value::as_text) == Some(&data_encoding::HEXLOWER.encode(bytes))
            })
        {
            found.extend(reading::read(bytes, "polled", context));
        }
    }
}

fn frames(exchange: &Exchange) -> Option<Value> {
    if !exchange.sent.transport.is_channel() && exchange.received.arrived.is_empty() {
        return None;
    }
    let frames = exchange.received.arrived.iter().map(|arrival| {
        let shown = &arrival.body.0[..arrival.body.len().min(SHOWN)];
        let mut view = vec![
            ("kind", Value::text(arrival.kind.name())),
            ("size", Value::from(arrival.body.len() as u64)),
            ("hex", Value::text(data_encoding::HEXLOWER.encode(shown))),
            ("at_ms", Value::from(arrival.at_ms)),
        ];
        view.extend(arrival.code.map(|code| ("code", Value::from(u64::from(code)))));
        view.extend(
            arrival
                .body
                .text()
                .filter(|_| arrival.kind.name().starts_with("ws-"))
                .map(|text| ("text", Value::text(text))),
        );
        view.extend(cbor::parse(&arrival.body.0).ok().map(|value| ("cbor", value)));
        Value::map(view)
    });
    Some(Value::Array(frames.collect()))
}

/// The outcome in the answer of a library: the answer itself if stateless, a member of it otherwise.
fn outcome_of(result: &Value) -> Option<&Value> {
    match result.member("outcome")? {
        Value::Text(_) => Some(result),
        nested => Some(nested),
    }
}

/// The outcome of a stateless answer of a library.
fn of_library(result: &Value) -> Vec<(&'static str, Value)> {
    let code = || result.member("code").map(|code| ("code", code.clone()));
    match result.member("outcome").and_then(Value::as_text) {
        Some("accept") => vec![("outcome", Value::text("accepted"))],
        Some("cached") => vec![("outcome", Value::text("cached"))],
        Some("reject") => {
            let mut view = vec![("outcome", Value::text("refused")), ("refusal", Value::text("error"))];
            view.extend(code());
            view
        }
        _ => vec![("outcome", Value::text("other"))],
    }
}

/// The outcome of an answer (binding, section 4).
fn amount(
    exchange: &Exchange,
    sent: &Sent,
    replies: &[Value],
    context: &ObservationContext<'_>,
) -> Vec<(&'static str, Value)> {
    let setting = |name: &str| context.target.setting(name).and_then(Value::as_text);
    let received = &exchange.received;
    let status = received.status.map(i128::from);
    let refused = |how: &str, code: Option<Value>| {
        let mut view = vec![("outcome", Value::text("refused")), ("refusal", Value::text(how))];
        view.extend(code.map(|code| ("code", code)));
        view
    };
    let outcome = |word: &str| vec![("outcome", Value::text(word))];
    if let Some(error) = replies.iter().find(|reply| answers(reply, sent, &[typ::ERROR])) {
        return refused("error", error.member("body").and_then(|body| body.member("code")).cloned());
    }
    let transport_error = received
        .arrived
        .iter()
        .find(|arrival| arrival.kind == ArrivalKind::TcpFrame && arrival.code == Some(ERROR_FRAME));
    if let Some(error) = transport_error {
        return refused("frame", cbor::parse(&error.body.0).ok().and_then(|body| body.member("code").cloned()));
    }
    if replies.iter().any(|reply| answers(reply, sent, &[typ::HELLO_REJECT])) {
        return outcome("rejected");
    }
    let good = [typ::ACK, typ::PROC_OK, typ::PROC_FAIL, typ::RESPONSE, typ::PONG, typ::HELLO_ACK];
    if replies.iter().any(|reply| answers(reply, sent, &good)) {
        return outcome("accepted");
    }
    // A batch is answered by what answers its items (section 4.5).
    if sent.typ == typ::BATCH && replies.iter().any(|reply| is_of_items(reply, sent)) {
        return outcome("accepted");
    }
    if let Some(status) = status.filter(|status| refuses(*status)) {
        // The hints of RFC 002 section 6.4, for a target that is declared to have no other way (E32).
        let hinted = match status {
            400 | 413 => Some(1001),
            401 | 403 => Some(3001),
            404 => Some(2001),
            429 | 503 => Some(2003),
            500 => Some(5001),
            _ => None,
        };
        let code = hinted.filter(|_| setting("errors") == Some("transport"));
        return refused("http", code.map(Value::Integer));
    }
    let close =
        received.arrived.iter().find(|arrival| arrival.kind == ArrivalKind::WsClose).and_then(|arrival| arrival.code);
    if exchange.sent.transport.is_channel() {
        if let Some(code) = close {
            let how = if REFUSING_CLOSES.contains(&code) { "close" } else { "closed" };
            return refused(how, None);
        }
        if let Ended::Closed(why) = &received.ended {
            return refused(if why.contains("lost") { "reset" } else { "close" }, None);
        }
    }
    let success = status.is_some_and(|status| (200..300).contains(&status));
    if success && setting("ack") == Some("transport") {
        return outcome("accepted");
    }
    // A message that a relay forwards meanwhile is not its answer.
    let own = |reply: &&Value| {
        let from = reply.member("message").and_then(|message| message.member("from")).and_then(Value::as_text);
        from.is_none_or(|from| did::same_party(from, party::target_did(context)))
    };
    let spoken = replies.iter().any(|reply| own(&reply) && !is_late_result(reply, sent));
    if !spoken && UNANSWERED.contains(&sent.typ) && (success || exchange.sent.transport.is_channel()) {
        return outcome("quiet");
    }
    if exchange.sent.transport == Transport::Adapter && !spoken {
        // A silent node reports this by its outcome.
        let result = rpc(exchange).and_then(|rpc| rpc.member("result").cloned());
        return match result.as_ref().and_then(outcome_of).and_then(|outcome| outcome.member("outcome")?.as_text()) {
            Some("accept") if UNANSWERED.contains(&sent.typ) => outcome("quiet"),
            _ => outcome("silent"),
        };
    }
    outcome(if spoken { "other" } else { "silent" })
}

/// Whether a reply is the result of processing another message. It may come at any time after the receipt, so also while
/// proofmark waits for the answer to the next message.
fn is_late_result(reply: &Value, sent: &Sent) -> bool {
    let Some(message) = reply.member("message") else { return false };
    let result = [typ::PROC_OK, typ::PROC_FAIL, typ::RESPONSE].map(Value::Integer);
    let of_another = message.member("reply_to").is_some_and(|id| Some(id) != sent.id.as_ref());
    of_another && message.member("typ").is_some_and(|typ| result.contains(typ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONTAINER: &[u8] = &[1; 16];
    const ITEM: &[u8] = &[2; 16];

    fn reply(typ: i128, reply_to: Option<&[u8]>) -> Value {
        let mut message = Value::map([("typ", Value::Integer(typ))]);
        if let Some(id) = reply_to {
            message.set_member("reply_to", Value::Bytes(id.to_vec()));
        }
        Value::map([("message", message)])
    }

    /// A BATCH with these items.
    fn batch(items: Vec<Value>) -> Sent {
        let id = Value::Bytes(CONTAINER.to_vec());
        let body = Value::map([("items", Value::Array(items.into()))]);
        Sent {
            map: Some(Value::map([("id", id.clone()), ("typ", Value::Integer(typ::BATCH)), ("body", body)])),
            id: Some(id),
            typ: typ::BATCH,
        }
    }

    fn item() -> Value {
        let id = Value::Bytes(ITEM.to_vec());
        Value::map([("id", id)])
    }

    #[test]
    fn an_error_shows_that_a_batch_was_opened_only_if_it_names_an_item() {
        let bytes = [&[0xa1, 0x62, b'i', b'd', 0x50], ITEM].concat();
        for sent in [batch(vec![item()]), batch(vec![Value::Bytes(bytes)])] {
            assert!(is_of_items(&reply(typ::ERROR, Some(ITEM)), &sent));
            // A container with two ids may be rejected under the id that was not read.
            assert!(!is_of_items(&reply(typ::ERROR, Some(&[3; 16])), &sent));
            assert!(!is_of_items(&reply(typ::ERROR, Some(CONTAINER)), &sent));
            assert!(!is_of_items(&reply(typ::ERROR, Some(&[])), &sent));
            assert!(!is_of_items(&reply(typ::ERROR, None), &sent));
        }
        assert!(!is_of_items(&reply(typ::ERROR, Some(ITEM)), &batch(Vec::new())));
    }

    #[test]
    fn a_result_of_another_message_is_no_word_about_this_one() {
        let sent = Sent { map: None, id: Some(Value::Bytes(ITEM.to_vec())), typ: 16 };
        for typ in [typ::PROC_OK, typ::PROC_FAIL, typ::RESPONSE] {
            assert!(is_late_result(&reply(typ, Some(CONTAINER)), &sent));
            assert!(!is_late_result(&reply(typ, Some(ITEM)), &sent));
            assert!(!is_late_result(&reply(typ, None), &sent));
        }
        assert!(!is_late_result(&reply(typ::ACK, Some(CONTAINER)), &sent));
    }

    #[test]
    fn any_other_answer_to_a_batch_shows_that_it_was_opened() {
        assert!(is_of_items(&reply(typ::ACK, Some(&[3; 16])), &batch(vec![item()])));
        assert!(is_of_items(&reply(typ::RESPONSE, None), &batch(vec![item()])));
    }
}
