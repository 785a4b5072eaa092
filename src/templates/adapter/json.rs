//! JSON without a library: a strict reader and a writer. Numbers are kept as they are written.

use std::fmt;

/// How deep arrays and objects may be nested.
const DEPTH: usize = 200;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
#[allow(dead_code, reason = "a new adapter uses few of them")]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    Array(Vec<Json>),
    Object(Vec<(String, Json)>),
}

#[allow(dead_code, reason = "a new adapter uses few of them")]
impl Json {
    /// Reads a text that is one JSON value.
    pub fn parse(text: &str) -> Option<Self> {
        let mut reader = Reader { bytes: text.as_bytes(), at: 0 };
        let value = reader.value(0)?;
        reader.blanks();
        (reader.at == reader.bytes.len()).then_some(value)
    }

    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn object<const N: usize>(members: [(&str, Json); N]) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    /// A member of an object; of a repeated one the last.
    pub fn get(&self, name: &str) -> Option<&Json> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// A whole number, written as a number or as a string of digits.
    pub fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Number(text) | Self::Text(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// The bytes of a string of lower-case hex digits.
    pub fn as_bytes(&self) -> Option<Vec<u8>> {
        let digits = self.as_str()?.as_bytes();
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let pair = |pair: &[u8]| Some(digit(pair[0])? << 4 | digit(*pair.get(1)?)?);
        digits.chunks(2).map(pair).collect()
    }

    /// Bytes as hex.
    pub fn hex(bytes: &[u8]) -> Self {
        Self::Text(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }
}

struct Reader<'t> {
    bytes: &'t [u8],
    at: usize,
}

impl Reader<'_> {
    fn blanks(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\r' | b'\n')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, token: &str) -> bool {
        let found = self.bytes[self.at..].starts_with(token.as_bytes());
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        self.blanks();
        if depth > DEPTH {
            return None;
        }
        match self.bytes.get(self.at)? {
            b'n' => self.eat("null").then_some(Json::Null),
            b't' => self.eat("true").then_some(Json::Bool(true)),
            b'f' => self.eat("false").then_some(Json::Bool(false)),
            b'"' => self.text().map(Json::Text),
            b'[' => self.list(b']', |reader| reader.value(depth + 1)).map(Json::Array),
            b'{' => {
                let member = |reader: &mut Self| {
                    reader.blanks();
                    let name = reader.text()?;
                    reader.blanks();
                    if reader.eat(":") { Some((name, reader.value(depth + 1)?)) } else { None }
                };
                self.list(b'}', member).map(Json::Object)
            }
            _ => self.number(),
        }
    }

    /// Items between brackets, separated by commas.
    fn list<T>(&mut self, end: u8, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.at += 1;
        self.blanks();
        if self.bytes.get(self.at) == Some(&end) {
            self.at += 1;
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            self.blanks();
            let next = *self.bytes.get(self.at)?;
            self.at += 1;
            match next {
                b',' => {}
                next if next == end => return Some(items),
                _ => return None,
            }
        }
    }

    fn number(&mut self) -> Option<Json> {
        let begin = self.at;
        let digits = |reader: &mut Self| {
            let from = reader.at;
            while reader.bytes.get(reader.at).is_some_and(u8::is_ascii_digit) {
                reader.at += 1;
            }
            reader.at - from
        };
        self.eat("-");
        let leading_zero = self.bytes.get(self.at) == Some(&b'0');
        let whole = digits(self);
        if whole == 0 || leading_zero && whole > 1 {
            return None;
        }
        if self.eat(".") && digits(self) == 0 {
            return None;
        }
        if self.eat("e") || self.eat("E") {
            let _ = self.eat("+") || self.eat("-");
            if digits(self) == 0 {
                return None;
            }
        }
        Some(Json::Number(String::from_utf8_lossy(&self.bytes[begin..self.at]).into_owned()))
    }

    fn text(&mut self) -> Option<String> {
        if !self.eat("\"") {
            return None;
        }
        let mut text = Vec::new();
        loop {
            let byte = *self.bytes.get(self.at)?;
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(text).ok(),
                b'\\' => {
                    let character = self.escape()?;
                    text.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                }
                0..=0x1f => return None,
                _ => text.push(byte),
            }
        }
    }

    fn escape(&mut self) -> Option<char> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(match byte {
            b'"' | b'\\' | b'/' => char::from(byte),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let first = self.unit()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return char::from_u32(first); // `None` for half of a pair
                }
                let second = if self.eat("\\u") { self.unit()? } else { return None };
                let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
                char::from_u32(0x10000 + ((first - 0xd800) << 10) + low)?
            }
            _ => return None,
        })
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = std::str::from_utf8(self.bytes.get(self.at..self.at + 4)?).ok()?;
        self.at += 4;
        digits.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| u32::from_str_radix(digits, 16).ok())?
    }
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("null"),
            Self::Bool(truth) => write!(out, "{truth}"),
            Self::Number(number) => out.write_str(number),
            Self::Text(text) => quoted(text, out),
            Self::Array(items) => {
                out.write_str("[")?;
                for (index, item) in items.iter().enumerate() {
                    write!(out, "{}{item}", if index > 0 { "," } else { "" })?;
                }
                out.write_str("]")
            }
            Self::Object(members) => {
                out.write_str("{")?;
                for (index, (name, value)) in members.iter().enumerate() {
                    out.write_str(if index > 0 { "," } else { "" })?;
                    quoted(name, out)?;
                    write!(out, ":{value}")?;
                }
                out.write_str("}")
            }
        }
    }
}

fn quoted(text: &str, out: &mut fmt::Formatter<'_>) -> fmt::Result {
    out.write_str("\"")?;
    for character in text.chars() {
        match character {
            '"' | '\\' => write!(out, "\\{character}")?,
            '\0'..='\x1f' => write!(out, "\\u{:04x}", u32::from(character))?,
            _ => write!(out, "{character}")?,
        }
    }
    out.write_str("\"")
}
