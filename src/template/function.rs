//! Functions of templates: `${hex 32}`, `${time -1h}`. One row each.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use super::error::RenderError;
use super::time::{Clock, format_time, parse_time};
use crate::value::Value;

/// A function that templates may call by name.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// One sentence of documentation.
    pub summary: &'static str,
    /// An example call.
    pub example: &'static str,
    /// Computes the value.
    pub call: fn(&mut Arguments<'_>) -> Result<Value, RenderError>,
}

/// The input of a function.
pub struct Arguments<'a> {
    /// The arguments as text: bytes in hex, all other values as JSON.
    pub(super) words: &'a [String],
    /// The same as values.
    pub(super) values: &'a [Value],
    pub(super) clock: Clock,
    /// The start of the case.
    pub(super) now: Clock,
    /// The URLs of each host, by name and transport.
    pub(super) hosts: &'a BTreeMap<String, Value>,
    /// The bindings that already have a value.
    pub(super) bound: &'a BTreeMap<String, Value>,
    /// Returns a uniform number below the argument.
    pub(super) below: &'a mut dyn FnMut(u64) -> u64,
}

impl Arguments<'_> {
    /// An argument as text.
    pub fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    /// The value of a binding, if it already has one.
    pub fn binding(&self, name: &str) -> Option<&Value> {
        self.bound.get(name)
    }

    /// An argument as it is.
    pub fn value(&self, index: usize) -> Option<&Value> {
        self.values.get(index)
    }

    /// An argument as an integer, with or without a sign.
    ///
    /// # Errors
    ///
    /// [`RenderError`] if it is missing or invalid.
    pub fn integer(&self, index: usize) -> Result<i128, RenderError> {
        let word = self.word(index).ok_or_else(|| RenderError::new("missing argument: a number"))?;
        // Some languages write a whole number that a target answers as `500.0`.
        let whole =
            word.split_once('.').filter(|(_, zeros)| !zeros.is_empty() && zeros.bytes().all(|digit| digit == b'0'));
        let digits = whole.map_or(word, |(digits, _)| digits);
        digits.parse().map_err(|_| RenderError::new(format!("invalid whole number `{word}`")))
    }

    /// An argument as bytes, given as bytes or hex.
    ///
    /// # Errors
    ///
    /// [`RenderError`] if it is neither.
    pub fn bytes(&self, index: usize) -> Result<Vec<u8>, RenderError> {
        let word = self.word(index).ok_or_else(|| RenderError::new("missing argument: bytes"))?;
        let decoded = data_encoding::HEXLOWER_PERMISSIVE.decode(word.as_bytes());
        decoded.map_err(|_| RenderError::new(format!("invalid hex `{word}`")))
    }

    /// This many random bytes.
    pub fn random_bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| u8::try_from((self.below)(256)).unwrap_or_default()).collect()
    }

    fn count(&self, index: usize, default: Option<u64>) -> Result<u64, RenderError> {
        match (self.word(index), default) {
            (Some(word), _) => word
                .parse()
                .ok()
                .filter(|count| *count <= 10_000_000)
                .ok_or_else(|| RenderError::new(format!("invalid count `{word}`"))),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(RenderError::new("missing argument: a number")),
        }
    }

    fn letters(&mut self, count: u64, alphabet: &[u8]) -> Value {
        let text = (0..count).map(|_| {
            let at = (self.below)(alphabet.len() as u64);
            char::from(alphabet[usize::try_from(at).unwrap_or(0)])
        });
        Value::Text(text.collect())
    }

    /// The clock plus the offset `words[index]`, in nanoseconds since 1970.
    fn instant(&self, index: usize) -> Result<i128, RenderError> {
        self.word(index).map_or(Ok(self.clock.0), |word| Ok(self.clock.0 + offset(word)?))
    }
}

/// Maximum length of a repeated text, in bytes: far more than any target accepts.
const LONGEST: usize = 64 << 20;

/// Every function, in the order of the manual.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "host",
        summary: "The URL of a host of this run, for this case: over the first transport of the host, or over the given one.",
        example: "${host next-hop ws}",
        call: |a| {
            let name = a.word(0).ok_or_else(|| RenderError::new("missing argument: the name of a host"))?;
            let urls = a.hosts.get(name).ok_or_else(|| RenderError::new(format!("undefined host `{name}`")))?;
            let url = match a.word(1) {
                Some(transport) => urls.member(transport),
                None => urls.as_map().and_then(|urls| urls.first()).map(|(_, url)| url),
            };
            url.cloned().ok_or_else(|| RenderError::new(format!("the host `{name}` does not have this transport")))
        },
    },
    Function {
        name: "hex",
        summary: "This many random lower-case hex digits.",
        example: "pkg_${hex 32}",
        call: |a| {
            let count = a.count(0, None)?;
            Ok(a.letters(count, b"0123456789abcdef"))
        },
    },
    Function {
        name: "word",
        summary: "A random word of this many letters [default: 8]: a marker that does not occur by chance.",
        example: "${word}",
        call: |a| {
            let count = a.count(0, Some(8))?;
            // No vowels, so that markers never match natural words or shorter markers.
            Ok(a.letters(count, b"bcdfghjklmnpqrstvwxz"))
        },
    },
    Function {
        name: "number",
        summary: "A random whole number from the first to the second argument.",
        example: "${number 1 10}",
        call: |a| {
            let (low, high) = (a.count(0, None)?, a.count(1, None)?);
            let width = high.checked_sub(low).ok_or_else(|| RenderError::new("the range is empty"))?;
            Ok(Value::from(low + (a.below)(width + 1)))
        },
    },
    Function {
        name: "time",
        summary: "The start of the run plus an offset, as RFC 3339 in whole seconds and UTC: `2026-01-02T03:04:05Z`.",
        example: "${time -1h}",
        call: |a| Ok(Value::text(format!("{}Z", format_time(a.instant(0)?)))),
    },
    Function {
        name: "second",
        summary: "As `time`, without the Z: for appending a fraction or another zone.",
        example: "${second -1h}.250Z",
        call: |a| Ok(Value::text(format_time(a.instant(0)?))),
    },
    Function {
        name: "day",
        summary: "The day of the start of the run plus an offset.",
        example: "${day -1d}",
        call: |a| Ok(Value::text(format_time(a.instant(0)?)[..10].to_owned())),
    },
    Function {
        name: "shift",
        summary: "An RFC 3339 time plus an offset, in whole seconds and UTC.",
        example: "${shift 2026-01-02T03:04:05Z -2h}",
        call: |a| {
            let word = a.word(0).ok_or_else(|| RenderError::new("missing argument: a time"))?;
            let instant = parse_time(word).ok_or_else(|| RenderError::new(format!("invalid time `{word}`")))?;
            Ok(Value::text(format!("{}Z", format_time(instant + a.word(1).map_or(Ok(0), offset)?))))
        },
    },
    Function {
        name: "ms",
        summary: "The start of the case plus an offset, as milliseconds since 1970.",
        example: "${ms -5s}",
        call: |a| {
            let off = a.word(0).map_or(Ok(0), offset)?;
            Ok(Value::Integer((a.now.0 + off).div_euclid(1_000_000)))
        },
    },
    Function {
        name: "plus",
        summary: "The sum of whole numbers.",
        example: "${plus $sent_at 1001}",
        call: |a| {
            let numbers = (0..a.words.len()).map(|index| a.integer(index)).collect::<Result<Vec<_>, _>>()?;
            let sum = numbers.iter().try_fold(0_i128, |sum, number| sum.checked_add(*number));
            sum.map(Value::Integer).ok_or_else(|| RenderError::new("the sum is too large"))
        },
    },
    Function {
        name: "quotient",
        summary: "The first whole number divided by the second, rounded down.",
        example: "${quotient $sent_at 1000}",
        call: |a| {
            let (dividend, divisor) = (a.integer(0)?, a.integer(1)?);
            let quotient = dividend.checked_div_euclid(divisor);
            quotient.map(Value::Integer).ok_or_else(|| RenderError::new("division by zero"))
        },
    },
    Function {
        name: "float",
        summary: "A number as a floating-point number, which CBOR distinguishes from an integer.",
        example: "${float 1}",
        call: |a| {
            let word = a.word(0).ok_or_else(|| RenderError::new("missing argument: a number"))?;
            word.parse().map(Value::Float).map_err(|_| RenderError::new(format!("invalid number `{word}`")))
        },
    },
    Function {
        name: "bytes",
        summary: "A byte string: the concatenated arguments, each bytes or hex.",
        example: "${bytes 00ff $id}",
        call: |a| {
            let parts = (0..a.words.len()).map(|index| a.bytes(index)).collect::<Result<Vec<_>, _>>()?;
            Ok(Value::Bytes(parts.concat()))
        },
    },
    Function {
        name: "slice",
        summary: "The bytes of the first argument from the second to before the third, or to the end.",
        example: "${slice $id 0 8}",
        call: |a| {
            let bytes = a.bytes(0)?;
            let from = usize::try_from(a.integer(1)?).unwrap_or(usize::MAX);
            let to = if a.words.len() > 2 { usize::try_from(a.integer(2)?).unwrap_or(usize::MAX) } else { bytes.len() };
            let part = bytes.get(from..to);
            part.map(|part| Value::Bytes(part.to_vec()))
                .ok_or_else(|| RenderError::new("the range is beyond the end of the bytes"))
        },
    },
    Function {
        name: "random_bytes",
        summary: "A byte string of this many random bytes.",
        example: "${random_bytes 16}",
        call: |a| {
            let count = usize::try_from(a.count(0, None)?).unwrap_or(0);
            Ok(Value::Bytes(a.random_bytes(count)))
        },
    },
    Function {
        name: "filled",
        summary: "A byte string of this many bytes, all with one value in hex [default: 00].",
        example: "${filled 64 ff}",
        call: |a| {
            let count = usize::try_from(a.count(0, None)?).unwrap_or(0);
            let byte = if a.words.len() > 1 { a.bytes(1)?.first().copied().unwrap_or_default() } else { 0 };
            Ok(Value::Bytes(vec![byte; count]))
        },
    },
    Function {
        name: "hex_of",
        summary: "Bytes as lower-case hex text.",
        example: "${hex_of $id}",
        call: |a| Ok(Value::text(data_encoding::HEXLOWER.encode(&a.bytes(0)?))),
    },
    Function {
        name: "utf8",
        summary: "The bytes of a text in UTF-8.",
        example: "${utf8 $text}",
        call: |a| Ok(Value::Bytes(a.word(0).unwrap_or_default().as_bytes().to_vec())),
    },
    Function {
        name: "sha256",
        summary: "The SHA-256 of bytes, as a byte string.",
        example: "${sha256 $data}",
        call: |a| Ok(Value::Bytes(Sha256::digest(a.bytes(0)?).to_vec())),
    },
    Function {
        name: "repeat",
        summary: "A text repeated this many times.",
        example: "${repeat 200 é}",
        call: |a| {
            let count = usize::try_from(a.count(0, None)?).unwrap_or(0);
            let text = a.word(1).ok_or_else(|| RenderError::new("missing argument: the text to repeat"))?;
            // The count is bounded, but the length of the text is not.
            if text.len().saturating_mul(count) > LONGEST {
                return Err(RenderError::new(format!("the text repeated `{count}` times exceeds {LONGEST} bytes")));
            }
            Ok(Value::text(text.repeat(count)))
        },
    },
];

/// Reads `-1h`, `+30m`, `2d`, `-15s`, `250ms` as nanoseconds.
fn offset(word: &str) -> Result<i128, RenderError> {
    let digits_end = word.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.len());
    let (number, unit) = word.split_at(digits_end);
    let nanoseconds: i128 = match unit {
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "d" => 86_400_000_000_000,
        _ => {
            return Err(RenderError::new(format!(
                "invalid offset `{word}`, expected for example -1h, +30m, 2d or 15s"
            )));
        }
    };
    let number: i64 =
        number.parse().map_err(|_| RenderError::new(format!("invalid offset `{word}`, expected for example -1h")))?;
    Ok(i128::from(number) * nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_documented() {
        for (index, function) in FUNCTIONS.iter().enumerate() {
            assert!(FUNCTIONS[..index].iter().all(|earlier| earlier.name != function.name), "{}", function.name);
            assert!(function.summary.ends_with(['.', '`']), "{}", function.name);
            assert!(function.example.contains(function.name));
        }
    }
}
