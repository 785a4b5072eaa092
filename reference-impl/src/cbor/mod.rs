//! The CBOR (RFC 8949) of this crate: a tree without the encoding details, and separate notes about these details.
//! Reading ([`read`]) accepts exactly one item, in every well-formed encoding; the protocol decides which encodings
//! to reject ([`Form`]). Writing ([`encode`]) produces the core deterministic encoding of section 4.2.1. All of it is
//! independent of protocols. Start reading at
//! [`Cbor`].

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use reader::{Form, Item, Limits, ReadErrorKind, read, read_first};
pub(crate) use writer::{KeyOrder, Style, encode, encode_as};

/// One data item (RFC 8949, 3).
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cbor {
    /// Major type 0: the whole range of 64 bits.
    Unsigned(u64),
    /// Major type 1: the number -1 - n, of which n is kept; the whole range of 64 bits.
    Negative(u64),
    /// Major type 2.
    Bytes(Vec<u8>),
    /// Major type 3.
    Text(String),
    /// Major type 4.
    Array(Vec<Cbor>),
    /// Major type 5: pairs in wire order, repeated keys included.
    Map(Vec<(Cbor, Cbor)>),
    /// Major type 6: the number and the tagged item.
    Tag(u64, Box<Cbor>),
    /// Simple values 20 and 21.
    Bool(bool),
    /// Simple value 22.
    Null,
    /// Every other simple value: 23 is `undefined`.
    Simple(u8),
    /// Floating-point numbers of any width; the sign and payload of a NaN do not count.
    Float(f64),
}

impl Cbor {
    /// A map with text keys, for messages that the program composes; the names must differ.
    #[must_use]
    pub(crate) fn map<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Map(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// The number, if this is an unsigned integer.
    #[must_use]
    pub(crate) fn as_unsigned(&self) -> Option<u64> {
        match self {
            Self::Unsigned(number) => Some(*number),
            _ => None, // every other kind
        }
    }

    /// The bytes, if this is a byte string.
    #[must_use]
    pub(crate) fn as_bytes(&self) -> Option<&[u8]> {
        match self {
            Self::Bytes(bytes) => Some(bytes),
            _ => None, // every other kind
        }
    }

    /// The text, if this is a text string.
    #[must_use]
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None, // every other kind
        }
    }

    /// The elements, if this is an array.
    #[must_use]
    pub(crate) fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(items) => Some(items),
            _ => None, // every other kind
        }
    }

    /// The pairs, if this is a map.
    #[must_use]
    pub(crate) fn as_map(&self) -> Option<&[(Self, Self)]> {
        match self {
            Self::Map(pairs) => Some(pairs),
            _ => None, // every other kind
        }
    }

    /// The truth value, if this is one.
    #[must_use]
    pub(crate) fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Bool(truth) => Some(*truth),
            _ => None, // every other kind
        }
    }

    /// The value behind the text key `name`, if this is a map that has it; of repeated keys the last one.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let pairs = self.as_map()?;
        pairs.iter().rev().find(|(key, _)| key.as_text() == Some(name)).map(|(_, value)| value)
    }

    /// The same, at every depth, with the last value alone where a key is repeated.
    #[must_use]
    pub(crate) fn without_repeats(self) -> Self {
        match self {
            Self::Array(items) => Self::Array(items.into_iter().map(Self::without_repeats).collect()),
            Self::Tag(number, inner) => Self::Tag(number, Box::new(inner.without_repeats())),
            Self::Map(pairs) => {
                let mut kept: std::collections::BTreeMap<Vec<u8>, (Self, Self)> = std::collections::BTreeMap::new();
                for (key, value) in pairs {
                    kept.insert(encode(&key), (key, value.without_repeats()));
                }
                Self::Map(kept.into_values().collect())
            }
            _ => self, // not a container
        }
    }

    /// Replaces the value of the text key `name`, or adds it at the end; has no effect on other values than maps.
    pub(crate) fn set(&mut self, name: &str, value: Self) {
        let Self::Map(pairs) = self else {
            return;
        };
        match pairs.iter_mut().find(|(key, _)| key.as_text() == Some(name)) {
            Some((_, place)) => *place = value,
            None => pairs.push((name.into(), value)),
        }
    }
}

impl From<u64> for Cbor {
    fn from(number: u64) -> Self {
        Self::Unsigned(number)
    }
}

impl From<&str> for Cbor {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Cbor {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Vec<u8>> for Cbor {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Cbor {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<bool> for Cbor {
    fn from(truth: bool) -> Self {
        Self::Bool(truth)
    }
}
