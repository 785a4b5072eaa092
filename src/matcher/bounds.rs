//! Ranges of numbers, for the matchers that measure something.

use std::cmp::Ordering;
use std::fmt;

use super::argument::members;
use super::{ArgumentError, show};
use crate::value::Value;

/// An inclusive range of numbers. A bound that is `None` is open.
pub(super) struct Bounds {
    min: Option<Value>,
    max: Option<Value>,
}

impl Bounds {
    /// Reads `{ min, max }` of numbers.
    pub(super) fn of_numbers(argument: &Value) -> Result<Self, ArgumentError> {
        Self::read(argument, |end| match end.as_f64() {
            Some(float) if !float.is_nan() => Ok(end.clone()),
            _ => Err(ArgumentError::new(format!("needs a number, not {}", show(end)))),
        })
    }

    /// Reads a non-negative integer, or `{ min, max }` of such.
    pub(super) fn of_counts(argument: &Value) -> Result<Self, ArgumentError> {
        let count = |end: &Value| match end.as_integer() {
            Some(count @ 0..) => Ok(Value::Integer(count)),
            _ => Err(ArgumentError::new(format!("needs a non-negative integer, not {}", show(end)))),
        };
        if argument.as_map().is_some() {
            return Self::read(argument, count);
        }
        let count = count(argument)?;
        Ok(Self { min: Some(count.clone()), max: Some(count) })
    }

    fn read(argument: &Value, end: fn(&Value) -> Result<Value, ArgumentError>) -> Result<Self, ArgumentError> {
        let members = members(argument, &["min", "max"])?;
        let (min, max) = (members.read("min", end)?, members.read("max", end)?);
        match (&min, &max) {
            (None, None) => return Err(ArgumentError::new("needs the key `min`, the key `max`, or both")),
            (Some(min), Some(max)) if compare(min, max) == Some(Ordering::Greater) => {
                return Err(ArgumentError::new(format!("has min {} greater than max {}", show(min), show(max))));
            }
            _ => {} // One end, or two in order.
        }
        Ok(Self { min, max })
    }

    /// Whether `number` is a number in the range.
    pub(super) fn hold(&self, number: &Value) -> bool {
        let inside = |end: &Option<Value>, outside: Ordering| {
            end.as_ref().is_none_or(|end| compare(number, end).is_some_and(|order| order != outside))
        };
        number.is_number() && inside(&self.min, Ordering::Less) && inside(&self.max, Ordering::Greater)
    }

    /// Whether `count` is in the range.
    pub(super) fn hold_count(&self, count: usize) -> bool {
        self.hold(&Value::Integer(i128::try_from(count).unwrap_or(i128::MAX)))
    }
}

impl fmt::Display for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.min, &self.max) {
            (Some(min), Some(max)) if min == max => write!(f, "{}", show(min)),
            (Some(min), Some(max)) => write!(f, "from {} to {}", show(min), show(max)),
            (Some(min), None) => write!(f, "at least {}", show(min)),
            (None, Some(max)) => write!(f, "at most {}", show(max)),
            (None, None) => write!(f, "any"),
        }
    }
}

/// The order of two numbers; `None` if one of them is not a number, or is NaN.
///
/// Integers in plain digits compare exactly: a counter of 64 bits must not lose its last bits to a double.
pub(super) fn compare(left: &Value, right: &Value) -> Option<Ordering> {
    match (left, right) {
        (Value::Integer(left), Value::Integer(right)) => Some(left.cmp(right)),
        _ => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::testing::value;

    #[test]
    fn bounds_are_inclusive_and_optional() {
        let bounds = Bounds::of_numbers(&value(r#"{"min":1,"max":2.5}"#)).unwrap();
        for (number, inside) in [("1", true), ("2.5", true), ("25e-1", true), ("0.999", false), ("3", false)] {
            assert_eq!(bounds.hold(&value(number)), inside, "{number}");
        }
        assert!(Bounds::of_numbers(&value(r#"{"min":1}"#)).unwrap().hold(&value("1e400")));
        assert!(!Bounds::of_numbers(&value(r#"{"min":1}"#)).unwrap().hold(&Value::Float(f64::NAN)));
        assert!(!bounds.hold(&value("\"2\"")));
    }

    #[test]
    fn long_whole_numbers_keep_their_last_digit() {
        assert_eq!(compare(&value("9007199254740993"), &value("9007199254740992")), Some(Ordering::Greater));
    }

    #[test]
    fn ranges_are_described_in_words() {
        let shown = |written: &str| Bounds::of_counts(&value(written)).unwrap().to_string();
        assert_eq!(shown("3"), "3");
        assert_eq!(shown(r#"{"min":1}"#), "at least 1");
        assert_eq!(shown(r#"{"max":1}"#), "at most 1");
        assert_eq!(shown(r#"{"min":1,"max":3}"#), "from 1 to 3");
    }

    #[test]
    fn an_empty_range_is_rejected() {
        let refusal = |written: &str| Bounds::of_counts(&value(written)).err().unwrap();
        assert_eq!(refusal(r#"{"min":2,"max":1}"#).to_string(), "has min 2 greater than max 1");
        assert_eq!(refusal("{}").to_string(), "needs the key `min`, the key `max`, or both");
        assert_eq!(refusal("-1").to_string(), "needs a non-negative integer, not -1");
        assert_eq!(refusal(r#"{"min":1.5}"#).path.to_string(), "/min");
    }

    #[test]
    fn only_a_number_is_an_end_of_a_range() {
        for end in [Value::Float(f64::NAN), Value::text("1"), Value::Null] {
            let error = Bounds::of_numbers(&Value::map([("min", end.clone())])).err().expect("not a number");
            assert_eq!(
                (error.path.to_string(), error.message),
                ("/min".into(), format!("needs a number, not {}", show(&end)))
            );
        }
    }
}
