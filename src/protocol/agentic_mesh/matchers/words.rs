//! What mismatches of the matchers say.

use crate::value::Value;

/// What a target did with a message, in words.
pub(super) fn summary(seen: &Value) -> String {
    let text = |name: &str| seen.member(name).and_then(Value::as_text);
    let copies = seen.member("copies").and_then(Value::as_array).map_or(0, <[Value]>::len);
    let status = seen.member("status").and_then(Value::as_integer).map(|status| format!("status {status}"));
    let status = status.unwrap_or_else(|| "no answer".to_owned());
    match (text("outcome"), text("spelling")) {
        (Some("fault"), Some(code)) if copies > 0 => format!("the fault {code}, and a copy at the next hop"),
        (Some("fault"), Some(code)) => match seen.member("faults").and_then(Value::as_integer) {
            Some(count) if count > 1 => format!("{count} faults, the first {code}"),
            _ => format!("the fault {code}"),
        },
        (Some("accepted"), _) => "the message was accepted".to_owned(),
        (Some("forwarded"), _) if copies > 1 => format!("the message was forwarded {copies} times"),
        (Some("forwarded"), _) => "the message was forwarded".to_owned(),
        (Some("dropped"), _) => format!("{status}, and no copy at the next hop"),
        (Some("silent"), _) => "no answer in time".to_owned(),
        _ => format!("{status} without a fault"),
    }
}

/// Whether nothing reached the next hop.
pub(super) fn nothing_forwarded(seen: &Value) -> bool {
    seen.member("copies").and_then(Value::as_array).is_none_or(<[Value]>::is_empty)
}
