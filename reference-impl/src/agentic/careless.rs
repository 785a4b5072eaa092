//! Mistakes of careless parsers, which no case of the suites checks: the fuzzer must find them.
//!
//! Planted by name, as all faults; those that reject or accept are in their place in the code, those that panic are
//! here.

use crate::fault::{Fault, Needs, Planted};
use crate::json::Value;

/// The table.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "json-deep-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Fails at a text with more than 100 brackets open, as a recursive reader without a bound does." },
    Fault { name: "json-cut-escape-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Takes four bytes behind a \\u without looking whether they are digits." },
    Fault { name: "json-exponent-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Holds the exponent of a number in eight bits." },
    Fault { name: "json-integer-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Holds an integer in 64 bits and does not look whether it fits." },
    Fault { name: "json-nul-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Hands strings to something that cannot hold U+0000." },
    Fault { name: "json-wide-name-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Fails at a member name with a character above U+FFFF." },
    Fault { name: "json-proto-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Fails at a member called __proto__." },
    Fault { name: "json-empty-name-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Panics on an empty member name." },
    Fault { name: "json-cut-letter-panics", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Cuts strings at byte 63 for a log, also within a character." },
    Fault { name: "json-list-blows-up", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-8.1-03"],
        summary: "Compares each item of a list with each other one, again and again." },
    Fault { name: "title-length-wraps", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-6.1-20"],
        summary: "Counts the letters of a title in eight bits." },
    Fault { name: "status-by-prefix", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-6.1-26"],
        summary: "Takes a status that begins with a known one." },
    Fault { name: "actor-in-a-list", level: "L1", needs: Needs::Nothing, breaks: &["AGENTIC-6.1-43"],
        summary: "Takes an actor in a list of one for the actor." },
];

/// Fails as the planted mistake does, if this text makes it show.
pub(crate) fn read(fault: Planted, text: &[u8]) {
    if fault.is("json-deep-panics") {
        let open = |depth: usize, byte: &u8| depth + usize::from(matches!(byte, b'[' | b'{'));
        assert!(text.iter().fold(0, open) <= 100, "the stack is at its end");
    }
    if fault.is("json-cut-escape-panics") {
        let cut = |at: usize| text.get(at + 2..at + 6).is_none_or(|digits| !digits.iter().all(u8::is_ascii_hexdigit));
        let found = text.windows(2).enumerate().find(|(at, two)| *two == b"\\u" && cut(*at));
        assert!(found.is_none(), "invalid digits");
    }
    if fault.is("json-exponent-panics") {
        let long = |at: usize| text.get(at + 1..).is_some_and(|rest| exponent(rest) > 127);
        let found =
            text.windows(2).enumerate().find(|(at, two)| two[0].is_ascii_digit() && two[1] == b'e' && long(at + 1));
        assert!(found.is_none(), "the exponent does not fit");
    }
}

/// The value of an exponent, if it is a number.
fn exponent(text: &[u8]) -> u64 {
    let digits = text.iter().skip_while(|byte| matches!(byte, b'+' | b'-')).take_while(|byte| byte.is_ascii_digit());
    digits.fold(0, |number, digit| u64::from(digit - b'0') + number.min(1 << 50) * 10)
}

/// The same for decoded values.
pub(crate) fn look(fault: Planted, value: &Value) {
    match value {
        Value::Text(text) => {
            assert!(!(fault.is("json-nul-panics") && text.contains('\0')), "a string ends before its end");
            let cut = fault.is("json-cut-letter-panics") && text.len() > 63 && !text.is_char_boundary(63);
            assert!(!cut, "no string ends there");
        }
        Value::Number(_) if fault.is("json-integer-panics") => {
            let text = value.write();
            let fits = text.parse::<i64>().is_ok() || text.contains(['.', 'e', 'E']);
            assert!(fits, "the integer does not fit");
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
            for (name, value) in members.iter() {
                let wide = name.chars().any(|letter| u32::from(letter) > 0xffff);
                assert!(!(fault.is("json-wide-name-panics") && wide), "half of a name is missing");
                assert!(!(fault.is("json-proto-panics") && name == "__proto__"), "the prototype was overwritten");
                assert!(!(fault.is("json-empty-name-panics") && name.is_empty()), "the member name is empty");
                look(fault, value);
            }
        }
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}
