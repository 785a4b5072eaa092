//! Spellings of JSON: escapes in strings and white space between tokens (RFC 8259 sections 2 and 7).
//!
//! Tokens keep their order and repetitions, and numbers their digits, so that each reader gets the same value.

use super::Draw;

/// The longest text that is changed, in bytes.
const LONGEST: usize = 256 << 10;

/// Changes of one kind in one text: a text stays about as long as it was.
const MOST: usize = 24;

const SPACES: &[&str] = &[" ", "\n", "\t", "\r\n", "  "];

/// The same JSON text with other escapes and other white space. `None` if it is not JSON, or too long.
pub fn respell(text: &[u8], mut escapes: Option<Draw>, mut space: Option<Draw>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(text).ok().filter(|text| text.len() <= LONGEST)?;
    serde_json::from_str::<serde::de::IgnoredAny>(text).ok()?;
    // As often as leaves no long text without a change at its end.
    let often = (text.len() / 100).clamp(2, 400);
    let mut changed = String::with_capacity(text.len() + 512);
    let (mut escaped, mut spaced) = (0, 0);
    let mut insert = |changed: &mut String| {
        if let Some(draw) = space.as_mut().filter(|_| spaced < MOST)
            && draw.one_in(often)
        {
            spaced += 1;
            changed.push_str(draw.pick(SPACES).copied().unwrap_or(" "));
        }
    };
    let mut chars = text.chars();
    let mut in_string = false;
    insert(&mut changed);
    while let Some(c) = chars.next() {
        match c {
            '"' => {
                in_string = !in_string;
                changed.push(c);
            }
            '\\' => {
                changed.push(c);
                let kind = chars.next();
                changed.extend(kind);
                if kind == Some('u') {
                    changed.extend(chars.by_ref().take(4));
                }
            }
            _ if in_string => {
                if let Some(draw) = escapes.as_mut().filter(|_| escaped < MOST)
                    && draw.one_in(often)
                {
                    escaped += 1;
                    escape(&mut changed, c, draw);
                } else {
                    changed.push(c);
                }
            }
            '{' | '[' | ',' | ':' => {
                changed.push(c);
                insert(&mut changed);
            }
            '}' | ']' => {
                insert(&mut changed);
                changed.push(c);
            }
            _ => changed.push(c),
        }
    }
    insert(&mut changed);
    serde_json::from_str::<serde::de::IgnoredAny>(&changed).ok()?;
    Some(changed.into_bytes())
}

fn escape(text: &mut String, c: char, draw: &mut Draw) {
    if c == '/' && draw.one_in(2) {
        text.push_str("\\/");
        return;
    }
    let capitals = draw.one_in(2);
    for unit in c.encode_utf16(&mut [0; 2]) {
        let digits = if capitals { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") };
        text.push_str(&digits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_spelling_has_the_same_value_and_the_same_numbers() {
        let text = r#"{"a/b":"x\"\\y \ud83d\ude80","n":[1.50,-0,1e400,{}],"n":"é🚀","":null}"#;
        let mut spellings = std::collections::BTreeSet::new();
        for seed in 0..200 {
            let draw = |name: &str| Some(Draw::new(seed, name));
            let changed = respell(text.as_bytes(), draw("escapes"), draw("space")).expect("JSON");
            let changed = String::from_utf8(changed).expect("UTF-8");
            // The number 1e400 is beyond serde_json's own type.
            let read = |text: &str| serde_json::from_str::<serde_json::Value>(&text.replace("1e400", "1e40")).unwrap();
            assert_eq!(read(&changed), read(text), "{changed}");
            for number in ["1.50", "-0", "1e400"] {
                assert!(changed.contains(number), "{changed}");
            }
            spellings.insert(changed);
        }
        assert!(spellings.len() > 150);
        assert!(spellings.iter().any(|text| text.contains("\\u") && text.contains("\\/")));
        assert!(spellings.iter().any(|text| text.starts_with(' ') || text.starts_with('\n')));
    }

    #[test]
    fn what_is_not_json_stays() {
        for text in [&b"{"[..], b"{\"a\":1,}", b"\xff", b"", b"{} x"] {
            assert_eq!(respell(text, Some(Draw::new(1, "")), Some(Draw::new(1, ""))), None);
        }
        assert_eq!(respell(b"[1, 2]", None, None).as_deref(), Some(&b"[1, 2]"[..]));
    }
}
