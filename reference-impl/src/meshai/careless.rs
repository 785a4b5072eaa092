//! Mistakes of careless parsers and of signature paths, which no case of the suites checks: the fuzzer must find them.
//!
//! Planted by name, as all faults; those that panic are here.

use crate::fault::{Fault, Needs, Planted};
use crate::json::{Object, Value};

/// The table.
#[rustfmt::skip]
pub(crate) const FAULTS: &[Fault] = &[
    Fault { name: "json-deep-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Fails at more than 50 levels, as a recursive reader without a bound does." },
    Fault { name: "json-cut-escape-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Takes four bytes behind a \\u without looking whether they are digits." },
    Fault { name: "json-integer-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Holds an integer in 64 bits and does not look whether it fits." },
    Fault { name: "json-nul-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Hands strings to something that cannot hold U+0000." },
    Fault { name: "json-proto-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Fails at a member called __proto__." },
    Fault { name: "json-empty-name-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Panics on an empty member name." },
    Fault { name: "json-cut-letter-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Cuts strings at byte 63 for a log, also within a character." },
    Fault { name: "json-list-blows-up", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Compares each item of a list with each other one, again and again." },
    Fault { name: "invalid-utf8-panics", level: "message", needs: Needs::Nothing, breaks: &["MESHAI-10.1-01"],
        summary: "Takes every body for UTF-8." },
    Fault { name: "empty-parameter-name-panics", level: "agent", needs: Needs::Nothing, breaks: &["MESHAI-10.1-02"],
        summary: "Takes the first letter of each parameter name." },
    Fault { name: "huge-number-parameter-panics", level: "agent", needs: Needs::Nothing, breaks: &["MESHAI-10.1-02"],
        summary: "Adds one to each number among the parameters without looking whether it fits." },
    Fault { name: "jwt-kid-skips-signature", level: "security", needs: Needs::Setup("jwt"), breaks: &["MESHAI-7.1-06"],
        summary: "Does not verify a token whose header names a key." },
    Fault { name: "jwt-zero-signature-accepted", level: "security", needs: Needs::Setup("jwt"), breaks: &["MESHAI-7.1-06"],
        summary: "Accepts a signature of 32 zero bytes." },
    Fault { name: "jwt-audience-unchecked", level: "security", needs: Needs::Setup("jwt"), breaks: &["MESHAI-7.1-06"],
        summary: "Accepts a token for another audience." },
];

/// Fails as the planted mistake does, if this text makes it show.
pub(crate) fn read(fault: Planted, text: &[u8]) {
    if fault.is("json-cut-escape-panics") {
        let cut = |at: usize| text.get(at + 2..at + 6).is_none_or(|digits| !digits.iter().all(u8::is_ascii_hexdigit));
        let found = text.windows(2).enumerate().find(|(at, two)| *two == b"\\u" && cut(*at));
        assert!(found.is_none(), "invalid digits");
    }
    assert!(!fault.is("invalid-utf8-panics") || std::str::from_utf8(text).is_ok(), "not UTF-8");
}

/// The same for decoded values.
pub(crate) fn look(fault: Planted, value: &Value, depth: usize) {
    assert!(!(fault.is("json-deep-panics") && depth > 50), "the stack is at its end");
    match value {
        Value::Text(text) => {
            assert!(!(fault.is("json-nul-panics") && text.contains('\0')), "a string ends before its end");
            let cut = fault.is("json-cut-letter-panics") && text.len() > 63 && !text.is_char_boundary(63);
            assert!(!cut, "no string ends there");
        }
        Value::Number(number) if fault.is("json-integer-panics") => {
            let text = number.spelling();
            assert!(text.contains(['.', 'e', 'E']) || text.parse::<i64>().is_ok(), "the integer does not fit");
        }
        Value::List(items) => {
            if fault.is("json-list-blows-up") && items.len() >= 1000 {
                let work =
                    (0..items.len() * items.len() * 5_000).fold(0_usize, |sum, step| std::hint::black_box(sum ^ step));
                std::hint::black_box(work);
            }
            items.iter().for_each(|item| look(fault, item, depth + 1));
        }
        Value::Object(members) => {
            for (name, value) in members.iter() {
                assert!(!(fault.is("json-proto-panics") && name == "__proto__"), "the prototype was overwritten");
                assert!(!(fault.is("json-empty-name-panics") && name.is_empty()), "the member name is empty");
                look(fault, value, depth + 1);
            }
        }
        Value::Number(_) | Value::Bool(_) | Value::Null => {}
    }
}

/// The same for the parameters of a capability.
pub(crate) fn parameters(fault: Planted, parameters: &Object) {
    for (name, value) in parameters.iter() {
        assert!(!(fault.is("empty-parameter-name-panics") && name.is_empty()), "the name has no first letter");
        let number = value.as_number().map(crate::json::Number::as_f64);
        let huge = number.is_some_and(|number| number.abs() >= 9_223_372_036_854_775_807.0);
        assert!(!(fault.is("huge-number-parameter-panics") && huge), "the sum does not fit");
    }
}

/// Whether a planted fault accepts a token whose signature does not match.
pub(crate) fn token(fault: Planted, header: &str, mac: &[u8]) -> bool {
    let decoded = data_encoding::BASE64URL_NOPAD.decode(header.as_bytes()).unwrap_or_default();
    let named = String::from_utf8_lossy(&decoded).contains("\"kid\"");
    fault.is("jwt-kid-skips-signature") && named
        || fault.is("jwt-zero-signature-accepted") && mac.len() == 32 && mac.iter().all(|byte| *byte == 0)
}
