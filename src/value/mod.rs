//! One value for JSON and CBOR.
//!
//! Matchers, edits and templates work on [`Value`] alone, so that they are written once for all protocols. It keeps
//! details that ordinary JSON models lose and expectations need: members in the order written, repeated members, and
//! the spelling of a number. Start with [`Value`], then [`Path`].

mod change;
mod diff;
mod path;
mod shared;

pub use change::{ChangeError, remove, set};
pub(crate) use diff::{ByMeaning, FEW};
pub use diff::{Difference, first_difference};
pub use path::{Path, PathError};
pub use shared::Shared;

/// A string of a value. Up to 15 bytes, as most names and words have, it needs no memory of its own; clones of longer ones share it.
pub type Text = ecow::EcoString;

/// A JSON or CBOR value.
///
/// Equality (`==`) is exact, spelling and order included. For equality as protocols mean it, see [`Value::same_as`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A whole number written in plain digits.
    Integer(i128),
    /// A CBOR floating-point number.
    Float(f64),
    /// A JSON number that is not written in plain digits, or is `-0`, or needs more than 127 bits: kept as written.
    Decimal(Box<str>),
    /// A text string.
    Text(Text),
    /// A CBOR byte string.
    Bytes(Vec<u8>),
    /// An array.
    Array(Shared<Value>),
    /// A map: JSON members have text keys. Order and repetitions are kept as written.
    Map(Shared<(Value, Value)>),
    /// A CBOR tag and its content.
    Tag(u64, Box<Value>),
    /// A CBOR simple value other than the ones above; 23 is `undefined`.
    Simple(u8),
}

impl Value {
    /// A text value.
    pub fn text(text: impl Into<Text>) -> Self {
        Self::Text(text.into())
    }

    /// A map with text keys.
    pub fn map<K: Into<Text>>(members: impl IntoIterator<Item = (K, Self)>) -> Self {
        Self::Map(members.into_iter().map(|(key, value)| (Self::text(key), value)).collect())
    }

    /// An array.
    pub fn array(items: impl IntoIterator<Item = Self>) -> Self {
        Self::Array(items.into_iter().collect())
    }

    /// The text, if this is a text string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The elements, if this is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The members, if this is a map.
    pub fn as_map(&self) -> Option<&[(Self, Self)]> {
        match self {
            Self::Map(members) => Some(members),
            _ => None,
        }
    }

    /// The number as an IEEE 754 double, if this is a number.
    pub fn as_f64(&self) -> Option<f64> {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "protocols define numbers as doubles")]
            Self::Integer(integer) => Some(*integer as f64),
            Self::Float(float) => Some(*float),
            Self::Decimal(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The whole number, if this is a number without a fraction, however it is written.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Integer(integer) => Some(*integer),
            Self::Float(_) | Self::Decimal(_) => {
                let float = self.as_f64()?;
                // Above 2^100 the cast would still be exact, but no protocol uses such numbers.
                #[expect(clippy::cast_possible_truncation, reason = "the test above bounds it")]
                (float.fract() == 0.0 && float.abs() < 1.0e30).then_some(float as i128)
            }
            _ => None,
        }
    }

    /// Whether this is a number of any spelling.
    pub fn is_number(&self) -> bool {
        matches!(self, Self::Integer(_) | Self::Float(_) | Self::Decimal(_))
    }

    /// Whether both are copies of one list or map, so that comparing them takes no time.
    pub fn is_copy_of(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Array(one), Self::Array(other)) => one.is_same(other),
            (Self::Map(one), Self::Map(other)) => one.is_same(other),
            _ => false,
        }
    }

    /// The first member called `name`, if this is a map.
    pub fn member(&self, name: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// Sets the first member called `name`, or adds it at the end. Does nothing to a value that is not a map.
    pub fn set_member(&mut self, name: &str, value: Self) {
        if let Self::Map(members) = self {
            match members.iter_mut().find(|(key, _)| key.as_text() == Some(name)) {
                Some((_, old)) => *old = value,
                None => members.push((Self::text(name), value)),
            }
        }
    }

    /// The name of its type, as suites write it.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Integer(_) | Self::Float(_) | Self::Decimal(_) => "number",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Array(_) => "array",
            Self::Map(_) => "object",
            Self::Tag(..) => "tag",
            Self::Simple(_) => "simple",
        }
    }

    /// The number of values in it, including itself: a bound for work over hostile input.
    pub fn size(&self) -> usize {
        match self {
            Self::Array(items) => 1 + items.iter().map(Self::size).sum::<usize>(),
            Self::Map(members) => 1 + members.iter().map(|(key, value)| key.size() + value.size()).sum::<usize>(),
            Self::Tag(_, inner) => 1 + inner.size(),
            _ => 1,
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Integer(i128::from(value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_compare_by_value_not_by_spelling() {
        assert!(Value::Decimal("5.0".into()).same_as(&Value::Integer(5)));
        assert!(Value::Decimal("1e2".into()).same_as(&Value::Float(100.0)));
        assert!(!Value::Integer(5).same_as(&Value::text("5")));
        assert!(!Value::Integer(1).same_as(&Value::Bool(true)));
    }

    #[test]
    fn member_order_is_ignored_but_element_order_is_not() {
        let ab = Value::map([("a", Value::Integer(1)), ("b", Value::Null)]);
        let ba = Value::map([("b", Value::Null), ("a", Value::Integer(1))]);
        assert!(ab.same_as(&ba));
        let xs = Value::Array(vec![Value::Integer(1), Value::Integer(2)].into());
        let ys = Value::Array(vec![Value::Integer(2), Value::Integer(1)].into());
        assert!(!xs.same_as(&ys));
    }
}
