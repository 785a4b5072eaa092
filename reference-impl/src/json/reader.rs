//! Reading JSON text strictly, as RFC 8259 and I-JSON (RFC 7493) define it.
//!
//! Rejected, because two correct readers could read different values: duplicate member names (compared after
//! decoding), unpaired surrogates, a byte order mark, invalid UTF-8, numbers beyond the range of a double, and
//! anything after the value. Nesting is bounded. [`read_leniently`] accepts the first three. The loop keeps its own
//! stack, so that no input can exhaust the stack of the thread.

use std::collections::HashSet;
use std::fmt;

use super::{Number, Object, Value};

/// Maximum nesting of arrays and objects.
///
/// 512: deeper than any record of the protocols here, shallow enough for the recursive walks over a tree.
pub(crate) const DEPTH_LIMIT: usize = 512;

/// Above this many members names are looked up in a set: a scan of each object would be quadratic.
const SCAN_LIMIT: usize = 16;

/// Why a text is not acceptable JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ReadError {
    /// Offset of the offending byte from the start of the text.
    pub(crate) at: usize,
    /// The kind of error.
    pub(crate) kind: ReadErrorKind,
}

/// The kinds of errors.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub(crate) enum ReadErrorKind {
    /// The text starts with U+FEFF.
    ByteOrderMark,
    /// An object has two members of this name.
    DuplicateName(String),
    /// The text is not UTF-8.
    Encoding,
    /// A u-escape names half of a surrogate pair.
    LoneSurrogate,
    /// A number lies beyond the range of a double.
    NumberOverflow,
    /// The grammar expects something else here.
    Syntax(&'static str),
    /// More arrays and objects are open than the limit allows.
    TooDeep,
    /// Something follows the value.
    Trailing,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ReadErrorKind::ByteOrderMark => write!(f, "byte order mark"),
            ReadErrorKind::DuplicateName(name) => write!(f, "duplicate member name {name:?}"),
            ReadErrorKind::Encoding => write!(f, "invalid UTF-8"),
            ReadErrorKind::LoneSurrogate => write!(f, "unpaired surrogate"),
            ReadErrorKind::NumberOverflow => write!(f, "number out of range"),
            ReadErrorKind::Syntax(expected) => write!(f, "expected {expected}"),
            ReadErrorKind::TooDeep => write!(f, "nesting too deep"),
            ReadErrorKind::Trailing => write!(f, "text after the value"),
        }?;
        write!(f, " at byte {}", self.at)
    }
}

impl std::error::Error for ReadError {}

/// Reads exactly one JSON value, nested at most [`DEPTH_LIMIT`] deep.
///
/// # Errors
///
/// [`ReadError`] with the first offence; always a fault of the sender.
pub(crate) fn read(text: &[u8]) -> Result<Value, ReadError> {
    read_to_depth(text, DEPTH_LIMIT)
}

/// The same with another bound on nesting, for a record that is wrapped in an envelope.
///
/// # Errors
///
/// As [`read`].
pub(crate) fn read_to_depth(text: &[u8], depth: usize) -> Result<Value, ReadError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| ReadError { at: error.valid_up_to(), kind: ReadErrorKind::Encoding })?;
    if text.starts_with('\u{feff}') {
        return Err(ReadError { at: 0, kind: ReadErrorKind::ByteOrderMark });
    }
    Reader { text, bytes: text.as_bytes(), at: 0, depth, lenient: false, any_size: false }.document()
}

/// The same with numbers of any size, such as `1e400`: [`Number::as_f64`] of such a number is infinite.
///
/// # Errors
///
/// As [`read`], but for numbers beyond the range of a double.
pub(crate) fn read_exactly(text: &[u8], depth: usize) -> Result<Value, ReadError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| ReadError { at: error.valid_up_to(), kind: ReadErrorKind::Encoding })?;
    if text.starts_with('\u{feff}') {
        return Err(ReadError { at: 0, kind: ReadErrorKind::ByteOrderMark });
    }
    Reader { text, bytes: text.as_bytes(), at: 0, depth, lenient: false, any_size: true }.document()
}

/// Reads what many a library takes as well: of members of one name the last counts, an unpaired surrogate becomes
/// U+FFFD, a byte order mark is skipped.
///
/// # Errors
///
/// Otherwise as [`read`].
pub(crate) fn read_leniently(text: &[u8]) -> Result<Value, ReadError> {
    let text = std::str::from_utf8(text)
        .map_err(|error| ReadError { at: error.valid_up_to(), kind: ReadErrorKind::Encoding })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    Reader { text, bytes: text.as_bytes(), at: 0, depth: DEPTH_LIMIT, lenient: true, any_size: false }.document()
}

/// A value that is begun and waits for more of its parts.
enum Open {
    List(Vec<Value>),
    Object { members: Object, names: HashSet<String>, name: String },
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    depth: usize,
    lenient: bool,
    /// Whether numbers beyond the range of a double are accepted.
    any_size: bool,
}

impl Reader<'_> {
    fn document(mut self) -> Result<Value, ReadError> {
        let mut open: Vec<Open> = Vec::new();
        loop {
            self.skip_space();
            let mut value = match self.peek() {
                Some(b'{') => {
                    self.enter(open.len())?;
                    if self.take(b'}') {
                        Value::Object(Object::new())
                    } else {
                        let name = self.name()?;
                        open.push(Open::Object { members: Object::new(), names: HashSet::new(), name });
                        continue;
                    }
                }
                Some(b'[') => {
                    self.enter(open.len())?;
                    if self.take(b']') {
                        Value::List(Vec::new())
                    } else {
                        open.push(Open::List(Vec::new()));
                        continue;
                    }
                }
                _ => self.scalar()?, // a scalar, or the error of one
            };
            // A finished value is added to the enclosing container, which may finish that in turn.
            loop {
                self.skip_space();
                match open.pop() {
                    None if self.at == self.bytes.len() => return Ok(value),
                    None => return Err(self.error(ReadErrorKind::Trailing)),
                    Some(Open::List(mut items)) => {
                        items.push(value);
                        if self.take(b',') {
                            open.push(Open::List(items));
                            break;
                        }
                        self.expect(b']', "a comma or the end of the array")?;
                        value = Value::List(items);
                    }
                    Some(Open::Object { mut members, mut names, name }) => {
                        if members.len() == SCAN_LIMIT {
                            names.extend(members.iter().map(|(name, _)| name.to_owned()));
                        }
                        if members.len() >= SCAN_LIMIT {
                            names.insert(name.clone());
                        }
                        if self.lenient {
                            members.set(&name, value);
                        } else {
                            members.push(name, value);
                        }
                        if self.take(b',') {
                            self.skip_space();
                            let at = self.at;
                            let name = self.name()?;
                            let known =
                                if names.is_empty() { members.get(&name).is_some() } else { names.contains(&name) };
                            if known && !self.lenient {
                                return Err(ReadError { at, kind: ReadErrorKind::DuplicateName(name) });
                            }
                            open.push(Open::Object { members, names, name });
                            break;
                        }
                        self.expect(b'}', "a comma or the end of the object")?;
                        value = Value::Object(members);
                    }
                }
            }
        }
    }

    /// Steps over the opening bracket and the space behind it.
    fn enter(&mut self, open: usize) -> Result<(), ReadError> {
        if open >= self.depth {
            return Err(self.error(ReadErrorKind::TooDeep));
        }
        self.at += 1;
        self.skip_space();
        Ok(())
    }

    /// A member name and the colon behind it.
    fn name(&mut self) -> Result<String, ReadError> {
        if self.peek() != Some(b'"') {
            return Err(self.error(ReadErrorKind::Syntax("a member name")));
        }
        let name = self.string()?;
        self.skip_space();
        self.expect(b':', "a colon")?;
        Ok(name)
    }

    fn scalar(&mut self) -> Result<Value, ReadError> {
        match self.peek() {
            Some(b'"') => Ok(Value::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => Ok(Value::Number(self.number()?)),
            Some(b'n') => self.word("null", Value::Null),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            _ => Err(self.error(ReadErrorKind::Syntax("a value"))), // no value starts like this
        }
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, ReadError> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return Err(self.error(ReadErrorKind::Syntax(word)));
        }
        self.at += word.len();
        Ok(value)
    }

    fn number(&mut self) -> Result<Number, ReadError> {
        let start = self.at;
        self.take(b'-');
        if !self.take(b'0') {
            self.digits()?;
        }
        if self.take(b'.') {
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            if !self.take(b'+') {
                self.take(b'-');
            }
            self.digits()?;
        }
        let number = Number(self.text[start..self.at].to_owned());
        if !self.any_size && number.as_f64().is_infinite() {
            return Err(ReadError { at: start, kind: ReadErrorKind::NumberOverflow });
        }
        Ok(number)
    }

    fn digits(&mut self) -> Result<(), ReadError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at == start { Err(self.error(ReadErrorKind::Syntax("a digit"))) } else { Ok(()) }
    }

    fn string(&mut self) -> Result<String, ReadError> {
        self.at += 1; // the quote
        let mut out = String::new();
        loop {
            let run = self.at;
            while self.peek().is_some_and(|byte| byte >= b' ' && byte != b'"' && byte != b'\\') {
                self.at += 1;
            }
            out.push_str(&self.text[run..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => {
                    return Err(self.error(ReadErrorKind::Syntax("an escape for a control character")));
                }
                None => return Err(self.error(ReadErrorKind::Syntax("the end of the string"))),
            }
        }
    }

    fn escape(&mut self) -> Result<char, ReadError> {
        let start = self.at;
        self.at += 1;
        let character = match self.peek() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(start);
            }
            _ => return Err(self.error(ReadErrorKind::Syntax("an escape"))), // unknown escape
        };
        self.at += 1;
        Ok(character)
    }

    fn unicode_escape(&mut self, start: usize) -> Result<char, ReadError> {
        let first = self.four_digits()?;
        let after = self.at;
        let mut code = Some(first); // a low surrogate alone is refused by the conversion
        if (0xd800..=0xdbff).contains(&first) {
            code = None;
            if self.bytes[self.at..].starts_with(b"\\u") {
                self.at += 2;
                let second = self.four_digits()?;
                let pairs = (0xdc00..=0xdfff).contains(&second);
                code = pairs.then(|| 0x1_0000 + ((first - 0xd800) << 10) + (second.wrapping_sub(0xdc00)));
            }
        }
        match code.and_then(char::from_u32) {
            Some(character) => Ok(character),
            None if self.lenient => {
                self.at = after; // the next escape is independent
                Ok(char::REPLACEMENT_CHARACTER)
            }
            None => Err(ReadError { at: start, kind: ReadErrorKind::LoneSurrogate }),
        }
    }

    fn four_digits(&mut self) -> Result<u32, ReadError> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            let Some(digit) = digit else {
                return Err(self.error(ReadErrorKind::Syntax("four hexadecimal digits")));
            };
            code = code * 16 + digit;
            self.at += 1;
        }
        Ok(code)
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), ReadError> {
        if self.take(byte) { Ok(()) } else { Err(self.error(ReadErrorKind::Syntax(expected))) }
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn error(&self, kind: ReadErrorKind) -> ReadError {
        ReadError { at: self.at, kind }
    }
}
