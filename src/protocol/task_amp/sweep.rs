//! The messages of the target as a sweep judges them: each with what follows from it and from the messages of its task that
//! were stored before it.

use super::id;
use super::view::stored;
use crate::exchange::{Exchange, Transport};
use crate::protocol::ObservationContext;
use crate::target::Target;
use crate::template::parse_time;
use crate::value::Value;

/// The roles that a target plays: those that its file names, or all that its kind can play.
pub(super) fn roles(target: &Target) -> Vec<&str> {
    const ALL: &[&str] = &["coordinator", "executor", "reviewer", "system"];
    match &target.roles {
        Some(roles) if !roles.is_empty() => roles.iter().map(String::as_str).collect(),
        _ if target.kinds.iter().any(|kind| kind == "ssot") => vec!["system"],
        _ => ALL.to_vec(),
    }
}

/// The messages that the roles of the target wrote, as listed in an answer:
///
/// | place | holds |
/// |---|---|
/// | `/message`, `/written_by`, `/stored_at` | the record |
/// | `/id` | the parts of msg_id: `type`, `task`, `digits`; absent if it has another form |
/// | `/id-skew-ms` | the difference of its time from the time at which the message appeared |
/// | `/context` | for each entry of context_ref whether it is a msg_id (`form`), and whether it is an earlier message (`earlier`) of the task; absent for another task |
/// | `/affected` | the same for affected_msgs |
/// | `/last-success` | the same for the last successful message in the snapshot of an escalation |
/// | `/criteria` | the acceptance criteria that a result or a verdict answers |
/// | `/criteria-count-met`, `/notes-count-met` | whether a result has one entry for each criterion, and one note for each entry |
/// | `/criteria-not-exceeded`, `/criteria-named` | whether a verdict has no more entries than criteria, and exactly their texts |
/// | `/subtasks` | the subtask ids of the dispatch that a result answers |
/// | `/dispatch`, `/result` | the type of the message that a request names, if it was stored before the request |
/// | `/latest-result` | the msg_id of the last complete result before a request |
/// | `/rejects-before`, `/verdicts-before`, `/escalations-before` | the number of such messages before the message; absent where the order is not known |
pub(super) fn emitted(exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
    let library = exchange.sent.transport == Transport::Adapter;
    let records = stored(exchange, context);
    let roles = roles(context.target);
    let bundle = context.target.kinds.iter().any(|kind| kind == "bundle");
    let mut made = Vec::new();
    for (index, record) in records.iter().enumerate() {
        if !library && !is_of(&roles, record, bundle) {
            continue;
        }
        let message = |record| Value::member(record, "message");
        let earlier: Vec<&Value> = records[..index].iter().filter_map(message).collect();
        // Files with one time have no order.
        let time = record.member("modified_ms");
        let same_time = |other: &&Value| time.is_some() && other.member("modified_ms") == time;
        let beside: Vec<&Value> = records[index + 1..].iter().filter(same_time).filter_map(message).collect();
        // A listing of one task shows what came before a message; an engine and a single message do not.
        let whole = !library && exchange.operation == "list-messages";
        made.push(enriched(record, &Others { earlier, beside }, whole, exchange, context));
    }
    made
}

/// Whether a role of the target wrote a message: the recorded writer did, or a bundle names another working role as the writer of
/// a message from a role that proofmark does not play.
fn is_of(roles: &[&str], record: &Value, bundle: bool) -> bool {
    const OTHERS: &[&str] = &["admin", "coordinator", "executor", "reviewer"];
    let writer = record.member("written_by").and_then(Value::as_text).unwrap_or_default();
    let from = record.member("message").and_then(|message| text(message, &["from"])).unwrap_or_default();
    roles.contains(&writer) || (bundle && OTHERS.contains(&writer) && roles.contains(&from))
}

/// The other messages of the task of a message.
struct Others<'v> {
    /// Those that were stored before it, in order.
    earlier: Vec<&'v Value>,
    /// Those that may have been stored before or after it.
    beside: Vec<&'v Value>,
}

fn text<'v>(message: &'v Value, path: &[&str]) -> Option<&'v str> {
    path.iter().try_fold(message, |value, name| value.member(name)).and_then(Value::as_text)
}

fn enriched(
    record: &Value,
    others: &Others<'_>,
    whole: bool,
    exchange: &Exchange,
    context: &ObservationContext<'_>,
) -> Value {
    let mut seen = record.clone();
    let Some(message) = record.member("message") else { return seen };
    let msg_id = text(message, &["msg_id"]).unwrap_or_default();
    if let Some(parts) = id::parts(msg_id) {
        let id = [("type", parts.kind), ("task", parts.task), ("digits", parts.digits)];
        seen.set_member("id", Value::map(id.map(|(name, part)| (name, Value::text(part)))));
        if exchange.sent.transport != Transport::Adapter
            && let Ok(made) = parts.digits.parse::<i128>()
        {
            seen.set_member("id-skew-ms", Value::Integer(skew(made, record, exchange, context)));
        }
    }
    if !whole {
        return seen;
    }
    let task = text(message, &["task_id"]).unwrap_or_default();
    let earlier = others.earlier.as_slice();
    let known = [earlier, &others.beside].concat();
    let refs = |list: Option<&Value>| -> Option<Value> {
        let entries = list?.as_array()?;
        Some(Value::Array(entries.iter().map(|entry| reference(entry, task, &known)).collect()))
    };
    let payload = message.member("payload");
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            seen.set_member(name, value);
        }
    };
    put("context", refs(message.member("context_ref")));
    put("affected", refs(payload.and_then(|payload| payload.member("affected_msgs"))));
    let snapshot = payload.and_then(|payload| payload.member("system_state_snapshot"));
    let last = snapshot.and_then(|snapshot| snapshot.member("last_successful_msg_id"));
    put("last-success", last.filter(|last| last.as_text().is_some()).map(|last| reference(last, task, &known)));
    let of = |kind: &str| {
        earlier.iter().rev().filter(|found| text(found, &["type"]) == Some(kind)).copied().collect::<Vec<_>>()
    };
    let by_id = |id: &str| known.iter().find(|found| text(found, &["msg_id"]) == Some(id)).copied();
    let criteria = |dispatch: &Value| dispatch.member("payload")?.member("acceptance_criteria").cloned();
    let verdicts = of("review_verdict");
    let rejects = verdicts.iter().filter(|verdict| text(verdict, &["payload", "decision"]) == Some("rejected")).count();
    // What may have been before or after the message is not counted.
    if others.beside.is_empty() {
        put("escalations-before", Some(Value::from(of("escalation").len() as u64)));
        put("verdicts-before", Some(Value::from(verdicts.len() as u64)));
        put("rejects-before", Some(Value::from(rejects as u64)));
    }
    match text(message, &["type"]) {
        Some("task_result") => {
            let dispatches = of("task_dispatch");
            let subtask = text(message, &["payload", "subtask_id"]).unwrap_or_default();
            let answered =
                dispatches.iter().find(|dispatch| subtasks(dispatch).iter().any(|id| id.as_text() == Some(subtask)));
            let dispatch = answered.or(dispatches.first()).copied();
            let wanted = dispatch.and_then(criteria);
            let count = |value: Option<&Value>| value.and_then(Value::as_array).map(<[Value]>::len);
            let assessment = payload.and_then(|payload| payload.member("self_assessment"));
            let met = count(assessment.and_then(|assessment| assessment.member("criteria_met")));
            let notes = count(assessment.and_then(|assessment| assessment.member("notes")));
            put("criteria-count-met", Some(Value::Bool(met.is_some() && met == count(wanted.as_ref()))));
            put("notes-count-met", Some(Value::Bool(notes.is_some() && notes == met)));
            put("criteria", wanted);
            put("subtasks", dispatch.map(|dispatch| Value::Array(subtasks(dispatch).into())));
        }
        Some("review_request") => {
            let named = |name: &str| {
                let found = by_id(text(message, &["payload", name])?)?;
                found.member("type").cloned()
            };
            put("dispatch", named("original_dispatch_ref"));
            put("result", named("task_result_ref"));
            let results = of("task_result");
            let complete =
                results.iter().find(|result| text(result, &["payload", "completion_status"]) == Some("complete"));
            put("latest-result", complete.and_then(|result| result.member("msg_id").cloned()));
        }
        Some("review_verdict") => {
            let request = of("review_request").first().copied();
            let dispatch =
                request.and_then(|request| text(request, &["payload", "original_dispatch_ref"])).and_then(by_id);
            let wanted = dispatch.and_then(criteria);
            let results = payload.and_then(|payload| payload.member("criteria_results")).and_then(Value::as_array);
            if let (Some(wanted), Some(results)) = (wanted.as_ref().and_then(Value::as_array), results) {
                let named = results.iter().map(|result| result.member("criterion")).eq(wanted.iter().map(Some));
                put("criteria-not-exceeded", Some(Value::Bool(results.len() <= wanted.len())));
                put("criteria-named", Some(Value::Bool(named)));
            }
            put("criteria", wanted);
        }
        _ => {}
    }
    seen
}

/// The ids of the subtasks of a dispatch.
fn subtasks(dispatch: &Value) -> Vec<Value> {
    let list = dispatch.member("payload").and_then(|payload| payload.member("subtasks")).and_then(Value::as_array);
    list.unwrap_or_default().iter().filter_map(|subtask| subtask.member("subtask_id").cloned()).collect()
}

/// What an entry of a list of messages refers to.
fn reference(entry: &Value, task: &str, earlier: &[&Value]) -> Value {
    let parts = entry.as_text().and_then(id::parts);
    let mut found = Value::map([("form", Value::Bool(parts.is_some()))]);
    // A message of another task is not in the listing.
    if parts.is_none_or(|parts| parts.task == task) {
        let is_earlier = earlier.iter().any(|message| message.member("msg_id") == Some(entry));
        found.set_member("earlier", Value::Bool(is_earlier));
    }
    found
}

/// The smaller difference of the time in an id from the time of storing and from the time of the observation. What was stored
/// at an unknown time may be from before the clock was moved.
fn skew(made: i128, record: &Value, exchange: &Exchange, context: &ObservationContext<'_>) -> i128 {
    let started = i128::from(exchange.started_ms) + i128::from(exchange.clock_ms);
    let observed = context.clock.0 / 1_000_000 + started + i128::from(exchange.elapsed_ms);
    let stored = record.member("stored_at").and_then(Value::as_text).and_then(parse_time).map(|time| time / 1_000_000);
    let stored = stored.or_else(|| record.member("modified_ms").and_then(Value::as_integer));
    let near = |time: i128| (made - time).abs();
    let unmoved = observed - i128::from(exchange.clock_ms);
    // The time of storing counts only if it is plausible itself.
    let near_now = || if (unmoved..=observed).contains(&made) { 0 } else { near(unmoved).min(near(observed)) };
    stored.map_or_else(near_now, |stored| near(stored).min(near(observed)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bundle_may_name_another_role_as_the_writer_of_its_message() {
        let record = |writer: &str, from: &str| {
            let message = Value::map([("from", Value::text(from))]);
            Value::map([("written_by", Value::text(writer)), ("message", message)])
        };
        for (bundle, writer, from, own) in [
            (true, "executor", "executor", true),
            (true, "coordinator", "executor", true),
            (true, "bus", "executor", false),
            (true, "coordinator", "coordinator", false),
            (false, "executor", "executor", true),
            (false, "coordinator", "executor", false),
        ] {
            assert_eq!(is_of(&["executor"], &record(writer, from), bundle), own, "{bundle} {writer} {from}");
        }
    }
}
