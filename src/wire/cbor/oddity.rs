//! Errors in CBOR bytes, and deviations from the deterministic encoding.

use std::fmt;

/// A deviation of well-formed CBOR from the core deterministic encoding (RFC 8949 section 4.2.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Byte offset of the item.
    pub offset: usize,
    /// Its kind.
    pub kind: OddityKind,
}

/// The kinds of [`Oddity`]. Keys are given in diagnostic notation, shortened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OddityKind {
    /// An integer in a head of `head` bytes where `shortest` would do.
    LongInteger {
        /// Bytes used.
        head: usize,
        /// Bytes needed.
        shortest: usize,
    },
    /// The length of a string, array or map in a head of `head` bytes where `shortest` would do.
    LongLength {
        /// Bytes used.
        head: usize,
        /// Bytes needed.
        shortest: usize,
    },
    /// A tag number in a head of `head` bytes where `shortest` would do.
    LongTag {
        /// Bytes used.
        head: usize,
        /// Bytes needed.
        shortest: usize,
    },
    /// A string, array or map of indefinite length.
    Indefinite,
    /// A map key whose encoding sorts before the one in front of it.
    UnsortedKey {
        /// The key.
        key: String,
        /// The key in front of it.
        after: String,
    },
    /// A repeated map key, compared by deterministic encoding.
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// A floating-point number of `width` bytes whose value fits `shortest`.
    LongFloat {
        /// Bytes used.
        width: usize,
        /// Bytes needed.
        shortest: usize,
    },
    /// A NaN other than `f97e00`.
    OtherNan,
    /// A tag 2 or 3 big number that fits 64 bits and so has a plain integer form (RFC 8949 section 3.4.3).
    SmallBignum,
    /// A tag 2 or 3 big number with leading zero bytes.
    PaddedBignum,
}

impl fmt::Display for OddityKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LongInteger { head, shortest } => write!(f, "an integer encoded in {head} bytes, {shortest} suffice"),
            Self::LongLength { head, shortest } => write!(f, "a length encoded in {head} bytes, {shortest} suffice"),
            Self::LongTag { head, shortest } => write!(f, "a tag number encoded in {head} bytes, {shortest} suffice"),
            Self::Indefinite => f.write_str("an indefinite length"),
            Self::UnsortedKey { key, after } => write!(f, "unsorted map key {key}, found after {after}"),
            Self::DuplicateKey { key } => write!(f, "duplicate map key {key}"),
            Self::LongFloat { width, shortest } => write!(f, "a float encoded in {width} bytes, {shortest} suffice"),
            Self::OtherNan => f.write_str("a NaN other than f97e00"),
            Self::SmallBignum => f.write_str("a bignum for a value that fits a plain integer"),
            Self::PaddedBignum => f.write_str("a bignum with leading zeros"),
        }
    }
}

impl fmt::Display for Oddity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.offset)
    }
}

/// Why bytes are not CBOR, or not CBOR within limits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at byte {offset}")]
pub struct CborError {
    /// Byte offset of the error, counted from 0.
    pub offset: usize,
    /// What is wrong at this offset.
    pub kind: CborErrorKind,
}

impl CborError {
    /// Whether further bytes after the input could make it well-formed.
    pub fn is_incomplete(&self) -> bool {
        matches!(self.kind, CborErrorKind::Truncated { .. } | CborErrorKind::LengthBeyondInput { .. })
    }
}

/// The kinds of [`CborError`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CborErrorKind {
    /// The input ends inside an item.
    #[error("unexpected end of input, expected {expected}")]
    Truncated {
        /// What was expected next.
        expected: &'static str,
    },
    /// A string is longer, or an array or map has more items, than the rest of the input can hold.
    #[error("{what} of declared length {declared}, but the input has only {available} bytes left")]
    LengthBeyondInput {
        /// The name of the major type.
        what: &'static str,
        /// The declared length: bytes, items or pairs.
        declared: u64,
        /// Bytes that follow the head.
        available: usize,
    },
    /// Data follows the item.
    #[error("{0} bytes after the end of the item")]
    TrailingBytes(usize),
    /// A text string, or one chunk of it, is not UTF-8.
    #[error("invalid UTF-8 in a text string")]
    InvalidUtf8,
    /// Additional information 28, 29 or 30.
    #[error("reserved additional information {0}")]
    ReservedInformation(u8),
    /// An integer or tag with additional information 31.
    #[error("indefinite length, not allowed for {0}")]
    NoIndefinite(&'static str),
    /// A break in place of a data item.
    #[error("unexpected break, expected {expected}")]
    UnexpectedBreak {
        /// What was expected.
        expected: &'static str,
    },
    /// A chunk of an indefinite string that is not a definite string of the same major type.
    #[error("invalid chunk of an indefinite {wanted}: {found}")]
    WrongChunk {
        /// The name of the major type of the chunk.
        found: &'static str,
        /// The name of the major type of the string.
        wanted: &'static str,
    },
    /// A simple value below 32 in two bytes.
    #[error("simple value {0} encoded in two bytes, not well-formed below 32")]
    LongSimple(u8),
    /// Nesting beyond the limit; tags count.
    #[error("nesting deeper than {0} levels")]
    TooDeep(usize),
    /// More items than the limit; keys, values, tags and chunks count.
    #[error("more than {0} data items")]
    TooManyItems(usize),
}
