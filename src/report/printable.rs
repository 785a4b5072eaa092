//! Makes text from a target safe to print: it may contain escapes that move the cursor, reorder a line or hide a part of it.
//!
//! All functions return plain text. Each format escapes it afterwards in its own way.

use std::borrow::Cow;
use std::fmt::Write as _;

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr};

/// Whether `c` is invisible, or changes how its neighbours are shown.
///
/// Controls (C0, DEL, C1), bidirectional controls, zero-width and filler characters, variation selectors, tags,
/// line separators and noncharacters.
pub fn is_hidden(c: char) -> bool {
    if matches!(c, ' '..='~') {
        return false;
    }
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{fdd0}'..='\u{fdef}' | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
        || (c as u32 & 0xfffe) == 0xfffe
}

/// `text` on one line: every hidden character, including line ends, is written as an escape.
pub fn line(text: &str) -> Cow<'_, str> {
    escape(text, false)
}

/// `text` with its line ends and tabs, and every other hidden character written as an escape.
pub fn block(text: &str) -> Cow<'_, str> {
    escape(text, true)
}

fn escape(text: &str, keep_layout: bool) -> Cow<'_, str> {
    let kept = |c: char| !is_hidden(c) || (keep_layout && matches!(c, '\n' | '\t'));
    if text.chars().all(kept) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 16);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            // CRLF is an ordinary line end in a block; a lone CR would overwrite the line.
            '\r' if keep_layout && rest.peek() == Some(&'\n') => {}
            c if kept(c) => escaped.push(c),
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c => {
                let _ = write!(escaped, "\\u{{{:x}}}", c as u32);
            }
        }
    }
    Cow::Owned(escaped)
}

/// `text` with its middle replaced by a count if it has more than `most` characters.
///
/// Two thirds of the kept text are from the front. Cut before escaping, or an escape may be cut in half.
pub fn cut(text: &str, most: usize) -> Cow<'_, str> {
    // A text has at most as many characters as bytes, so short texts are not counted.
    if text.len() <= most {
        return Cow::Borrowed(text);
    }
    let total = text.chars().count();
    if total <= most {
        return Cow::Borrowed(text);
    }
    let head = most - most / 3;
    let tail = most / 3;
    let head_end = byte_of(text, head);
    let tail_start = byte_of(text, total - tail);
    Cow::Owned(format!(
        "{} [... {} characters left out ...] {}",
        &text[..head_end],
        total - head - tail,
        &text[tail_start..]
    ))
}

fn byte_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(at, _)| at)
}

/// One line of at most about `most` characters, safe to print.
pub fn short(text: &str, most: usize) -> String {
    line(&cut(text, most)).into_owned()
}

/// As [`short`], on several lines.
pub fn passage(text: &str, most: usize) -> String {
    block(&cut(text, most)).into_owned()
}

/// The first line of a text.
pub fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Columns that `text` takes on a terminal.
pub fn width(text: &str) -> usize {
    UnicodeWidthStr::width(text)
}

/// `text` in lines of at most `columns`, broken at spaces, or inside a word that is longer than a line.
///
/// Always at least one line, which may be empty.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let columns = columns.max(8);
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let wide = width(word);
        if used > 0 && used + 1 + wide > columns {
            lines.push(String::new());
            used = 0;
        }
        if used > 0 {
            push(&mut lines, ' ');
            used += 1;
        }
        for c in word.chars() {
            let wide = c.width().unwrap_or(1);
            if used + wide > columns {
                lines.push(String::new());
                used = 0;
            }
            push(&mut lines, c);
            used += wide;
        }
    }
    lines
}

fn push(lines: &mut [String], c: char) {
    if let Some(last) = lines.last_mut() {
        last.push(c);
    }
}

/// A number with its noun, the noun in the plural unless the number is one.
pub fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// A duration in milliseconds, with a readable unit.
pub fn duration(ms: u64) -> String {
    match ms {
        0..=999 => format!("{ms} ms"),
        1000..=59_999 => format!("{}.{} s", ms / 1000, ms % 1000 / 100),
        _ => format!("{} min {} s", ms / 60_000, ms / 1000 % 60),
    }
}

/// A number of bytes, with a readable unit.
pub fn size(bytes: usize) -> String {
    match bytes {
        0..=1023 => count(bytes, "byte", "bytes"),
        1024..=1_048_575 => format!("{}.{} KiB", bytes / 1024, bytes % 1024 * 10 / 1024),
        _ => format!("{}.{} MiB", bytes >> 20, ((bytes & 0xf_ffff) * 10) >> 20),
    }
}

/// Bytes in the format of `hexdump -C`, 16 per line, at most `most` of them.
pub fn hex_dump(bytes: &[u8], most: usize) -> String {
    let mut dump = String::new();
    for (row, chunk) in bytes[..bytes.len().min(most)].chunks(16).enumerate() {
        let _ = write!(dump, "{:06x}  ", row * 16);
        for column in 0..16 {
            match chunk.get(column) {
                Some(byte) => {
                    let _ = write!(dump, "{byte:02x} ");
                }
                None => dump.push_str("   "),
            }
        }
        dump.push(' ');
        for &byte in chunk {
            let shown = byte.is_ascii_graphic() || byte == b' ';
            dump.push(if shown { char::from(byte) } else { '.' });
        }
        dump.push('\n');
    }
    dump
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_and_invisible_characters_are_escaped() {
        assert_eq!(line("a\x1b[2Jb\r\nc"), "a\\u{1b}[2Jb\\r\\nc");
        assert_eq!(line("\u{202e}\u{2066}\u{200b}\u{feff}"), "\\u{202e}\\u{2066}\\u{200b}\\u{feff}");
        assert_eq!(line("\u{9b}31m\u{ffff}"), "\\u{9b}31m\\u{ffff}");
        assert_eq!(line("Zoë, 漢字 and 😀"), "Zoë, 漢字 and 😀");
        assert_eq!(block("a\r\nb\tc\rd"), "a\nb\tc\\rd");
    }

    #[test]
    fn a_long_value_keeps_both_ends_and_the_number_of_removed_characters() {
        let cut = cut(&"é".repeat(100), 30).into_owned();
        assert_eq!(cut, format!("{} [... 70 characters left out ...] {}", "é".repeat(20), "é".repeat(10)));
        assert_eq!(super::cut("short", 5), "short");
    }

    #[test]
    fn wide_characters_take_two_columns_and_combining_marks_none() {
        assert_eq!([width("漢字"), width("e\u{301}"), width("😀"), width("Zoë")], [4, 1, 2, 3]);
    }

    #[test]
    fn wrapped_lines_never_exceed_the_columns() {
        for text in ["one two three four five", &"x".repeat(50), "漢字漢字漢字漢字漢字 a", ""] {
            for line in wrap(text, 10) {
                assert!(width(&line) <= 10, "{line:?}");
            }
        }
        assert_eq!(wrap("one two three", 10), ["one two", "three"]);
        assert_eq!(wrap("", 10), [""]);
    }

    #[test]
    fn quantities_have_readable_units() {
        assert_eq!(count(1, "case", "cases"), "1 case");
        assert_eq!(duration(999), "999 ms");
        assert_eq!(duration(61_500), "1 min 1 s");
        assert_eq!(size(1 << 20), "1.0 MiB");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(hex_dump(b"A\0", 16), format!("000000  41 00 {}A.\n", " ".repeat(14 * 3 + 1)));
    }
}
