//! Decodes bytes into values.

use std::borrow::Cow;
use std::collections::HashSet;

use super::super::recent::Recent;
use super::head::{self, Head, MAJORS};
use super::limits::Limits;
use super::{CborError, CborErrorKind, Oddity, OddityKind, diagnostic, float};
use crate::value::{Shared, Text, Value};

/// Maximum number of reported oddities, so that hostile input cannot exhaust memory.
const ODDITIES: usize = 1000;

/// An item that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its value: members in wire order with duplicates, indefinite strings joined, `undefined` as `Simple(23)`.
    pub value: Value,
    /// Its deviations from the deterministic encoding, in the order found; the first thousand.
    pub oddities: Vec<Oddity>,
}

impl Document {
    /// Whether the bytes are the core deterministic encoding of the value (RFC 8949 section 4.2.1).
    pub fn is_deterministic(&self) -> bool {
        self.oddities.is_empty()
    }
}

/// Reads the one item that fills `bytes`.
///
/// # Errors
///
/// [`CborError`] if the bytes are not exactly one well-formed item within the limits.
pub fn read(bytes: &[u8], limits: Limits) -> Result<Document, CborError> {
    let (document, rest) = read_prefix(bytes, limits)?;
    match rest.len() {
        0 => Ok(document),
        more => Err(CborError { offset: bytes.len() - more, kind: CborErrorKind::TrailingBytes(more) }),
    }
}

/// Reads the first item of a CBOR sequence (RFC 8742), and returns the bytes after it.
///
/// # Errors
///
/// As [`read`], except that bytes may follow the item.
pub fn read_prefix(bytes: &[u8], limits: Limits) -> Result<(Document, &[u8]), CborError> {
    thread_local! {
        static RECENT: Recent<Result<(Document, usize), CborError>> = Recent::new();
    }
    let first = || {
        let mut reader = Reader::new(bytes, 0, limits);
        let value = reader.value(1)?;
        Ok((Document { value, oddities: reader.oddities }, reader.at))
    };
    let found = match limits == Limits::default() {
        true => RECENT.with(|recent| recent.get(bytes, first)),
        false => first(),
    };
    found.map(|(document, end)| (document, &bytes[end..]))
}

/// Reads a CBOR sequence (RFC 8742). The limit on items counts for each of them, offsets are those of the sequence.
///
/// # Errors
///
/// As [`read`], for the first invalid item.
pub fn read_sequence(bytes: &[u8], limits: Limits) -> Result<Vec<Document>, CborError> {
    let mut documents = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if documents.len() == limits.items {
            return Err(CborError { offset: at, kind: CborErrorKind::TooManyItems(limits.items) });
        }
        let mut reader = Reader::new(bytes, at, limits);
        let value = reader.value(1)?;
        at = reader.at;
        documents.push(Document { value, oddities: reader.oddities });
    }
    Ok(documents)
}

/// Reads the one item that fills `bytes` within the default limits, ignoring oddities.
///
/// # Errors
///
/// As [`read`].
pub fn parse(bytes: &[u8]) -> Result<Value, CborError> {
    read(bytes, Limits::default()).map(|document| document.value)
}

/// Walks the items of an input.
pub(super) struct Reader<'b> {
    bytes: &'b [u8],
    /// Where the next item starts.
    pub(super) at: usize,
    limits: Limits,
    items: usize,
    oddities: Vec<Oddity>,
    /// All oddities found, including those beyond the report limit.
    found: usize,
}

impl<'b> Reader<'b> {
    pub(super) fn new(bytes: &'b [u8], at: usize, limits: Limits) -> Self {
        Self { bytes, at, limits, items: 0, oddities: Vec::new(), found: 0 }
    }

    fn odd(&mut self, offset: usize, kind: OddityKind) {
        self.found += 1;
        if self.oddities.len() < ODDITIES {
            self.oddities.push(Oddity { offset, kind });
        }
    }

    /// Consumes one head, which counts as one item.
    pub(super) fn head(&mut self) -> Result<Head, CborError> {
        let head = Head::read(self.bytes, self.at)?;
        if !head.is_break() {
            self.items += 1;
            if self.items > self.limits.items {
                return Err(CborError { offset: self.at, kind: CborErrorKind::TooManyItems(self.limits.items) });
            }
        }
        self.at += head.length;
        Ok(head)
    }

    /// The declared length, if the rest of the input can hold it at `least` bytes per element.
    fn fits(&self, head: Head, offset: usize, least: usize) -> Result<usize, CborError> {
        let available = self.bytes.len() - self.at;
        usize::try_from(head.argument).ok().filter(|length| *length <= available / least).ok_or(CborError {
            offset,
            kind: CborErrorKind::LengthBeyondInput {
                what: MAJORS[usize::from(head.major)],
                declared: head.argument,
                available,
            },
        })
    }

    /// Whether the next item is the break that ends an indefinite one; consumes it if so.
    pub(super) fn at_break(&mut self) -> bool {
        let ends = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(ends);
        ends
    }

    /// Whether a container has another element; `left` is the count of a definite one.
    pub(super) fn another(&mut self, left: &mut Option<usize>) -> bool {
        match left {
            Some(0) => false,
            Some(more) => {
                *more -= 1;
                true
            }
            None => !self.at_break(),
        }
    }

    /// Elements, or pairs, that a container declares; `None` if its length is indefinite.
    pub(super) fn count(&self, head: Head, offset: usize) -> Result<Option<usize>, CborError> {
        if head.is_indefinite() {
            return Ok(None);
        }
        let each = if head.major == 5 { 2 } else { 1 };
        let count = self.fits(head, offset, each)?;
        // Before any of them is kept.
        if count.saturating_mul(each) > self.limits.items.saturating_sub(self.items) {
            return Err(CborError { offset, kind: CborErrorKind::TooManyItems(self.limits.items) });
        }
        Ok(Some(count))
    }

    /// Reads one item and its content.
    pub(super) fn value(&mut self, depth: usize) -> Result<Value, CborError> {
        let offset = self.at;
        if depth > self.limits.depth {
            return Err(CborError { offset, kind: CborErrorKind::TooDeep(self.limits.depth) });
        }
        let head = self.head()?;
        if head.is_indefinite() {
            match head.major {
                7 => {
                    return Err(CborError { offset, kind: CborErrorKind::UnexpectedBreak { expected: "a data item" } });
                }
                0 | 1 | 6 => {
                    let what = MAJORS[usize::from(head.major)];
                    return Err(CborError { offset, kind: CborErrorKind::NoIndefinite(what) });
                }
                _ => self.odd(offset, OddityKind::Indefinite),
            }
        } else if !head.is_shortest() {
            let (head, shortest, major) = (head.length, head::shortest(head.argument), head.major);
            self.odd(
                offset,
                match major {
                    0 | 1 => OddityKind::LongInteger { head, shortest },
                    6 => OddityKind::LongTag { head, shortest },
                    _ => OddityKind::LongLength { head, shortest },
                },
            );
        }
        Ok(match head.major {
            0 => Value::Integer(i128::from(head.argument)),
            1 => Value::Integer(-1 - i128::from(head.argument)),
            2 => Value::Bytes(self.string(head, offset)?.into_owned()),
            3 => Value::Text(match self.string(head, offset)? {
                // Chunks are checked one by one, since each must be valid UTF-8 (RFC 8949 section 3.2.3).
                Cow::Owned(joined) => Text::from(String::from_utf8_lossy(&joined)),
                Cow::Borrowed(bytes) => Text::from(self.text(bytes)?),
            }),
            4 => {
                let mut left = self.count(head, offset)?;
                let mut items = Shared::default();
                while self.another(&mut left) {
                    items.push(self.value(depth + 1)?);
                }
                Value::Array(items)
            }
            5 => self.map(head, offset, depth)?,
            6 => self.tag(head.argument, offset, depth)?,
            _ => self.simple(head, offset)?,
        })
    }

    /// The bytes just consumed, as text.
    fn text(&self, bytes: &'b [u8]) -> Result<&'b str, CborError> {
        std::str::from_utf8(bytes).map_err(|error| CborError {
            offset: self.at - bytes.len() + error.valid_up_to(),
            kind: CborErrorKind::InvalidUtf8,
        })
    }

    fn definite(&mut self, head: Head, offset: usize) -> Result<&'b [u8], CborError> {
        let length = self.fits(head, offset, 1)?;
        let bytes: &'b [u8] = self.bytes;
        let string = &bytes[self.at..self.at + length];
        self.at += length;
        Ok(string)
    }

    fn string(&mut self, head: Head, offset: usize) -> Result<Cow<'b, [u8]>, CborError> {
        if !head.is_indefinite() {
            return self.definite(head, offset).map(Cow::Borrowed);
        }
        let mut joined = Vec::new();
        while !self.at_break() {
            let offset = self.at;
            let chunk = self.head()?;
            if chunk.major != head.major || chunk.is_indefinite() {
                let words = |head: Head| MAJORS[usize::from(head.major)];
                let kind = CborErrorKind::WrongChunk { found: words(chunk), wanted: words(head) };
                return Err(CborError { offset, kind });
            }
            if !chunk.is_shortest() {
                let shortest = head::shortest(chunk.argument);
                self.odd(offset, OddityKind::LongLength { head: chunk.length, shortest });
            }
            let bytes = self.definite(chunk, offset)?;
            if head.major == 3 {
                self.text(bytes)?;
            }
            joined.extend_from_slice(bytes);
        }
        Ok(Cow::Owned(joined))
    }

    fn map(&mut self, head: Head, offset: usize, depth: usize) -> Result<Value, CborError> {
        let mut left = self.count(head, offset)?;
        let mut members: Shared<(Value, Value)> = Shared::default();
        // The encoded keys, once one of them is out of order: a key that comes after all others is none of them.
        let mut seen: Option<HashSet<Cow<'b, [u8]>>> = None;
        let mut last: Option<Cow<'b, [u8]>> = None;
        let show = |encoded: &[u8]| diagnostic::short(encoded);
        while self.another(&mut left) {
            let (offset, odd_before) = (self.at, self.found);
            let key = self.value(depth + 1)?;
            let bytes: &'b [u8] = self.bytes;
            // A key without oddities is already in its deterministic encoding.
            let encoded: Cow<'b, [u8]> = match self.found == odd_before {
                true => Cow::Borrowed(&bytes[offset..self.at]),
                false => Cow::Owned(super::write(&key)),
            };
            if seen.is_none() && last.as_ref().is_some_and(|last| *last >= encoded) {
                seen = Some(members.iter().map(|(key, _)| Cow::Owned(super::write(key))).collect());
            }
            if seen.as_ref().is_some_and(|seen| seen.contains(&encoded)) {
                self.odd(offset, OddityKind::DuplicateKey { key: show(&encoded) });
            } else if let Some(last) = last.as_ref().filter(|last| **last > encoded) {
                self.odd(offset, OddityKind::UnsortedKey { key: show(&encoded), after: show(last) });
            }
            if self.bytes.get(self.at) == Some(&0xff) {
                let kind = CborErrorKind::UnexpectedBreak { expected: "the value of a map key" };
                return Err(CborError { offset: self.at, kind });
            }
            let value = self.value(depth + 1)?;
            members.push((key, value));
            if let Some(seen) = &mut seen {
                seen.insert(encoded.clone());
            }
            last = Some(encoded);
        }
        Ok(Value::Map(members))
    }

    fn tag(&mut self, number: u64, offset: usize, depth: usize) -> Result<Value, CborError> {
        let content = self.value(depth + 1)?;
        if let (2 | 3, Value::Bytes(bytes)) = (number, &content) {
            if bytes.len() - bytes.iter().take_while(|byte| **byte == 0).count() <= 8 {
                self.odd(offset, OddityKind::SmallBignum);
            } else if bytes.first() == Some(&0) {
                self.odd(offset, OddityKind::PaddedBignum);
            }
        }
        Ok(Value::Tag(number, Box::new(content)))
    }

    fn simple(&mut self, head: Head, offset: usize) -> Result<Value, CborError> {
        let float = match (head.info, head.argument) {
            (25, half) => float::from_half(u16::try_from(half).unwrap_or_default()),
            (26, single) => float::from_single(u32::try_from(single).unwrap_or_default()),
            (27, double) => f64::from_bits(double),
            (_, 20) if head.info < 24 => return Ok(Value::Bool(false)),
            (_, 21) if head.info < 24 => return Ok(Value::Bool(true)),
            (_, 22) if head.info < 24 => return Ok(Value::Null),
            (info, number) => {
                let number = u8::try_from(number).unwrap_or_default();
                return match info == 24 && number < 32 {
                    true => Err(CborError { offset, kind: CborErrorKind::LongSimple(number) }),
                    false => Ok(Value::Simple(number)),
                };
            }
        };
        let (width, shortest) = (head.length - 1, float::shortest(float));
        if float.is_nan() {
            if (head.info, head.argument) != (25, 0x7e00) {
                self.odd(offset, OddityKind::OtherNan);
            }
        } else if width > shortest {
            self.odd(offset, OddityKind::LongFloat { width, shortest });
        }
        Ok(Value::Float(float))
    }
}
