//! JSON (RFC 8259): a reader that keeps every detail, and a writer with several layouts.
//! The reader rejects invalid JSON. It accepts but reports what RFC 8259 allows and RFC 7493 (I-JSON)
//! forbids: repeated members, unpaired surrogates, a byte order mark, numbers beyond a double.

use std::collections::HashSet;

use super::recent::Recent;
use crate::value::{Shared, Text, Value};

/// Maximum nesting of arrays and objects. Deeper input is rejected, so that a hostile body cannot exhaust the stack.
pub const DEPTH_LIMIT: usize = 512;

/// A JSON text that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// Its value. Unpaired surrogates in strings are replaced by U+FFFD.
    pub value: Value,
    /// Its deviations from I-JSON, in the order found.
    pub oddities: Vec<Oddity>,
}

/// Something that JSON allows and I-JSON does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Oddity {
    /// Byte offset.
    pub offset: usize,
    /// Its kind.
    pub kind: OddityKind,
}

/// The kinds of [`Oddity`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OddityKind {
    /// The text starts with U+FEFF.
    ByteOrderMark,
    /// A member name occurs twice in one object, compared after decoding.
    DuplicateMember(String),
    /// A `\uD800`-`\uDFFF` escape without its other half.
    LoneSurrogate,
    /// A number that overflows a double.
    NumberOverflow,
}

/// Why bytes are not JSON.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} at byte {offset}")]
pub struct JsonError {
    /// Byte offset of the error, counted from 0.
    pub offset: usize,
    /// What is wrong at this offset.
    pub reason: &'static str,
}

/// The reason for a text that nests deeper than [`DEPTH_LIMIT`]; such a text may still be valid JSON.
const TOO_DEEP: &str = "nesting deeper than 512 levels";

/// Maximum number of values and member names in one text: what a value takes in memory is twenty times its text.
pub const ITEM_LIMIT: usize = 1 << 19;

/// The reason for a text with more items than [`ITEM_LIMIT`]; such a text may still be valid JSON.
const TOO_MANY: &str = "more than 524288 values and names";

impl JsonError {
    /// Whether reading stopped at the limit of depth or of items, so that it is unknown whether the text is JSON.
    pub fn is_limit(&self) -> bool {
        self.reason == TOO_DEEP || self.reason == TOO_MANY
    }
}

/// Reads one JSON text that fills `bytes`.
///
/// # Errors
///
/// [`JsonError`] if the bytes are not UTF-8, not JSON, or nest deeper than [`DEPTH_LIMIT`].
pub fn read(bytes: &[u8]) -> Result<Document, JsonError> {
    thread_local! {
        static RECENT: Recent<Result<Document, JsonError>> = Recent::new();
    }
    RECENT.with(|recent| recent.get(bytes, || read_with_spans(bytes).map(|(document, _)| document)))
}

/// As [`read`], with the range of bytes of every member name and value, in the order in which they start.
///
/// # Errors
///
/// As [`read`].
pub fn read_with_spans(bytes: &[u8]) -> Result<(Document, Vec<(usize, usize)>), JsonError> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| JsonError { offset: error.valid_up_to(), reason: "invalid UTF-8" })?;
    let mut reader = Reader { bytes: text.as_bytes(), text, at: 0, oddities: Vec::new(), spans: Vec::new() };
    if text.starts_with('\u{feff}') {
        reader.oddities.push(Oddity { offset: 0, kind: OddityKind::ByteOrderMark });
        reader.at = '\u{feff}'.len_utf8();
    }
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    if reader.at < bytes.len() {
        return Err(reader.error("unexpected data after the JSON text"));
    }
    Ok((Document { value, oddities: reader.oddities }, reader.spans))
}

/// Reads a JSON text, ignoring oddities.
///
/// # Errors
///
/// As [`read`].
pub fn parse(bytes: &[u8]) -> Result<Value, JsonError> {
    read(bytes).map(|document| document.value)
}

/// The names of the members of one object.
#[derive(Default)]
struct Names(HashSet<String>);

/// The number of members up to which their names are compared one by one.
const FEW: usize = 16;

impl Names {
    /// Adds a name. Returns false if one of `members`, those before it, has it.
    fn insert(&mut self, name: &str, members: &[(Value, Value)]) -> bool {
        let before = || members.iter().filter_map(|(key, _)| key.as_text());
        if members.len() < FEW {
            return before().all(|known| known != name);
        }
        if self.0.is_empty() {
            self.0.extend(before().map(str::to_owned));
        }
        self.0.insert(name.to_owned())
    }
}

struct Reader<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    oddities: Vec<Oddity>,
    spans: Vec<(usize, usize)>,
}

impl Reader<'_> {
    fn error(&self, reason: &'static str) -> JsonError {
        JsonError { offset: self.at, reason }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn value(&mut self, depth: usize) -> Result<Value, JsonError> {
        if depth > DEPTH_LIMIT {
            return Err(self.error(TOO_DEEP));
        }
        let index = self.spans.len();
        if index >= ITEM_LIMIT {
            return Err(self.error(TOO_MANY));
        }
        self.spans.push((self.at, self.at));
        let value = match self.peek() {
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => self.string().map(Value::Text),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Value::Bool(true)),
            Some(b'f') => self.word("false", Value::Bool(false)),
            Some(b'n') => self.word("null", Value::Null),
            Some(_) => Err(self.error("expected a JSON value")),
            None => Err(self.error("unexpected end of input, expected a JSON value")),
        };
        self.spans[index].1 = self.at;
        value
    }

    fn word(&mut self, word: &'static str, value: Value) -> Result<Value, JsonError> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.error("unknown literal, expected true, false or null"))
        }
    }

    fn object(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut members: Shared<(Value, Value)> = Shared::default();
        let mut seen = Names::default();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Value::Map(members));
        }
        loop {
            self.space();
            let offset = self.at;
            if self.peek() != Some(b'"') {
                return Err(self.error("expected a member name in quotes"));
            }
            let name = self.string()?;
            self.spans.push((offset, self.at));
            self.space();
            if self.peek() != Some(b':') {
                return Err(self.error("expected a colon after a member name"));
            }
            self.at += 1;
            self.space();
            let value = self.value(depth + 1)?;
            if !seen.insert(&name, &members) {
                self.oddities.push(Oddity { offset, kind: OddityKind::DuplicateMember(name.to_string()) });
            }
            members.push((Value::Text(name), value));
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Value::Map(members));
                }
                _ => return Err(self.error("expected a comma or the end of the object")),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Value, JsonError> {
        self.at += 1;
        let mut items = Shared::default();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Value::Array(items));
        }
        loop {
            self.space();
            items.push(self.value(depth + 1)?);
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Value::Array(items));
                }
                _ => return Err(self.error("expected a comma or the end of the array")),
            }
        }
    }

    fn number(&mut self) -> Result<Value, JsonError> {
        let start = self.at;
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while matches!(reader.peek(), Some(b'0'..=b'9')) {
                reader.at += 1;
            }
            reader.at > from
        };
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let first = self.peek();
        if !digits(self) {
            return Err(self.error("expected a digit in a number"));
        }
        let whole = self.text[start..self.at].trim_start_matches('-');
        if first == Some(b'0') && whole.len() > 1 {
            return Err(self.error("leading zero in a number"));
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            if !digits(self) {
                return Err(self.error("expected a digit after the decimal point"));
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if !digits(self) {
                return Err(self.error("expected a digit in the exponent"));
            }
        }
        let text = &self.text[start..self.at];
        if text != "-0"
            && let Ok(integer) = text.parse::<i128>()
        {
            return Ok(Value::Integer(integer));
        }
        if text.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.oddities.push(Oddity { offset: start, kind: OddityKind::NumberOverflow });
        }
        Ok(Value::Decimal(text.into()))
    }

    fn string(&mut self) -> Result<Text, JsonError> {
        self.at += 1;
        let mut string = Text::new();
        loop {
            let from = self.at;
            while !matches!(self.peek(), None | Some(b'"' | b'\\' | 0..=0x1f)) {
                self.at += 1;
            }
            string.push_str(&self.text[from..self.at]);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(string);
                }
                Some(b'\\') => string.push(self.escape()?),
                Some(_) => return Err(self.error("control character in a string")),
                None => return Err(self.error("unexpected end of input in a string")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        let offset = self.at;
        self.at += 1;
        let letter = self.peek().ok_or_else(|| self.error("unexpected end of input in an escape"))?;
        self.at += 1;
        Ok(match letter {
            b'"' => '"',
            b'\\' => '\\',
            b'/' => '/',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex4()?;
                let low = matches!(unit, 0xd800..=0xdbff).then(|| self.low_surrogate()).flatten();
                match (unit, low) {
                    (0xd800..=0xdbff, Some(low)) => {
                        char::from_u32(0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)).unwrap_or('\u{fffd}')
                    }
                    _ => char::from_u32(unit).unwrap_or_else(|| {
                        self.oddities.push(Oddity { offset, kind: OddityKind::LoneSurrogate });
                        '\u{fffd}'
                    }),
                }
            }
            _ => {
                self.at = offset;
                return Err(self.error("invalid escape"));
            }
        })
    }

    fn hex4(&mut self) -> Result<u32, JsonError> {
        let digits = self.bytes.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let Some(digits) = digits else {
            return Err(self.error("expected four hex digits after \\u"));
        };
        let unit = digits.iter().fold(0, |unit, digit| unit * 16 + char::from(*digit).to_digit(16).unwrap_or(0));
        self.at += 4;
        Ok(unit)
    }

    /// Consumes a low surrogate escape if it follows.
    fn low_surrogate(&mut self) -> Option<u32> {
        let back = self.at;
        if self.bytes[self.at..].starts_with(b"\\u") {
            self.at += 2;
            if let Ok(low @ 0xdc00..=0xdfff) = self.hex4() {
                return Some(low);
            }
        }
        self.at = back;
        None
    }
}

/// Layouts of a JSON text. All of them represent the same value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// No white space, members in the order of the value.
    #[default]
    Compact,
    /// Indented by two blanks.
    Pretty,
    /// Indented by tabs, members of every object in the reverse order, every non-ASCII character escaped.
    Reversed,
}

/// Writes a value as JSON.
/// Byte strings are written as lower-case hex, other CBOR-only values as their content: for reports, which render
/// CBOR as
/// JSON. Numbers keep their spelling.
pub fn write(value: &Value, layout: Layout) -> String {
    let mut out = String::new();
    Writer { out: &mut out, layout }.value(value, 0);
    out
}

/// Writes a value as compact JSON.
pub fn compact(value: &Value) -> String {
    write(value, Layout::Compact)
}

struct Writer<'o> {
    out: &'o mut String,
    layout: Layout,
}

impl Writer<'_> {
    fn line(&mut self, depth: usize) {
        let indent = match self.layout {
            Layout::Compact => return,
            Layout::Pretty => "  ",
            Layout::Reversed => "\t",
        };
        self.out.push('\n');
        (0..depth).for_each(|_| self.out.push_str(indent));
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Null => self.out.push_str("null"),
            Value::Bool(true) => self.out.push_str("true"),
            Value::Bool(false) => self.out.push_str("false"),
            Value::Integer(integer) => self.out.push_str(&integer.to_string()),
            Value::Float(float) => self.out.push_str(ryu_js::Buffer::new().format(*float)),
            Value::Decimal(text) => self.out.push_str(text),
            Value::Text(text) => self.string(text),
            Value::Bytes(bytes) => self.string(&data_encoding::HEXLOWER.encode(bytes)),
            Value::Tag(_, inner) => self.value(inner, depth),
            Value::Simple(number) => self.out.push_str(&number.to_string()),
            Value::Array(items) if items.is_empty() => self.out.push_str("[]"),
            Value::Array(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.line(depth + 1);
                    self.value(item, depth + 1);
                }
                self.line(depth);
                self.out.push(']');
            }
            Value::Map(members) if members.is_empty() => self.out.push_str("{}"),
            Value::Map(members) => {
                self.out.push('{');
                let order: Box<dyn Iterator<Item = &(Value, Value)>> = match self.layout {
                    Layout::Reversed => Box::new(members.iter().rev()),
                    Layout::Compact | Layout::Pretty => Box::new(members.iter()),
                };
                for (index, (key, value)) in order.enumerate() {
                    if index > 0 {
                        self.out.push(',');
                    }
                    self.line(depth + 1);
                    match key {
                        Value::Text(name) => self.string(name),
                        other => self.string(&compact(other)),
                    }
                    self.out.push_str(if self.layout == Layout::Compact { ":" } else { ": " });
                    self.value(value, depth + 1);
                }
                self.line(depth);
                self.out.push('}');
            }
        }
    }

    fn string(&mut self, text: &str) {
        let stays = |byte: &u8| matches!(byte, 0x20..=0x7f) && !matches!(byte, b'"' | b'\\');
        let (plain, rest) = text.split_at(text.bytes().take_while(stays).count());
        self.out.push('"');
        self.out.push_str(plain);
        for character in rest.chars() {
            match character {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\r' => self.out.push_str("\\r"),
                '\t' => self.out.push_str("\\t"),
                '\0'..='\u{1f}' => self.out.push_str(&format!("\\u{:04x}", u32::from(character))),
                _ if self.layout == Layout::Reversed && !character.is_ascii() => {
                    let mut units = [0; 2];
                    for unit in character.encode_utf16(&mut units) {
                        self.out.push_str(&format!("\\u{unit:04x}"));
                    }
                }
                _ => self.out.push(character),
            }
        }
        self.out.push('"');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_json_is_rejected_with_its_offset() {
        for (text, offset) in [
            ("", 0),
            ("{", 1),
            ("{\"a\":1,}", 7),
            ("[1,]", 3),
            ("01", 2),
            ("+1", 0),
            (".5", 0),
            ("1.", 2),
            ("1e", 2),
            ("-", 1),
            ("nul", 0),
            ("NaN", 0),
            ("{'a':1}", 1),
            ("\"a", 2),
            ("\"\\x41\"", 1),
            ("\"\\u12g4\"", 3),
            ("\"\t\"", 1),
            ("1 2", 2),
            ("{\"a\" 1}", 5),
            ("// c", 0),
        ] {
            assert_eq!(read(text.as_bytes()).unwrap_err().offset, offset, "{text}");
        }
        assert_eq!(read(b"\"\xff\"").unwrap_err().offset, 1);
    }

    #[test]
    fn i_json_deviations_are_reported_but_accepted() {
        let kinds =
            |text: &str| read(text.as_bytes()).unwrap().oddities.into_iter().map(|odd| odd.kind).collect::<Vec<_>>();
        assert_eq!(kinds(r#"{"a":1,"\u0061":2}"#), [OddityKind::DuplicateMember("a".into())]);
        assert_eq!(kinds(r#""\ud800""#), [OddityKind::LoneSurrogate]);
        assert_eq!(kinds(r#""\udc00\ud800""#), [OddityKind::LoneSurrogate, OddityKind::LoneSurrogate]);
        assert_eq!(kinds("1e400"), [OddityKind::NumberOverflow]);
        assert_eq!(kinds("\u{feff}1"), [OddityKind::ByteOrderMark]);
        assert_eq!(kinds(r#""\ud83d\ude80""#), []);
    }

    #[test]
    fn nesting_is_bounded() {
        let deep = "[".repeat(100_000);
        assert_eq!(read(deep.as_bytes()).unwrap_err().reason, TOO_DEEP);
        let fits = format!("{}{}", "[".repeat(DEPTH_LIMIT), "]".repeat(DEPTH_LIMIT));
        assert!(read(fits.as_bytes()).is_ok());
        let objects = |count: usize| format!("{}1{}", "{\"a\":".repeat(count), "}".repeat(count));
        assert!(read(objects(DEPTH_LIMIT).as_bytes()).is_ok());
        assert_eq!(read(objects(DEPTH_LIMIT + 1).as_bytes()).unwrap_err().reason, TOO_DEEP);
    }

    #[test]
    fn number_spelling_survives() {
        for text in ["5.0", "50e-1", "-0", "1E+2", "340282366920938463463374607431768211456", "1e400"] {
            assert_eq!(compact(&parse(text.as_bytes()).unwrap()), text);
        }
    }

    #[test]
    fn every_layout_represents_the_same_value() {
        let text = r#"{"b":[1,{"x":"é🚀\u0001"}],"a":{},"c":[]}"#;
        let value = parse(text.as_bytes()).unwrap();
        for layout in [Layout::Compact, Layout::Pretty, Layout::Reversed] {
            let written = write(&value, layout);
            assert!(parse(written.as_bytes()).unwrap().same_as(&value), "{written}");
        }
        assert!(write(&value, Layout::Reversed).starts_with("{\n\t\"c\": []"));
        assert!(write(&value, Layout::Reversed).is_ascii());
    }

    #[test]
    fn a_repeated_name_is_found_wherever_it_was_first() {
        let names: Vec<String> = (0..2 * FEW).map(|number| format!("m{number}")).collect();
        for (before, name) in names.iter().enumerate() {
            for count in [before + 1, names.len()] {
                let members: Vec<String> =
                    names[..count].iter().chain([name]).map(|name| format!("\"{name}\":0")).collect();
                let document = read(format!("{{{}}}", members.join(",")).as_bytes()).expect("valid JSON");
                let kinds: Vec<_> = document.oddities.into_iter().map(|odd| odd.kind).collect();
                assert_eq!(kinds, [OddityKind::DuplicateMember(name.clone())], "{name} of {count}");
            }
        }
    }

    #[test]
    fn every_escape_is_decoded_and_the_necessary_ones_are_written() {
        let value = parse(br#""\"\\\/\b\f\n\r\t\u00e9\ud83d\ude80""#).expect("valid JSON");
        assert_eq!(value, Value::text("\"\\/\u{8}\u{c}\n\r\té🚀"));
        assert_eq!(compact(&value), r#""\"\\/\u0008\u000c\n\r\té🚀""#);
    }

    #[test]
    fn lines_are_indented_by_their_depth() {
        let value = parse(br#"{"a":[1,[2,{"b":3}]],"c":{"d":{}}}"#).expect("valid JSON");
        let lines = [
            "{",
            "  \"a\": [",
            "    1,",
            "    [",
            "      2,",
            "      {",
            "        \"b\": 3",
            "      }",
            "    ]",
            "  ],",
            "  \"c\": {",
            "    \"d\": {}",
            "  }",
            "}",
        ];
        assert_eq!(write(&value, Layout::Pretty), lines.join("\n"));
    }

    proptest! {
        /// Cross-check with serde_json: the readers differ only where their limits or their leniency differ on purpose.
        #[test]
        fn agrees_with_a_second_reader(text in "[\\[\\]{}:,\"\\\\a1e.+ \\-0tnu]{0,24}") {
            let ours = read(text.as_bytes());
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            if let Ok(document) = &ours
                && document.oddities.is_empty() {
                prop_assert!(theirs.is_ok(), "{text:?} {theirs:?}");
            }
            if theirs.is_ok() {
                prop_assert!(ours.is_ok(), "{text:?} {ours:?}");
            }
        }
    }
}
