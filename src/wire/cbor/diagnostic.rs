//! Diagnostic notation (RFC 8949 section 8) for findings: bounded, on one line or on several.
//!
//! Where a head is longer than needed its encoding indicator is shown (`_0` to `_3`), an indefinite length as `_`.
//! Embedded CBOR may be shown as `<<…>>` (RFC 8610 appendix G.3). A `/ comment /` describes what was omitted.

use std::fmt::Write as _;

use super::head::{Head, MAJORS};
use super::{CborError, CborErrorKind, Layout, Limits, float, read, write_as};
use crate::value::Value;

/// Maximum nesting; deeper items are omitted.
const DEPTH: usize = 128;

/// How a notation is rendered, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notation {
    /// One member or element per line, indented by two blanks.
    pub pretty: bool,
    /// Byte strings that hold one whole CBOR array, map, text string, `false`, `true` or `null` as `<<…>>`.
    pub embedded: bool,
    /// Approximate maximum number of characters of output; the rest is omitted.
    pub limit: usize,
    /// Maximum number of bytes or characters shown of each string; the rest is omitted.
    pub string_limit: usize,
}

impl Notation {
    /// One line of at most about 2000 characters.
    pub const LINE: Self = Self { pretty: false, embedded: false, limit: 2000, string_limit: 200 };
    /// Several lines of at most about 8000 characters, embedded CBOR rendered.
    pub const PRETTY: Self = Self { pretty: true, embedded: true, limit: 8000, string_limit: 400 };
}

impl Default for Notation {
    fn default() -> Self {
        Self::LINE
    }
}

/// A value on one line, members in the order of the value.
pub fn diagnostic(value: &Value) -> String {
    diagnostic_bytes(&write_as(value, Layout::AsWritten))
}

/// Bytes on one line: every item of the sequence, up to the first error, which is named in a comment.
pub fn diagnostic_bytes(bytes: &[u8]) -> String {
    diagnostic_with(bytes, Notation::LINE)
}

/// Bytes in the given notation; see [`diagnostic_bytes`].
pub fn diagnostic_with(bytes: &[u8], notation: Notation) -> String {
    let mut printer = Printer { bytes, at: 0, notation, out: String::new(), depth: 0 };
    let end = loop {
        if let Err(stop) = printer.item() {
            break Some(stop);
        }
        if printer.at == bytes.len() {
            break None;
        }
        printer.out.push_str(", ");
    };
    let mut out = printer.out;
    match end {
        None => {}
        Some(Stop::Full) => drop(write!(out, " … / {} more bytes /", bytes.len() - printer.at)),
        Some(Stop::Fault(error)) => {
            let space = if out.is_empty() || out.ends_with(' ') { "" } else { " " };
            let _ = write!(out, "{space}/ {error} /");
        }
    }
    out
}

/// A key in a few characters.
pub(super) fn short(encoded: &[u8]) -> String {
    diagnostic_with(encoded, Notation { limit: 60, string_limit: 40, ..Notation::LINE })
}

/// Why printing stopped before the end of the input.
enum Stop {
    Full,
    Fault(CborError),
}

impl From<CborError> for Stop {
    fn from(error: CborError) -> Self {
        Self::Fault(error)
    }
}

struct Printer<'b> {
    bytes: &'b [u8],
    at: usize,
    notation: Notation,
    out: String,
    depth: usize,
}

impl<'b> Printer<'b> {
    fn fault<T>(offset: usize, kind: CborErrorKind) -> Result<T, Stop> {
        Err(Stop::Fault(CborError { offset, kind }))
    }

    fn line(&mut self) {
        if self.notation.pretty {
            self.out.push('\n');
            (0..self.depth).for_each(|_| self.out.push_str("  "));
        }
    }

    fn at_break(&mut self) -> bool {
        let ends = self.bytes.get(self.at) == Some(&0xff);
        self.at += usize::from(ends);
        ends
    }

    fn indicator(&mut self, head: Head) {
        if !head.is_shortest() {
            self.out.push_str(head.indicator().unwrap_or_default());
        }
    }

    fn item(&mut self) -> Result<(), Stop> {
        if self.out.len() > self.notation.limit {
            return Err(Stop::Full);
        }
        if self.depth >= DEPTH {
            return Self::fault(self.at, CborErrorKind::TooDeep(DEPTH));
        }
        let offset = self.at;
        let head = Head::read(self.bytes, offset)?;
        if head.is_break() {
            return Self::fault(offset, CborErrorKind::UnexpectedBreak { expected: "a data item" });
        }
        if head.is_indefinite() && matches!(head.major, 0 | 1 | 6) {
            return Self::fault(offset, CborErrorKind::NoIndefinite(MAJORS[usize::from(head.major)]));
        }
        self.at += head.length;
        match head.major {
            0 | 1 => {
                let argument = i128::from(head.argument);
                let _ = write!(self.out, "{}", if head.major == 0 { argument } else { -1 - argument });
                self.indicator(head);
            }
            2 | 3 if head.is_indefinite() => self.chunks(head)?,
            2 | 3 => self.string(head, offset)?,
            4 | 5 => self.container(head)?,
            6 => {
                let _ = write!(self.out, "{}", head.argument);
                self.indicator(head);
                self.out.push('(');
                self.depth += 1;
                self.item()?;
                self.depth -= 1;
                self.out.push(')');
            }
            _ => self.simple(head),
        }
        Ok(())
    }

    fn chunks(&mut self, head: Head) -> Result<(), Stop> {
        if self.at_break() {
            self.out.push_str(if head.major == 2 { "''_" } else { "\"\"_" });
            return Ok(());
        }
        self.out.push_str("(_ ");
        let mut first = true;
        while !self.at_break() {
            if self.out.len() > self.notation.limit {
                return Err(Stop::Full);
            }
            self.out.push_str(if first { "" } else { ", " });
            first = false;
            let offset = self.at;
            let chunk = Head::read(self.bytes, offset)?;
            if chunk.major != head.major || chunk.is_indefinite() {
                let words = |head: Head| MAJORS[usize::from(head.major)];
                return Self::fault(offset, CborErrorKind::WrongChunk { found: words(chunk), wanted: words(head) });
            }
            self.at += chunk.length;
            self.string(chunk, offset)?;
        }
        self.out.push(')');
        Ok(())
    }

    fn string(&mut self, head: Head, offset: usize) -> Result<(), Stop> {
        let available = self.bytes.len() - self.at;
        let Some(length) = usize::try_from(head.argument).ok().filter(|length| *length <= available) else {
            let (what, declared) = (MAJORS[usize::from(head.major)], head.argument);
            return Self::fault(offset, CborErrorKind::LengthBeyondInput { what, declared, available });
        };
        let bytes = &self.bytes[self.at..self.at + length];
        let embedded = head.major == 2 && self.notation.embedded && is_embedded(bytes);
        if embedded {
            self.out.push_str("<<");
            let mut inner = Printer {
                bytes,
                at: 0,
                notation: self.notation,
                out: std::mem::take(&mut self.out),
                depth: self.depth,
            };
            let printed = inner.item();
            self.out = inner.out;
            if let Err(stop) = printed {
                self.at += inner.at;
                return Err(stop);
            }
            self.out.push_str(">>");
        } else if head.major == 2 {
            let shown = &bytes[..length.min(self.notation.string_limit)];
            let _ = write!(self.out, "h'{}", data_encoding::HEXLOWER.encode(shown));
            self.ending("'", length - shown.len());
        } else {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return Self::fault(offset, CborErrorKind::InvalidUtf8);
            };
            let shown = &text[..text.floor_char_boundary(self.notation.string_limit)];
            quote(&mut self.out, shown);
            self.ending("\"", length - shown.len());
        }
        self.indicator(head);
        self.at += length;
        Ok(())
    }

    fn ending(&mut self, quote: &str, left: usize) {
        match left {
            0 => self.out.push_str(quote),
            _ => drop(write!(self.out, "…{quote} / {left} more bytes /")),
        }
    }

    fn container(&mut self, head: Head) -> Result<(), Stop> {
        let (open, close) = if head.major == 4 { ('[', ']') } else { ('{', '}') };
        self.out.push(open);
        let mark = if head.is_indefinite() { Some("_") } else { head.indicator().filter(|_| !head.is_shortest()) };
        self.out.push_str(mark.unwrap_or_default());
        self.depth += 1;
        let mut count = 0_u64;
        loop {
            let ends = if head.is_indefinite() { self.at_break() } else { count == head.argument };
            if ends {
                break;
            }
            if count > 0 {
                self.out.push(',');
            }
            // A space follows a mark, and the comma before an element.
            if !self.notation.pretty && (count > 0 || mark.is_some()) {
                self.out.push(' ');
            }
            count += 1;
            self.line();
            self.item()?;
            if head.major == 5 {
                self.out.push_str(": ");
                self.item()?;
            }
        }
        self.depth -= 1;
        if count > 0 {
            self.line();
        }
        self.out.push(close);
        Ok(())
    }

    fn simple(&mut self, head: Head) {
        let number = match (head.info, head.argument) {
            (20, _) => return self.out.push_str("false"),
            (21, _) => return self.out.push_str("true"),
            (22, _) => return self.out.push_str("null"),
            (23, _) => return self.out.push_str("undefined"),
            (0..=24, number) => {
                let _ = write!(self.out, "simple({number})");
                return;
            }
            (25, half) => float::from_half(u16::try_from(half).unwrap_or_default()),
            (26, single) => float::from_single(u32::try_from(single).unwrap_or_default()),
            (_, double) => f64::from_bits(double),
        };
        self.out.push_str(&float_text(number));
        if head.length - 1 > float::shortest(number) {
            self.out.push_str(head.indicator().unwrap_or_default());
        }
        if number.is_nan() && head.argument != 0x7e00 {
            let digits = 2 * (head.length - 1);
            let _ = write!(self.out, " / {:0digits$x} /", head.argument);
        }
    }
}

/// Whether to render a byte string as CBOR: it is one item of a kind that random bytes rarely form.
fn is_embedded(bytes: &[u8]) -> bool {
    let kind = bytes.first().is_some_and(|first| matches!(first, 0x60..=0xbf | 0xf4..=0xf6));
    kind && read(bytes, Limits { depth: 64, items: 10_000 }).is_ok()
}

fn float_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let text = format!("{number:?}");
    match text.split_once('e') {
        None => text,
        Some((digits, exponent)) => {
            let point = if digits.contains('.') { "" } else { ".0" };
            let plus = if exponent.starts_with('-') { "" } else { "+" };
            format!("{digits}{point}e{plus}{exponent}")
        }
    }
}

/// A text string without its closing quote, escaped as in JSON.
fn quote(out: &mut String, text: &str) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if character.is_control() || matches!(character, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}') => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(hex: &str) -> String {
        diagnostic_bytes(&data_encoding::HEXLOWER.decode(hex.as_bytes()).unwrap())
    }

    /// RFC 8949 appendix A, the rows that are not plain integers or short strings alone.
    #[test]
    fn rfc_8949_examples_are_rendered() {
        for (hex, text) in [
            ("00", "0"),
            ("1bffffffffffffffff", "18446744073709551615"),
            ("3bffffffffffffffff", "-18446744073709551616"),
            ("c249010000000000000000", "2(h'010000000000000000')"),
            ("f90000", "0.0"),
            ("f98000", "-0.0"),
            ("fb3ff199999999999a", "1.1"),
            ("f93e00", "1.5"),
            ("fa47c35000", "100000.0"),
            ("fb7e37e43c8800759c", "1.0e+300"),
            ("f90001", "5.960464477539063e-8"),
            ("f97c00", "Infinity"),
            ("f97e00", "NaN"),
            ("f9fc00", "-Infinity"),
            ("f4", "false"),
            ("f5", "true"),
            ("f6", "null"),
            ("f7", "undefined"),
            ("f0", "simple(16)"),
            ("f8ff", "simple(255)"),
            ("c11a514b67b0", "1(1363896240)"),
            ("d818456449455446", "24(h'6449455446')"),
            ("40", "h''"),
            ("60", "\"\""),
            ("62225c", "\"\\\"\\\\\""),
            ("62c3bc", "\"ü\""),
            ("80", "[]"),
            ("8301820203820405", "[1, [2, 3], [4, 5]]"),
            ("a0", "{}"),
            ("a201020304", "{1: 2, 3: 4}"),
            ("a26161016162820203", "{\"a\": 1, \"b\": [2, 3]}"),
            ("5f42010243030405ff", "(_ h'0102', h'030405')"),
            ("7f657374726561646d696e67ff", "(_ \"strea\", \"ming\")"),
            ("9fff", "[_]"),
            ("9f018202039f0405ffff", "[_ 1, [2, 3], [_ 4, 5]]"),
            ("bf61610161629f0203ffff", "{_ \"a\": 1, \"b\": [_ 2, 3]}"),
        ] {
            assert_eq!(shown(hex), text, "{hex}");
        }
    }

    #[test]
    fn overlong_heads_have_an_indicator() {
        for (hex, text) in [
            ("1801", "1_0"),
            ("190001", "1_1"),
            ("1a00000001", "1_2"),
            ("3b0000000000000000", "-1_3"),
            ("590001aa", "h'aa'_1"),
            ("780161", "\"a\"_0"),
            ("980101", "[_0 1]"),
            ("b9000101f6", "{_1 1: null}"),
            ("d80100", "1_0(0)"),
            ("fb3ff8000000000000", "1.5_3"),
            ("fa7fc00000", "NaN_2 / 7fc00000 /"),
            ("5fff", "''_"),
        ] {
            assert_eq!(shown(hex), text, "{hex}");
        }
    }

    #[test]
    fn invalid_cbor_is_rendered_up_to_the_error() {
        for (hex, text) in [
            ("", "/ unexpected end of input, expected a data item at byte 0 /"),
            ("8201", "[1, / unexpected end of input, expected a data item at byte 2 /"),
            ("1c", "/ reserved additional information 28 at byte 0 /"),
            ("0102", "1, 2"),
            ("f6ff", "null, / unexpected break, expected a data item at byte 1 /"),
            ("62ff", "/ text string of declared length 2, but the input has only 1 bytes left at byte 0 /"),
            ("61ff", "/ invalid UTF-8 in a text string at byte 0 /"),
            ("1f", "/ indefinite length, not allowed for unsigned integer at byte 0 /"),
        ] {
            assert_eq!(shown(hex), text, "{hex}");
        }
    }

    #[test]
    fn output_is_bounded() {
        let bytes = write_as(&Value::Array(vec![Value::Integer(1); 100_000].into()), Layout::Deterministic);
        assert!(diagnostic_bytes(&bytes).len() < 2100);
        assert!(diagnostic_bytes(&bytes).ends_with(" more bytes /"));
        assert!(diagnostic(&Value::Bytes(vec![0; 1 << 20])).len() < 500);
        assert!(diagnostic(&Value::text("\u{1}".repeat(1 << 20))).len() < 2000);
        assert!(diagnostic_bytes(&vec![0x81; 1 << 20]).contains("nesting deeper than 128 levels"));
        assert!(diagnostic_bytes(&vec![0x5f; 1 << 20]).len() < 300);
        let chunks = [vec![0x5f], [0x41, 0].repeat(10_000), vec![0xff]].concat();
        assert!(diagnostic_bytes(&chunks).len() < 2100);
        let huge = [0x9b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert!(diagnostic_bytes(&huge).starts_with("[ / unexpected end of input"));
    }

    #[test]
    fn embedded_items_are_rendered() {
        let bytes = data_encoding::HEXLOWER.decode(b"8341f64ca1636d73676673656372657441ff").unwrap();
        let line = Notation { embedded: true, ..Notation::LINE };
        assert_eq!(diagnostic_with(&bytes, line), "[<<null>>, <<{\"msg\": \"secret\"}>>, h'ff']");
        assert_eq!(
            diagnostic_with(&bytes, Notation::PRETTY),
            "[\n  <<null>>,\n  <<{\n    \"msg\": \"secret\"\n  }>>,\n  h'ff'\n]"
        );
    }

    #[test]
    fn a_value_is_rendered_in_its_own_order() {
        let value = Value::map([("b", Value::Integer(-1)), ("a", Value::Null)]);
        assert_eq!(diagnostic(&value), r#"{"b": -1, "a": null}"#);
    }

    #[test]
    fn an_item_starts_as_long_as_the_limit_is_not_exceeded() {
        for (hex, limit, text) in [
            ("0102", 3, "1, 2"),
            ("0102", 2, "1,  … / 1 more bytes /"),
            ("5f41004100ff", 3, "(_ h'00' … / 3 more bytes /"),
            ("5f41004100ff", 8, "(_ h'00', h'00')"),
            ("46850102030405", 6, "<<[1, 2,  … / 3 more bytes /"),
        ] {
            let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).expect("hex");
            let notation = Notation { embedded: true, limit, ..Notation::LINE };
            assert_eq!(diagnostic_with(&bytes, notation), text, "{hex} {limit}");
        }
    }

    #[test]
    fn byte_strings_other_than_one_item_of_these_kinds_are_not_embedded() {
        let line = Notation { embedded: true, ..Notation::LINE };
        // A number, an array without its second element, two items.
        let bytes = [0x83, 0x41, 0x01, 0x42, 0x82, 0x01, 0x42, 0xf6, 0xf6];
        assert_eq!(diagnostic_with(&bytes, line), "[h'01', h'8201', h'f6f6']");
    }

    #[test]
    fn lines_are_indented_by_the_containers_around_them() {
        for (bytes, text) in [
            (&[0x80][..], "[]"),
            (&[0xa0], "{}"),
            (&[0x82, 0xc1, 0, 1], "[\n  1(0),\n  1\n]"),
            (&[0xa1, 1, 0x81, 2], "{\n  1: [\n    2\n  ]\n}"),
        ] {
            assert_eq!(diagnostic_with(bytes, Notation::PRETTY), text);
        }
    }

    #[test]
    fn characters_that_cannot_be_seen_are_escaped() {
        let text = "a\n\r\t\u{0}\u{7f}\u{200b}\u{200f}\u{2028}\u{202e}\u{2030}é";
        let escaped = r#""a\n\r\t\u0000\u007f\u200b\u200f\u2028\u202e‰é""#;
        assert_eq!(diagnostic(&Value::text(text)), escaped);
    }
}
