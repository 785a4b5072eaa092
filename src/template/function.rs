//! Functions of templates: `${hex 32}`, `${time -1h}`. One row each.

use super::scope::{Clock, RenderError, format_time, parse_time};
use crate::value::Value;

/// A function that templates may call by name.
pub struct Function {
    /// Its name.
    pub name: &'static str,
    /// One sentence for the manual.
    pub summary: &'static str,
    /// A call as it stands in a suite.
    pub example: &'static str,
    /// Computes the value.
    pub(super) call: fn(&mut Arguments<'_>) -> Result<Value, RenderError>,
}

/// What a function may look at.
pub(super) struct Arguments<'a> {
    pub(super) words: &'a [String],
    pub(super) clock: Clock,
    /// Uniform numbers below the argument.
    pub(super) below: &'a mut dyn FnMut(u64) -> u64,
}

impl Arguments<'_> {
    fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    fn count(&self, index: usize, default: Option<u64>) -> Result<u64, RenderError> {
        match (self.word(index), default) {
            (Some(word), _) => word
                .parse()
                .ok()
                .filter(|count| *count <= 10_000_000)
                .ok_or_else(|| RenderError::new(format!("`{word}` is no number of things"))),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(RenderError::new("a number is missing")),
        }
    }

    fn letters(&mut self, count: u64, alphabet: &[u8]) -> Value {
        let text = (0..count).map(|_| {
            let at = (self.below)(alphabet.len() as u64);
            char::from(alphabet[usize::try_from(at).unwrap_or(0)])
        });
        Value::Text(text.collect())
    }

    /// The instant that `words[index]` is off the clock, in nanoseconds since 1970.
    fn instant(&self, index: usize) -> Result<i128, RenderError> {
        self.word(index).map_or(Ok(self.clock.0), |word| Ok(self.clock.0 + offset(word)?))
    }
}

/// Every function, in the order of the manual.
pub const FUNCTIONS: &[Function] = &[
    Function {
        name: "hex",
        summary: "That many random lower-case hex digits.",
        example: "pkg_${hex 32}",
        call: |a| {
            let count = a.count(0, None)?;
            Ok(a.letters(count, b"0123456789abcdef"))
        },
    },
    Function {
        name: "word",
        summary: "A random word of that many letters, eight if not said: a marker safe to search for.",
        example: "${word}",
        call: |a| {
            let count = a.count(0, Some(8))?;
            // No vowels, so that no word of a language and no shorter marker turns up by chance.
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
        call: |a| Ok(Value::Text(format!("{}Z", format_time(a.instant(0)?)))),
    },
    Function {
        name: "second",
        summary: "As `time`, without the Z: for appending a fraction or another zone.",
        example: "${second -1h}.250Z",
        call: |a| Ok(Value::Text(format_time(a.instant(0)?))),
    },
    Function {
        name: "day",
        summary: "The day of the start of the run plus an offset.",
        example: "${day -1d}",
        call: |a| Ok(Value::Text(format_time(a.instant(0)?)[..10].to_owned())),
    },
    Function {
        name: "shift",
        summary: "An RFC 3339 time plus an offset, in whole seconds and UTC.",
        example: "${shift 2026-01-02T03:04:05Z -2h}",
        call: |a| {
            let word = a.word(0).ok_or_else(|| RenderError::new("a time is missing"))?;
            let instant = parse_time(word).ok_or_else(|| RenderError::new(format!("`{word}` is no time")))?;
            Ok(Value::Text(format!("{}Z", format_time(instant + a.word(1).map_or(Ok(0), offset)?))))
        },
    },
    Function {
        name: "repeat",
        summary: "A text that many times.",
        example: "${repeat 200 é}",
        call: |a| {
            let count = usize::try_from(a.count(0, None)?).unwrap_or(0);
            let text = a.word(1).ok_or_else(|| RenderError::new("the text to repeat is missing"))?;
            Ok(Value::Text(text.repeat(count)))
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
        _ => return Err(RenderError::new(format!("`{word}` is no offset such as -1h, +30m, 2d, 15s"))),
    };
    let number: i64 = number.parse().map_err(|_| RenderError::new(format!("`{word}` is no offset such as -1h")))?;
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
