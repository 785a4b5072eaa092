//! Mistakes of careless parsers, which no case of the suites checks: the fuzzer must find them.
//!
//! Planted by name, as all faults; they are here, outside the code of the rules.

use crate::fault::{Fault, Needs, Planted};
use crate::json::{Object, Value};

/// The table.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "json-deep-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Fails at a text with more than 40 brackets open, as a recursive reader without a bound does." },
    Fault { name: "json-cut-escape-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Takes four bytes behind a \\u without looking whether they are digits." },
    Fault { name: "json-integer-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Holds an integer in 64 bits and does not look whether it fits." },
    Fault { name: "json-nul-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Hands strings to something that cannot hold U+0000." },
    Fault { name: "json-proto-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Fails at a member called __proto__." },
    Fault { name: "json-empty-name-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Panics on an empty member name." },
    Fault { name: "json-cut-letter-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-I-04"],
        summary: "Cuts strings at byte 63 for a log, also within a character." },
    Fault { name: "id-without-hyphen-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-00.1-03"],
        summary: "Takes the part behind the last hyphen of a msg_id without looking whether there is one." },
    Fault { name: "id-time-overflows", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-00.1-06"],
        summary: "Holds the time of a msg_id in 64 bits and does not look whether it fits." },
    Fault { name: "timestamp-cut-panics", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-00.1-23"],
        summary: "Cuts the first ten bytes off a timestamp that has fewer, or that has no boundary there." },
    Fault { name: "timeout-overflows", level: "envelope", needs: Needs::Nothing, breaks: &["TASK-00.1-32"],
        summary: "Turns ack_timeout_sec into milliseconds without looking whether the product fits 32 bits." },
    Fault { name: "payload-in-a-list-panics", level: "payload", needs: Needs::Nothing, breaks: &["TASK-00.1-43"],
        summary: "Looks for members of a payload that is a list." },
];

/// Fails as the planted mistake does, if this text makes it show.
pub(crate) fn read(fault: Planted, text: &[u8]) {
    if fault.is("json-deep-panics") {
        let open = |depth: usize, byte: &u8| depth + usize::from(matches!(byte, b'[' | b'{'));
        assert!(text.iter().fold(0, open) <= 40, "the stack is at its end");
    }
    if fault.is("json-cut-escape-panics") {
        let cut = |at: usize| text.get(at + 2..at + 6).is_none_or(|digits| !digits.iter().all(u8::is_ascii_hexdigit));
        let found = text.windows(2).enumerate().find(|(at, two)| *two == b"\\u" && cut(*at));
        assert!(found.is_none(), "invalid digits");
    }
}

/// The same for a value.
pub(crate) fn look(fault: Planted, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Number(number) => {
            let integer = !number.spelling().contains(['.', 'e', 'E']);
            assert!(
                !(fault.is("json-integer-panics") && integer) || number.spelling().parse::<i64>().is_ok(),
                "too large"
            );
        }
        Value::Text(text) => {
            assert!(!fault.is("json-nul-panics") || !text.contains('\0'), "a NUL");
            assert!(!fault.is("json-cut-letter-panics") || text.len() < 63 || text.is_char_boundary(63), "cut");
        }
        Value::List(items) => items.iter().for_each(|item| look(fault, item)),
        Value::Object(object) => {
            members(fault, object);
            object.iter().for_each(|(_, member)| look(fault, member));
        }
    }
}

fn members(fault: Planted, object: &Object) {
    for (name, _) in object.iter() {
        assert!(!fault.is("json-proto-panics") || name != "__proto__", "a prototype");
        assert!(!fault.is("json-empty-name-panics") || !name.is_empty(), "an empty name");
    }
    if let Some(id) = object.text("msg_id") {
        assert!(!fault.is("id-without-hyphen-panics") || id.contains('-'), "no hyphen");
        let digits = id.rsplit('-').next().filter(|tail| !tail.is_empty() && tail.bytes().all(|b| b.is_ascii_digit()));
        let fits = digits.is_none_or(|digits| digits.parse::<i64>().is_ok());
        assert!(!fault.is("id-time-overflows") || fits, "the time does not fit");
    }
    if let Some(text) = object.text("timestamp") {
        assert!(!fault.is("timestamp-cut-panics") || text.get(..10).is_some(), "no ten bytes");
    }
    if let Some(seconds) = object.get("ack_timeout_sec").and_then(Value::as_number) {
        let fits = seconds.as_f64().abs() * 1000.0 < f64::from(i32::MAX);
        assert!(!fault.is("timeout-overflows") || fits, "the product does not fit");
    }
    assert!(
        !fault.is("payload-in-a-list-panics") || object.get("payload").is_none_or(|p| p.as_list().is_none()),
        "a list"
    );
}
