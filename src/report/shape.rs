//! The shape of an expected or observed text: what stays if one defect is seen in many cases.

use std::borrow::Cow;

/// Digits from which on a number is a value, and not a status or a count that matters.
const LONG_NUMBER: usize = 6;
/// Hexadecimal digits from which on a word is an id or a digest.
const LONG_HEX: usize = 8;

/// `text` with `…` for its values: ids, digests, long numbers, quoted words, and what objects and lists contain. A quoted
/// sentence is not a value of the target, and stays. A status that is only mentioned, as ` (status 400)`, is left out: the same
/// refusal has none over other transports.
pub(super) fn shape(text: &str) -> String {
    let mut shape = String::new();
    let text = without_statuses(text);
    let text = &*without_lengths(&text);
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let end = match c {
            '"' => string_end(rest),
            '{' | '[' => bracket_end(rest).or_else(|| cut_end(rest)),
            _ => None,
        };
        match end {
            Some(end) if c == '"' && is_sentence(&rest[..end]) => shape.push_str(&without_ids(&rest[..end])),
            Some(_) if c == '"' => shape.push_str("\"…\""),
            Some(_) => shape.push_str(if c == '{' { "{…}" } else { "[…]" }),
            None => {
                let end = rest.find(['"', '{', '[']).filter(|end| *end > 0).unwrap_or(rest.len());
                shape.push_str(&without_ids(&rest[..end]));
                rest = &rest[end..];
                continue;
            }
        }
        rest = end.map_or("", |end| &rest[end..]);
    }
    shape
}

fn without_statuses(text: &str) -> Cow<'_, str> {
    const MENTIONED: &str = " (status ";
    let Some((before, after)) = text.split_once(MENTIONED) else { return Cow::Borrowed(text) };
    match after.split_once(')') {
        Some((status, rest)) if !status.is_empty() && status.bytes().all(|byte| byte.is_ascii_digit()) => {
            Cow::Owned(format!("{before}{}", without_statuses(rest)))
        }
        _ => Cow::Borrowed(text),
    }
}

/// `text` without the lengths of what was cut from long values, which differ from value to value.
fn without_lengths(text: &str) -> Cow<'_, str> {
    const CUT: &str = " more characters";
    let Some((before, after)) = text.split_once(CUT) else { return Cow::Borrowed(text) };
    let kept = before.trim_end_matches(|c: char| c.is_ascii_digit());
    Cow::Owned(format!("{kept}\u{2026}{CUT}{}", without_lengths(after)))
}

/// `text` with `…` for ids, digests and long numbers.
pub(super) fn without_ids(text: &str) -> String {
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric());
    let shown = words.map(|word| {
        let (word, mark) = match word.char_indices().last() {
            Some((at, last)) if !last.is_ascii_alphanumeric() => word.split_at(at),
            _ => (word, ""),
        };
        [if is_value(word) { "…" } else { word }, mark]
    });
    shown.flatten().collect()
}

/// Digits from which on a number may be a port, which differs between two runs.
const PORT: usize = 5;
/// Letters and digits from which on a word with both is an id in any alphabet, such as base58.
const LONG_ID: usize = 16;
/// What follows a number that is a measurement.
const UNITS: [&str; 8] = ["ms", "s", "seconds", "milliseconds", "byte", "bytes", "characters", "KiB"];

/// The shape of `text` without anything that differs between two runs of one defect: also without quoted sentences, which may
/// contain generated words, positions in lists, ports, measured times and sizes, and ids in any alphabet.
pub(super) fn stable(text: &str) -> String {
    let shape = without_quoted(&shape(text));
    let words: Vec<(&str, &str)> = shape
        .split_inclusive(|c: char| !c.is_ascii_alphanumeric())
        .map(|word| match word.char_indices().last() {
            Some((at, last)) if !last.is_ascii_alphanumeric() => word.split_at(at),
            _ => (word, ""),
        })
        .collect();
    let unit_after = |at: usize| words.get(at + 1).is_some_and(|(word, _)| UNITS.contains(word));
    let mark_before = |at: usize| at.checked_sub(1).map_or("", |before| words[before].1);
    let shown = words.iter().enumerate().map(|(at, (word, mark))| {
        let is_measured = is_digits(word) && *mark == " " && unit_after(at);
        let is_position = is_digits(word) && mark_before(at) == "/";
        [if is_measured || is_position || is_volatile(word) { "…" } else { word }, mark]
    });
    shown.flatten().collect()
}

fn without_quoted(text: &str) -> String {
    let mut rest = text;
    let mut kept = String::with_capacity(text.len());
    while let Some(at) = rest.find('"') {
        kept.push_str(&rest[..at]);
        let Some(end) = string_end(&rest[at..]) else { break };
        kept.push_str("\"…\"");
        rest = &rest[at + end..];
    }
    // An unclosed quotation is the front of a text that was cut.
    kept.push_str(rest.split('"').next().unwrap_or_default());
    kept
}

fn is_digits(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_volatile(word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_mixed = has_digit && word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_time = ["ms", "s"].into_iter().any(|unit| word.strip_suffix(unit).is_some_and(is_digits));
    is_digits(word) && word.len() >= PORT || is_mixed && word.len() >= LONG_ID || is_time
}

/// The end of the string that begins `text`, behind its closing quote.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    let closing = text.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    closing.map(|(at, _)| at + 1)
}

/// The end of the object or list that begins `text`, behind its closing bracket.
fn bracket_end(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        match c {
            '"' => {
                at += string_end(&text[at..])?;
                continue;
            }
            '{' | '[' => depth += 1,
            '}' | ']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        at += c.len_utf8();
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

/// The end of the object or list that begins `text` and lost its middle when it was shown, and with it perhaps a closing bracket.
fn cut_end(text: &str) -> Option<usize> {
    text.contains(" more characters \u{2026} ").then_some(text.len())
}

/// Words from which on a quoted text is a sentence.
const SENTENCE: usize = 3;

fn is_sentence(quoted: &str) -> bool {
    // What stands for the middle of a long value is no part of it.
    quoted.replace(" \u{2026} \u{2026} more characters \u{2026} ", "").split_whitespace().count() >= SENTENCE
}

fn is_value(word: &str) -> bool {
    let digits = word.bytes().all(|byte| byte.is_ascii_digit());
    let hex = word.bytes().all(|byte| byte.is_ascii_hexdigit()) && word.bytes().any(|byte| byte.is_ascii_digit());
    digits && word.len() >= LONG_NUMBER || hex && word.len() >= LONG_HEX
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_not_part_of_a_shape() {
        let same = [
            ("sha256:3f838ce49f7868171cd0 somewhere", "sha256:0a838ce49f7868171cd1 somewhere"),
            (r#"the text "a\"b""#, r#"the text "other""#),
            (r#"{"a":"}"} left"#, r#"{"b":["]"]} left"#),
            (r#"{"id":"a","n":[1,2]}"#, r#"{"title":7}"#),
            (
                "length 1: [{\"a\":\"b \u{2026} 278 more characters \u{2026} c\"}]",
                "length 1: [{\"d\":{ \u{2026} 12 more characters \u{2026} }]",
            ),
            ("1732543200 ms", "1732543999 ms"),
            (
                "expected \"84af \u{2026} 102 more characters \u{2026} 61\"",
                "expected \"84ae \u{2026} 2101 more characters \u{2026} 02\"",
            ),
            ("expected \"84af\"", "expected \"84ae \u{2026} 2101 more characters \u{2026} 02\""),
            (
                "\"the name that was said \u{2026} 7 more characters \u{2026} end\"",
                "\"the name that was said \u{2026} 9 more characters \u{2026} end\"",
            ),
            ("refused (status 400): no", "refused: no"),
            ("refused (status 400): no", "refused (status 200): no"),
        ];
        for (one, other) in same {
            assert_eq!(shape(one), shape(other));
        }
    }

    #[test]
    fn what_differs_between_two_runs_is_not_stable() {
        let same = [
            ("POST http://127.0.0.1:38051/v1", "POST http://127.0.0.1:41999/v1"),
            ("no answer after 512 ms", "no answer after 1733 ms"),
            ("no answer within 250ms", "no answer within 300ms"),
            (
                "did:key:z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK",
                "did:key:z6MknGc3ocHs3zdPiJbnaaqDi58NGb4pk1Sp9WxWufuXSdxf",
            ),
            ("a body of 532 bytes", "a body of 17 bytes"),
            (r#"equals "pm other fcknhczr""#, r#"equals "pm other dmfzxxll""#),
            ("nothing at /0/tags", "nothing at /2/tags"),
        ];
        for (one, other) in same {
            assert_eq!(stable(one), stable(other));
        }
        for (one, other) in
            [("400", "500"), ("code 3001", "code 4001"), ("2 packages", "3 packages"), ("sha256", "sha512")]
        {
            assert_ne!(stable(one), stable(other));
        }
    }

    #[test]
    fn statuses_and_words_are_part_of_a_shape() {
        let different = [
            ("400", "500"),
            ("one of 200, 201", "400"),
            ("nothing", "null"),
            ("{}", "[]"),
            (r#""a""#, "a"),
            ("{}", "{} more"),
        ];
        for (one, other) in different {
            assert_ne!(shape(one), shape(other));
        }
    }
}
