//! Bytes and values: strict readers, exact writers, canonical forms. No sockets, no protocol.
//!
//! These readers decide whether bytes are valid, so they keep or report what lenient parsers ignore. Start with
//! [`json`] or [`cbor`].

pub mod canonical;
pub mod cbor;
pub mod json;
mod recent;

use crate::value::Value;

/// A value for a finding: compact JSON, bounded in length.
pub fn show(value: &Value) -> String {
    const LIMIT: usize = 400;
    let text = json::compact(value);
    let length = text.chars().count();
    if length <= LIMIT {
        return text;
    }
    let head: String = text.chars().take(LIMIT / 2).collect();
    let tail: String = text.chars().skip(length - LIMIT / 4).collect();
    format!("{head} … {} more characters … {tail}", length - LIMIT / 2 - LIMIT / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_shown_by_its_start_and_its_end() {
        // With its quotes this is as long as is shown as a whole.
        let fits = "é".repeat(398);
        assert_eq!(show(&Value::text(fits.as_str())), format!("\"{fits}\""));
        let long = "é".repeat(250) + &"ü".repeat(250);
        let (head, tail) = ("é".repeat(199), "ü".repeat(99));
        assert_eq!(show(&Value::text(long)), format!("\"{head} … 202 more characters … {tail}\""));
    }
}
