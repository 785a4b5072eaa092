//! Reading CBOR: every well-formed item, within limits, and notes on its form.
//!
//! A declared length is never trusted: bytes are borrowed from the input, and memory is reserved for no more elements
//! than the rest of the input could hold.

use std::fmt;
use std::ops::Range;

use super::{Cbor, encode};

/// The limits of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// Maximum nesting of arrays, maps and tags.
    pub(crate) depth: usize,
    /// Whether room is made for any declared length before its bytes are there, which no reader should do.
    pub(crate) trust_lengths: bool,
}

impl Default for Limits {
    /// 128 levels: far deeper than any message, shallow enough for the recursive walks over a tree.
    fn default() -> Self {
        Self { depth: 128, trust_lengths: false }
    }
}

/// Properties of the encoding of an item that the tree does not show.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Form {
    /// A string, array or map has no declared length.
    pub(crate) indefinite: bool,
    /// A number, length, tag or float takes more bytes than it needs.
    pub(crate) wide: bool,
    /// The keys of a map are not in the bytewise order of their encodings.
    pub(crate) unsorted: bool,
    /// A map has the same key twice.
    pub(crate) repeated_key: bool,
}

impl Form {
    /// Whether the item was written in the core deterministic encoding (RFC 8949, 4.2.1).
    #[cfg(test)]
    #[must_use]
    pub(crate) fn is_deterministic(self) -> bool {
        self == Self::default()
    }
}

/// An item that was read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Item {
    /// What it is.
    pub(crate) value: Cbor,
    /// Its encoding, at any depth.
    pub(crate) form: Form,
    /// The spans of the values of the outermost map, in the order of the pairs; empty for other items.
    pub(crate) spans: Vec<Range<usize>>,
}

/// Why bytes are not an acceptable item, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// Offset of the offending byte from the start of the input.
    pub(crate) at: usize,
    /// The kind of error.
    pub(crate) kind: ReadErrorKind,
}

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadErrorKind {
    /// The input ends inside the item.
    End,
    /// The head of an item has a reserved value, a break is misplaced, or a chunk has the wrong type.
    Malformed,
    /// A text string is not UTF-8.
    Encoding,
    /// Not enough memory for the declared length; only with [`Limits::trust_lengths`].
    Memory,
    /// More is nested than the limit allows.
    TooDeep,
    /// Something follows the item.
    Trailing,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            ReadErrorKind::End => write!(f, "the input ends inside an item"),
            ReadErrorKind::Malformed => write!(f, "malformed CBOR"),
            ReadErrorKind::Encoding => write!(f, "invalid UTF-8"),
            ReadErrorKind::Memory => write!(f, "no room"),
            ReadErrorKind::TooDeep => write!(f, "nesting too deep"),
            ReadErrorKind::Trailing => write!(f, "bytes after the item"),
        }?;
        write!(f, " at byte {}", self.at)
    }
}

impl std::error::Error for ReadError {}

/// Reads exactly one item.
///
/// # Errors
///
/// [`ReadError`] with the first offence; always a fault of the sender.
pub(crate) fn read(bytes: &[u8], limits: Limits) -> Result<Item, ReadError> {
    let (item, length) = read_first(bytes, limits)?;
    if length == bytes.len() { Ok(item) } else { Err(ReadError { at: length, kind: ReadErrorKind::Trailing }) }
}

/// Reads the item at the start of the input; the second result is its length in bytes.
///
/// # Errors
///
/// As [`read`], except that anything may follow.
pub(crate) fn read_first(bytes: &[u8], limits: Limits) -> Result<(Item, usize), ReadError> {
    let mut reader = Reader { bytes, at: 0, limits, form: Form::default(), spans: Vec::new() };
    let value = reader.item(0)?;
    Ok((Item { value, form: reader.form, spans: reader.spans }, reader.at))
}

/// The head of an item (RFC 8949, 3): three bits of type, five of additional information, and the argument.
struct Head {
    major: u8,
    information: u8,
    /// `None` for indefinite lengths and breaks.
    argument: Option<u64>,
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    limits: Limits,
    form: Form,
    spans: Vec<Range<usize>>,
}

impl Reader<'_> {
    fn error(&self, kind: ReadErrorKind) -> ReadError {
        ReadError { at: self.at, kind }
    }

    fn take(&mut self, count: usize) -> Result<&[u8], ReadError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(ReadError { at: self.bytes.len(), kind: ReadErrorKind::End })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn head(&mut self) -> Result<Head, ReadError> {
        let start = self.at;
        let first = self.take(1)?[0];
        let (major, information) = (first >> 5, first & 0x1f);
        let argument = match information {
            0..=23 => Some(u64::from(information)),
            24..=27 => {
                let width = 1 << (information - 24);
                let number = self.take(width)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
                // 4.2.1: the shortest form; of floats the item itself decides.
                let least = [24, 1 << 8, 1 << 16, 1 << 32][usize::from(information - 24)];
                if major < 7 && number < least {
                    self.form.wide = true;
                }
                Some(number)
            }
            31 if matches!(major, 2..=5 | 7) => None,
            _ => return Err(ReadError { at: start, kind: ReadErrorKind::Malformed }), // reserved
        };
        if major != 7 && argument.is_none() {
            self.form.indefinite = true;
        }
        Ok(Head { major, information, argument })
    }

    /// Whether a break is next; consumes it if so.
    fn is_break(&mut self) -> bool {
        let found = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(found);
        found
    }

    fn item(&mut self, depth: usize) -> Result<Cbor, ReadError> {
        if depth > self.limits.depth {
            return Err(self.error(ReadErrorKind::TooDeep));
        }
        let start = self.at;
        let malformed = ReadError { at: start, kind: ReadErrorKind::Malformed };
        let head = self.head()?;
        Ok(match (head.major, head.argument) {
            (0, Some(number)) => Cbor::Unsigned(number),
            (1, Some(number)) => Cbor::Negative(number),
            (2, length) => Cbor::Bytes(self.string(2, length)?),
            (3, length) => {
                let bytes = self.string(3, length)?;
                let bad = ReadError { at: start, kind: ReadErrorKind::Encoding };
                Cbor::Text(String::from_utf8(bytes).map_err(|_| bad)?)
            }
            (4, length) => Cbor::Array(self.elements(length, depth)?),
            (5, length) => Cbor::Map(self.pairs(length, depth)?),
            (6, Some(number)) => Cbor::Tag(number, Box::new(self.item(depth + 1)?)),
            (7, Some(argument)) => self.simple_or_float(head.information, argument).ok_or(malformed)?,
            _ => return Err(malformed), // a break outside, an indefinite integer or tag
        })
    }

    /// The content of a string; an indefinite one consists of definite chunks of its type (3.2.3), and each chunk of
    /// a text is a text by itself.
    fn string(&mut self, major: u8, length: Option<u64>) -> Result<Vec<u8>, ReadError> {
        if let Some(length) = length {
            let length = usize::try_from(length).map_err(|_| self.error(ReadErrorKind::End))?;
            let mut whole = Vec::new();
            if self.limits.trust_lengths {
                whole.try_reserve_exact(length).map_err(|_| self.error(ReadErrorKind::Memory))?;
            }
            whole.extend(self.take(length)?);
            return Ok(whole);
        }
        let mut whole = Vec::new();
        while !self.is_break() {
            let start = self.at;
            let chunk = self.head()?;
            if chunk.major != major || chunk.argument.is_none() {
                return Err(ReadError { at: start, kind: ReadErrorKind::Malformed });
            }
            let chunk = self.string(major, chunk.argument)?;
            if major == 3 && std::str::from_utf8(&chunk).is_err() {
                return Err(ReadError { at: start, kind: ReadErrorKind::Encoding });
            }
            whole.extend(chunk);
        }
        Ok(whole)
    }

    /// Whether another element follows; `left` counts down to none, or is `None` up to a break.
    fn another(&mut self, left: &mut Option<u64>) -> bool {
        match left {
            Some(0) => false,
            Some(count) => {
                *count -= 1;
                true
            }
            None => !self.is_break(),
        }
    }

    /// The capacity for the declared elements of at least `width` bytes each, bounded by the rest of the input.
    fn room<T>(&self, length: Option<u64>, width: usize) -> Result<Vec<T>, ReadError> {
        let declared = length.and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
        if self.limits.trust_lengths {
            let mut trusting = Vec::new();
            trusting.try_reserve_exact(declared).map_err(|_| self.error(ReadErrorKind::Memory))?;
            return Ok(trusting);
        }
        // Only a part of the possible number: elements are larger in memory than on the wire; the vector grows as
        // needed.
        Ok(Vec::with_capacity(declared.min((self.bytes.len() - self.at) / width / 8)))
    }

    fn elements(&mut self, length: Option<u64>, depth: usize) -> Result<Vec<Cbor>, ReadError> {
        let (mut left, mut elements) = (length, self.room(length, 1)?);
        while self.another(&mut left) {
            elements.push(self.item(depth + 1)?);
        }
        Ok(elements)
    }

    fn pairs(&mut self, length: Option<u64>, depth: usize) -> Result<Vec<(Cbor, Cbor)>, ReadError> {
        let (mut left, mut pairs) = (length, self.room(length, 2)?);
        let mut spans = Vec::new();
        while self.another(&mut left) {
            let key = self.item(depth + 1)?;
            let start = self.at;
            let value = self.item(depth + 1)?;
            if depth == 0 {
                spans.push(start..self.at);
            }
            pairs.push((key, value));
        }
        if depth == 0 {
            self.spans = spans;
        }
        self.note_keys(&pairs);
        Ok(pairs)
    }

    /// Notes disorder and repetition among the keys of a map. Keys are the same if they are the same value, however
    /// they were written.
    fn note_keys(&mut self, pairs: &[(Cbor, Cbor)]) {
        let mut keys: Vec<Vec<u8>> = pairs.iter().map(|(key, _)| encode(key)).collect();
        if !keys.is_sorted() {
            self.form.unsorted = true;
            keys.sort_unstable();
        }
        self.form.repeated_key |= keys.windows(2).any(|two| two[0] == two[1]);
    }

    fn simple_or_float(&mut self, information: u8, argument: u64) -> Option<Cbor> {
        let float = match information {
            25 => half(u16::try_from(argument).ok()?),
            26 => f64::from(f32::from_bits(u32::try_from(argument).ok()?)),
            27 => f64::from_bits(argument),
            _ => {
                return match argument {
                    20 => Some(Cbor::Bool(false)),
                    21 => Some(Cbor::Bool(true)),
                    22 => Some(Cbor::Null),
                    // 3.3: below 32 the second byte is not for simple values.
                    24..=31 => None,
                    _ if information == 24 && argument < 32 => None,
                    _ => u8::try_from(argument).ok().map(Cbor::Simple),
                };
            }
        };
        let float = Cbor::Float(float);
        self.form.wide |=
            encode(&float).len() < 1 + (1 << (information - 24)) || is_odd_nan(&float, information, argument);
        Some(float)
    }
}

/// Whether this is a NaN other than the canonical one.
fn is_odd_nan(float: &Cbor, information: u8, argument: u64) -> bool {
    matches!(float, Cbor::Float(number) if number.is_nan()) && (information, argument) != (25, 0x7e00)
}

/// The value of a number of IEEE 754 binary16 (RFC 8949, D).
fn half(bits: u16) -> f64 {
    let exponent = i32::from(bits >> 10 & 0x1f);
    let mantissa = f64::from(bits & 0x3ff);
    let size = match exponent {
        0 => mantissa * 2f64.powi(-24),
        31 if mantissa == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (mantissa + 1024.0) * 2f64.powi(exponent - 25), // normal
    };
    if bits & 0x8000 == 0 { size } else { -size }
}
