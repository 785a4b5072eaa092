//! What expectations see of an answer: messages, acknowledgements, error entries and task records, wherever the target keeps
//! them (binding, sections 3 to 6 and 11).

use sha2::{Digest, Sha256};

use super::id;
use crate::exchange::{Exchange, Transport};
use crate::protocol::{ObservationContext, base_view};
use crate::target::Target;
use crate::value::{Path, Value};
use crate::wire::json;

/// Names under which an acknowledgement may have its parts (binding, section 6).
const ACK_NAMES: &[(&str, &[&str])] = &[
    ("msg_id", &["msg_id", "message_id", "ack_of", "ack_for", "ref"]),
    ("actor", &["actor", "from", "by", "role"]),
    ("ts", &["ts", "ack_at", "acked_at", "timestamp"]),
    ("ack_status", &["ack_status", "status"]),
    ("task_id", &["task_id"]),
];

/// The places of the messages of each type among the outputs of an engine.
const OF_TYPE: &[(&str, &str)] = &[
    ("dispatches", "task_dispatch"),
    ("results", "task_result"),
    ("requests", "review_request"),
    ("verdicts", "review_verdict"),
    ("escalations", "escalation"),
];

/// Names under which a task record may have its parts (binding, section 6).
const TASK_NAMES: &[(&str, &[&str])] =
    &[("task_id", &["task_id", "id"]), ("reject_count", &["reject_count", "qa_retry_count"])];

/// Adds to the general observation:
///
/// | place | holds |
/// |---|---|
/// | `/verdict` | `accepted`, `refused`, `handed-on` (the reply of a store that does not validate decides nothing), or `failed` |
/// | `/records` | stored messages: `message`, `written_by`, `stored_at`, `seq` |
/// | `/messages` | the same, messages only; of an engine those in its outputs |
/// | `/message` | the only message of the answer |
/// | `/dispatches`, `/results`, `/requests`, `/verdicts`, `/escalations` | the messages of each type in the outputs of an engine |
/// | `/acks` | acknowledgements: `msg_id`, `actor`, `ts`, `ack_status` |
/// | `/errors` | entries of the error log, or the errors that a library reports |
/// | `/unnamed` | the entries of the error log that name no message |
/// | `/logged` | how the new entries of the error log show the refusal of what was sent: `named`, `unnamed` or `missing`; `not-refused` if there was none |
/// | `/task` | the task record, with the names of the binding |
/// | `/outputs` | the outputs of an engine |
/// | `/sent-sha256` | SHA-256 of the bytes that were sent |
/// | `/result`, `/code` | result and error code of an adapter |
pub(super) fn observe(exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
    let mut view = base_view(exchange, context.target, context.clock);
    if exchange.sent.transport == Transport::Adapter {
        adapter_answer(exchange, &mut view);
    }
    let put = |view: &mut Value, name: &str, value: Option<Value>| {
        if let Some(value) = value {
            view.set_member(name, value);
        }
    };
    let digest = Sha256::digest(exchange.sent.body.0.as_slice());
    view.set_member("sent-sha256", Value::text(data_encoding::HEXLOWER.encode(&digest)));
    if view.member("ended").is_none_or(|ended| ended.as_text() == Some("complete")) {
        view.set_member("verdict", Value::text(verdict(exchange, context.target, &view)));
    }
    let records = records(exchange, context.target, &view);
    if let Some(records) = &records {
        let messages: Vec<Value> = records.iter().filter_map(|record| record.member("message").cloned()).collect();
        if let [only] = messages.as_slice() {
            view.set_member("message", only.clone());
        }
        if view.member("outputs").is_some() {
            for (name, kind) in OF_TYPE {
                let is_it = |message: &&Value| message.member("type").and_then(Value::as_text) == Some(kind);
                view.set_member(name, Value::array(messages.iter().filter(is_it).cloned()));
            }
        }
        view.set_member("messages", Value::Array(messages.into()));
    }
    put(&mut view, "records", records.map(Value::array));
    let acks = acks(exchange, &view);
    put(&mut view, "acks", acks);
    let errors = errors(exchange, &view);
    if exchange.operation == "submit" && exchange.sent.transport == Transport::Http {
        let entries = errors.as_ref().and_then(Value::as_array).unwrap_or_default();
        let logged = if is_refusal(&view) { logged(exchange, entries, &view) } else { "not-refused" };
        view.set_member("logged", Value::text(logged));
    }
    if exchange.operation == "list-errors" {
        let unnamed = |errors: &Value| {
            Value::array(errors.as_array().unwrap_or_default().iter().filter(|entry| is_unnamed(entry)).cloned())
        };
        put(&mut view, "unnamed", errors.as_ref().map(unnamed));
    }
    put(&mut view, "errors", errors);
    let task = task(exchange, &view);
    put(&mut view, "task", task);
    view
}

/// Every record of stored messages in an answer, in the order of the answer.
pub(super) fn stored(exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
    let mut view = base_view(exchange, context.target, context.clock);
    if exchange.sent.transport == Transport::Adapter {
        adapter_answer(exchange, &mut view);
    }
    records(exchange, context.target, &view).unwrap_or_default()
}

/// Whether the reply to a submission says nothing about the receiver: in a tree, and where proofmark hosts the store.
pub(super) fn is_handed_on(exchange: &Exchange, target: &Target) -> bool {
    let role = target.kinds.iter().any(|kind| kind == "role");
    exchange.sent.transport == Transport::Tree || (role && exchange.sent.transport == Transport::Http)
}

fn verdict(exchange: &Exchange, target: &Target, view: &Value) -> &'static str {
    let status = view.member("status").and_then(Value::as_integer).unwrap_or(0);
    if let Some(Value::Bool(valid)) = view.member("result").and_then(|result| result.member("valid")) {
        return if *valid { "accepted" } else { "refused" };
    }
    match status {
        200..=299 if exchange.operation == "submit" && is_handed_on(exchange, target) => "handed-on",
        200..=299 => "accepted",
        400..=499 => "refused",
        _ => "failed",
    }
}

/// The answer of an adapter in the form of an HTTP answer.
fn adapter_answer(exchange: &Exchange, view: &mut Value) {
    /// The code for an operation that a library does not have (binding, section 11), and that of JSON-RPC.
    const UNSUPPORTED: i128 = -32001;
    const UNKNOWN_METHOD: i128 = -32601;
    let Ok(answer) = json::parse(&exchange.received.body.0) else { return };
    if let Some(error) = answer.member("error").filter(|error| **error != Value::Null) {
        let code = error.member("code").and_then(Value::as_integer).unwrap_or(0);
        let status = match code {
            UNSUPPORTED | UNKNOWN_METHOD => 501,
            -32099..=-32002 | -32603 | -32000 if code == -32000 || code == -32603 => 500,
            _ => 400,
        };
        view.set_member("status", Value::Integer(status));
        view.set_member("code", Value::Integer(if code == UNSUPPORTED { UNKNOWN_METHOD } else { code }));
        view.set_member("body", error.clone());
        return;
    }
    let Some(result) = answer.member("result") else { return };
    view.set_member("status", Value::Integer(200));
    view.set_member("result", result.clone());
    if let Some(outputs) = result.member("outputs") {
        view.set_member("outputs", with_withheld(outputs, exchange));
    }
}

/// The outputs of an engine, and those that it handed out only when it was advanced.
fn with_withheld(outputs: &Value, exchange: &Exchange) -> Value {
    let Some(now) = listed(outputs) else { return outputs.clone() };
    let turns = exchange.received.arrived.iter().filter_map(|arrival| json::parse(&arrival.body.0).ok());
    let of_turn = |turn: Value| listed(turn.member("result")?.member("outputs")?).map(<[Value]>::to_vec);
    Value::array(now.iter().cloned().chain(turns.filter_map(of_turn).flatten()))
}

/// The elements of a list. An adapter in a language with typed lists may write an empty one as null, which says nothing about the
/// library behind it.
pub(super) fn listed(outputs: &Value) -> Option<&[Value]> {
    if *outputs == Value::Null { Some(&[]) } else { outputs.as_array() }
}

/// The value at the first of the places that a target file gives for a name.
fn placed<'v>(target: &Target, name: &str, value: &'v Value) -> Option<&'v Value> {
    let places = target.places.get(name)?;
    places.iter().filter_map(|place| Path::parse(place).ok()).find_map(|path| path.resolve(value))
}

/// A stored message with what the store says about it.
fn record(found: &Value, target: &Target) -> Option<Value> {
    let message = placed(target, "message", found)
        .or_else(|| found.member("message"))
        .or_else(|| found.member("msg_id").is_some().then_some(found))?;
    let mut record = Value::map([("message", message.clone())]);
    for name in ["written_by", "stored_at", "seq"] {
        let value = placed(target, name, found).or_else(|| found.member(name));
        if let Some(value) = value.filter(|value| **value != Value::Null) {
            record.set_member(name, value.clone());
        }
    }
    // A bare envelope names its writer itself.
    if record.member("written_by").is_none()
        && let Some(from) = message.member("from")
    {
        record.set_member("written_by", from.clone());
    }
    Some(record)
}

fn records(exchange: &Exchange, target: &Target, view: &Value) -> Option<Vec<Value>> {
    let of_list = |list: &Value| -> Vec<Value> {
        list.as_array().unwrap_or_default().iter().filter_map(|found| record(found, target)).collect()
    };
    let status = view.member("status").and_then(Value::as_integer).unwrap_or(0);
    if let Some(outputs) = view.member("outputs") {
        let messages = outputs.as_array()?.iter().filter_map(|output| output.member("message"));
        return Some(messages.filter_map(|message| record(message, target)).collect());
    }
    match exchange.operation.as_str() {
        "list-messages" | "list-inbox" if exchange.sent.transport != Transport::Tree => {
            let body = view.member("body").filter(|_| (200..300).contains(&status))?;
            let mut records = of_list(body.member("messages").unwrap_or(body));
            // A list of bare envelopes says with `next` alone how far it goes.
            if let (Some(last), Some(next)) = (records.last_mut(), body.member("next"))
                && last.member("seq").is_none()
            {
                last.set_member("seq", next.clone());
            }
            Some(records)
        }
        "get-message" if exchange.sent.transport != Transport::Tree => {
            let body = view.member("body").filter(|_| (200..300).contains(&status))?;
            Some(record(body, target).into_iter().collect())
        }
        "list-messages" | "get-message" => {
            let mut found: Vec<(i128, Value)> = Vec::new();
            for file in view.member("files").and_then(Value::as_array).unwrap_or_default() {
                let Some(mut one) = file.member("json").and_then(|json| record(json, target)) else { continue };
                let author = file.member("author").filter(|author| **author != Value::Null);
                if let Some(author) = author {
                    one.set_member("written_by", author.clone());
                }
                let modified = file.member("modified_ms").and_then(Value::as_integer).unwrap_or(0);
                one.set_member("modified_ms", Value::Integer(modified));
                found.push((modified, one));
            }
            // Files with one time are in the order of the times in their ids.
            let made = |record: &Value| -> Option<i128> {
                let id = record.member("message")?.member("msg_id")?.as_text()?;
                id::parts(id)?.digits.parse().ok()
            };
            found.sort_by_key(|(modified, record)| (*modified, made(record)));
            Some(found.into_iter().map(|(_, record)| record).collect())
        }
        "build" => {
            view.member("result")?.member("message").and_then(|message| record(message, target)).map(|one| vec![one])
        }
        _ => None,
    }
}

/// An object with the names of the binding in place of its own.
fn named(found: &Value, names: &[(&str, &[&str])]) -> Value {
    let mut renamed = found.clone();
    for (name, aliases) in names {
        if let Some(value) = aliases.iter().find_map(|alias| found.member(alias)) {
            renamed.set_member(name, value.clone());
        }
    }
    renamed
}

/// Whether a text has the form of a member.
type Form = fn(&str) -> bool;

/// An acknowledgement with the names of the binding. What it has under other names is recognised by its form (E85).
fn acknowledgement(found: &Value) -> Value {
    const ROLES: &[&str] = &["admin", "coordinator", "executor", "reviewer", "system"];
    let mut ack = named(found, ACK_NAMES);
    let texts = || found.as_map().into_iter().flatten().filter_map(|(_, value)| value.as_text());
    let by_form: [(&str, Form); 3] = [
        ("msg_id", |text| id::parts(text).is_some()),
        ("actor", |text| ROLES.contains(&text)),
        ("task_id", id::is_task),
    ];
    for (name, is_it) in by_form {
        if ack.member(name).is_none()
            && let Some(text) = texts().find(|text| is_it(text))
        {
            ack.set_member(name, Value::text(text));
        }
    }
    ack
}

fn acks(exchange: &Exchange, view: &Value) -> Option<Value> {
    let all = |list: &[Value]| Value::Array(list.iter().map(acknowledgement).collect());
    if let Some(outputs) = view.member("outputs").and_then(Value::as_array) {
        let found: Vec<Value> = outputs.iter().filter_map(|output| output.member("ack").cloned()).collect();
        return Some(all(&found));
    }
    match exchange.operation.as_str() {
        "list-acks" | "acks-of-task" => match view.member("files") {
            Some(files) => {
                let files = files.as_array()?.iter().filter_map(|file| file.member("json").cloned());
                Some(all(&files.collect::<Vec<_>>()))
            }
            None => {
                let body = view.member("body")?;
                body.member("acks").unwrap_or(body).as_array().map(all)
            }
        },
        "make-ack" => view.member("result")?.member("ack").map(|ack| all(std::slice::from_ref(ack))),
        _ => None,
    }
}

/// The entries of a page of the error log, which may be a bare list.
pub(super) fn entries(page: &Value) -> Option<&[Value]> {
    page.member("errors").unwrap_or(page).as_array()
}

fn errors(exchange: &Exchange, view: &Value) -> Option<Value> {
    if let Some(outputs) = view.member("outputs").and_then(Value::as_array) {
        return Some(Value::Array(outputs.iter().filter_map(|output| output.member("entry").cloned()).collect()));
    }
    match exchange.operation.as_str() {
        "list-errors" => match view.member("files") {
            Some(files) => {
                let texts = files.as_array()?.iter().filter_map(|file| file.member("text").and_then(Value::as_text));
                let lines = texts.flat_map(str::lines).filter(|line| !line.trim().is_empty());
                // A line that is not JSON is an entry all the same.
                let entry = |line: &str| json::parse(line.as_bytes()).unwrap_or_else(|_| Value::text(line));
                Some(Value::Array(lines.map(entry).collect()))
            }
            None => entries(view.member("body")?).map(|entries| Value::Array(entries.to_vec().into())),
        },
        // The entries that were read after the message was refused.
        "submit" if exchange.sent.transport == Transport::Http => {
            let pages = exchange.received.arrived.iter().filter_map(|arrival| json::parse(&arrival.body.0).ok());
            let of_page = |page: Value| entries(&page).unwrap_or_default().to_vec();
            Some(Value::Array(pages.flat_map(of_page).collect()))
        }
        _ => {
            let answer = view.member("result").or_else(|| view.member("body"))?;
            answer.member("errors").filter(|errors| errors.as_array().is_some()).cloned()
        }
    }
}

/// Whether a message was refused. With status 401 the caller was, before the message was read.
fn is_refusal(view: &Value) -> bool {
    let refused = view.member("verdict").and_then(Value::as_text) == Some("refused");
    refused && view.member("status").and_then(Value::as_integer) != Some(401)
}

/// How entries of the error log show that what was sent was refused (binding, section 5; E03): one names the message or the digest
/// of its body; one names no message at all, where the message has no id or the log never names one; or none does.
fn logged(exchange: &Exchange, entries: &[Value], view: &Value) -> &'static str {
    let sent = json::parse(&exchange.sent.body.0).ok();
    let id = sent.as_ref().and_then(|sent| sent.member("msg_id")).and_then(Value::as_text);
    refusal_in(entries, id.filter(|id| !id.is_empty()), view.member("sent-sha256").and_then(Value::as_text))
}

/// As [`logged`], for a message with an id and a digest.
fn refusal_in(entries: &[Value], id: Option<&str>, digest: Option<&str>) -> &'static str {
    let few = id.is_none_or(|id| id::parts(id).is_none());
    let names = |entry: &Value, name: Option<&str>| {
        name.is_some_and(|name| any_text(entry, &|text| if few { has_word(text, name) } else { text.contains(name) }))
    };
    let holds = |entry: &Value, digest: Option<&str>| {
        digest.is_some_and(|digest| any_text(entry, &|text| text.to_ascii_lowercase().contains(digest)))
    };
    if entries.iter().any(|entry| names(entry, id) || holds(entry, digest)) {
        return "named";
    }
    let unnamed = if few { entries.iter().any(is_unnamed) } else { entries.iter().all(is_unnamed) };
    if unnamed && !entries.is_empty() { "unnamed" } else { "missing" }
}

/// Whether a text is a name, or has it between characters that are no part of a word: a short one is in many words by chance.
/// White space around the name does not matter.
fn has_word(text: &str, name: &str) -> bool {
    let name = name.trim();
    let bounds = |at: usize| {
        let before = text[..at].chars().next_back();
        let after = text[at + name.len()..].chars().next();
        [before, after].into_iter().flatten().all(|c| !c.is_alphanumeric())
    };
    !name.is_empty() && text.match_indices(name).any(|(at, _)| bounds(at))
}

/// Whether an entry of the error log names no message, as E03 permits.
fn is_unnamed(entry: &Value) -> bool {
    !any_text(entry, &names_something)
}

/// Whether a text of an entry has the id of a message or a SHA-256 in it.
fn names_something(text: &str) -> bool {
    let word = |text: &str| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    id::TYPES.iter().any(|kind| text.contains(&format!("{kind}-T-")))
        || text.split(|c: char| !c.is_ascii_alphanumeric()).any(word)
}

/// Whether some text of a value, at any depth, is as wanted.
fn any_text(value: &Value, wanted: &dyn Fn(&str) -> bool) -> bool {
    match value {
        Value::Text(text) => wanted(text),
        Value::Array(items) => items.iter().any(|item| any_text(item, wanted)),
        Value::Map(members) => members.iter().any(|(_, member)| any_text(member, wanted)),
        _ => false,
    }
}

fn task(exchange: &Exchange, view: &Value) -> Option<Value> {
    let status = view.member("status").and_then(Value::as_integer).unwrap_or(0);
    let found = match (exchange.operation.as_str(), view.member("files")) {
        ("get-task", Some(files)) => files.as_array()?.first()?.member("json").cloned()?,
        ("get-task", None) => view.member("body").filter(|_| (200..300).contains(&status))?.clone(),
        ("engine-state", _) => view.member("result")?.clone(),
        _ => return None,
    };
    found.as_map().is_some().then(|| named(&found, TASK_NAMES))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How an entry with this text shows that a message with this id was refused.
    fn seen(text: &str, id: &str) -> &'static str {
        let entry = Value::map([("detail", Value::text(text))]);
        refusal_in(&[entry], Some(id), Some(&"a1".repeat(32)))
    }

    #[test]
    fn an_entry_names_a_message_in_a_member_or_in_a_sentence() {
        let valid = "task_dispatch-T-2341-359-1795669246301";
        for text in [valid, "bus refused task_dispatch-T-2341-359-1795669246301: no", &"A1".repeat(32)] {
            assert_eq!(seen(text, valid), "named", "{text}");
        }
        let broken = [
            "abc",
            "task_dispatch-T-2341-359-17405x",
            "task_dispatch-T-2341-359-",
            "task_dispatch-T-2341-359-...",
            " task_dispatch-T-2341-359-1795669246301",
            "task_dispatch-T-2341-359-1795669246301 ",
        ];
        for id in broken {
            assert_eq!(seen(id, id), "named", "{id}");
            assert_eq!(seen(&format!("bus refused {id}: not {{type}}-{{task_id}}-{{unix_ms}}"), id), "named", "{id}");
            assert_eq!(seen(&format!("`{}` refused", id.trim()), id), "named", "{id}");
        }
    }

    #[test]
    fn null_is_an_empty_list() {
        assert_eq!(listed(&Value::Null), Some([].as_slice()));
        assert_eq!(listed(&Value::array([Value::text("ack")])), Some([Value::text("ack")].as_slice()));
        assert_eq!(listed(&Value::text("ack")), None);
    }

    #[test]
    fn a_message_that_was_not_refused_needs_no_entry() {
        let view =
            |verdict: &str, status| Value::map([("verdict", Value::text(verdict)), ("status", Value::Integer(status))]);
        assert!(is_refusal(&view("refused", 422)));
        for (verdict, status) in [("accepted", 202), ("refused", 401), ("failed", 500)] {
            assert!(!is_refusal(&view(verdict, status)), "{verdict} {status}");
        }
    }

    #[test]
    fn a_page_of_the_error_log_may_be_a_bare_list() {
        let entry = Value::text("refused");
        let list = Value::array([entry.clone()]);
        assert_eq!(entries(&Value::map([("errors", list.clone())])), Some([entry.clone()].as_slice()));
        assert_eq!(entries(&list), Some([entry].as_slice()));
        assert_eq!(entries(&Value::map([("detail", Value::text("no"))])), None);
    }

    #[test]
    fn an_entry_about_another_message_does_not_show_a_refusal() {
        assert_eq!(seen("refused task_dispatch-T-2341-351-17405x", "task_dispatch-T-2341-359-17405x"), "missing");
        assert_eq!(seen("refused task_dispatch-T-2341-351-1795669246301", "abc"), "missing");
        assert_eq!(seen("the abcess of task_dispatch-T-2341-351-1795669246301", "abc"), "missing");
        assert_eq!(seen("a message was refused", "abc"), "unnamed");
        assert_eq!(refusal_in(&[], Some("abc"), None), "missing");
    }
}
