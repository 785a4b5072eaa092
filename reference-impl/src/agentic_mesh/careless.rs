//! Mistakes of careless parsers, which no case of the suites checks: the fuzzer must find them.
//!
//! Planted by name, as all faults.

use crate::fault::{Fault, Needs, Planted};
use crate::json::Value;

/// The table.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "json-deep-panics", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.9-11"],
        summary: "Fails at a text with more than 100 brackets open, as a recursive reader without a bound does." },
    Fault { name: "json-cut-escape-panics", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.9-11"],
        summary: "Takes four bytes behind a \\u without looking whether they are digits." },
    Fault { name: "json-exponent-panics", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.9-11"],
        summary: "Holds the exponent of a number in sixteen bits." },
    Fault { name: "json-nul-panics", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.9-11"],
        summary: "Hands member names to something that cannot hold U+0000." },
    Fault { name: "json-cut-letter-panics", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.9-11"],
        summary: "Cuts strings at byte 63 for a log, also within a character." },
    Fault { name: "json-list-blows-up", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.9-11"],
        summary: "Compares each item of a list with each other one, again and again." },
    Fault { name: "role-list-panics", level: "message", needs: Needs::Nothing, breaks: &["MESH-4.3-01"],
        summary: "Takes the role of a header block for a string without looking." },
    Fault { name: "task-in-a-list", level: "message", needs: Needs::Nothing, breaks: &["MESH-2.2-02"],
        summary: "Takes a task in a list of one for the task." },
];

/// Fails as the planted mistake does, if this text shows it.
pub(crate) fn read(fault: Planted, text: &[u8]) {
    if fault.is("json-deep-panics") {
        let open = |depth: usize, byte: &u8| depth + usize::from(matches!(byte, b'[' | b'{'));
        let close = |depth: usize, byte: &u8| depth.saturating_sub(usize::from(matches!(byte, b']' | b'}')));
        let deepest = text.iter().fold((0, 0), |(most, now): (usize, usize), byte| {
            let now = close(open(now, byte), byte);
            (most.max(now), now)
        });
        assert!(deepest.0 <= 100, "the stack is at its end");
    }
    if fault.is("json-cut-escape-panics") {
        let cut = |at: usize| text.get(at + 2..at + 6).is_none_or(|digits| !digits.iter().all(u8::is_ascii_hexdigit));
        let found = text.windows(2).enumerate().find(|(at, two)| *two == b"\\u" && cut(*at));
        assert!(found.is_none(), "invalid digits");
    }
}

/// The same for decoded values.
pub(crate) fn look(fault: Planted, value: &Value) {
    match value {
        Value::Text(text) => {
            let cut = fault.is("json-cut-letter-panics") && text.len() > 63 && !text.is_char_boundary(63);
            assert!(!cut, "no string ends there");
        }
        Value::Number(number) if fault.is("json-exponent-panics") => {
            let exponent = number.spelling().split(['e', 'E']).nth(1).unwrap_or("0");
            assert!(exponent.parse::<i16>().is_ok(), "the exponent does not fit");
        }
        Value::List(items) => {
            if fault.is("json-list-blows-up") && items.len() >= 1000 {
                let work =
                    (0..items.len() * items.len() * 5_000).fold(0_usize, |sum, step| std::hint::black_box(sum ^ step));
                std::hint::black_box(work);
            }
            items.iter().for_each(|item| look(fault, item));
        }
        Value::Object(members) => {
            let block = members.get("mustUnderstand").is_some();
            let role = members.get("role").is_none_or(|role| role.as_text().is_some());
            assert!(!(fault.is("role-list-panics") && block && !role), "the role is not a string");
            for (name, value) in members.iter() {
                assert!(!(fault.is("json-nul-panics") && name.contains('\0')), "a name ends before its end");
                look(fault, value);
            }
        }
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}
