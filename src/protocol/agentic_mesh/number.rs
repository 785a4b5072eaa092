//! Exact comparison of JSON numbers (E37): 1 and 1.0, and 0 and -0, are the same number.

use crate::value::Value;

/// Longest spelling that is compared digit by digit; a longer one is compared as written.
const LONGEST: usize = 4096;

/// Sign, digits without leading or trailing zeros, and the exponent of the last digit.
type Decimal = (bool, String, i64);

/// Whether two numbers have exactly the same value.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    match (decimal(left), decimal(right)) {
        (Some(left), Some(right)) => left == right,
        _ => left == right,
    }
}

/// Whether a number at any depth is too large for binary64.
pub(super) fn overflows(value: &Value) -> bool {
    match value {
        Value::Decimal(text) => text.parse::<f64>().is_ok_and(f64::is_infinite),
        Value::Array(items) => items.iter().any(overflows),
        Value::Map(members) => members.iter().any(|(_, value)| overflows(value)),
        _ => false,
    }
}

fn decimal(value: &Value) -> Option<Decimal> {
    let text = match value {
        Value::Integer(integer) => integer.to_string(),
        Value::Decimal(text) => text.to_string(),
        _ => return None,
    };
    if text.len() > LONGEST {
        return None;
    }
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.as_str()),
    };
    let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.strip_prefix('+').unwrap_or(exponent).parse::<i64>().ok()?;
    let digits = format!("{whole}{fraction}");
    let kept = digits.trim_end_matches('0');
    let dropped = i64::try_from(digits.len() - kept.len()).ok()?;
    let exponent = exponent.checked_sub(i64::try_from(fraction.len()).ok()?)?.checked_add(dropped)?;
    let kept = kept.trim_start_matches('0');
    if kept.is_empty() {
        return Some((false, String::new(), 0));
    }
    Some((negative, kept.to_owned(), exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    fn are_same(left: &str, right: &str) -> bool {
        same(&json::parse(left.as_bytes()).unwrap(), &json::parse(right.as_bytes()).unwrap())
    }

    #[test]
    fn spellings_of_one_value_are_the_same() {
        for (left, right) in [("1", "1.0"), ("0", "-0"), ("10", "1e1"), ("0.10", "1e-1"), ("1E+2", "100")] {
            assert!(are_same(left, right), "{left} {right}");
        }
    }

    #[test]
    fn numbers_that_a_double_confuses_are_different() {
        for (left, right) in [
            ("9007199254740993", "9007199254740992"),
            ("1e400", "1e401"),
            ("0.1", "0.10000000000000000001"),
            ("1", "-1"),
        ] {
            assert!(!are_same(left, right), "{left} {right}");
        }
    }

    #[test]
    fn numbers_beyond_doubles_are_found_at_any_depth() {
        for (text, expected) in [("[{\"a\":1e400}]", true), ("-1e400", true), ("[1e308, 1e-400, 12, \"1e400\"]", false)]
        {
            assert_eq!(overflows(&json::parse(text.as_bytes()).unwrap()), expected, "{text}");
        }
    }
}
