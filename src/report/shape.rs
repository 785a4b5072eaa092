//! The shape of an expected or observed text: what stays if one defect is seen in many cases.

/// Digits from which on a number is a value, and not a status or a count that matters.
const LONG_NUMBER: usize = 6;
/// Hexadecimal digits from which on a word is an id or a digest.
const LONG_HEX: usize = 8;

/// `text` with `…` for its values: quoted texts, ids, digests, long numbers, and what objects and lists contain.
pub(super) fn shape(text: &str) -> String {
    let mut shape = String::new();
    let mut depth = 0_usize;
    let mut quoted = false;
    let mut escaped = false;
    let mut word = String::new();
    for c in text.chars().chain([' ']) {
        if quoted {
            quoted = escaped || c != '"';
            escaped = !escaped && c == '\\';
            continue;
        }
        if c.is_ascii_alphanumeric() {
            word.push(c);
            continue;
        }
        if depth == 0 {
            shape.push_str(if is_value(&word) { "…" } else { &word });
        }
        word.clear();
        match c {
            '"' => {
                quoted = true;
                if depth == 0 {
                    shape.push_str("\"…\"");
                }
            }
            '{' | '[' => {
                depth += 1;
                if depth == 1 {
                    shape.extend([c, '…']);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    shape.push(c);
                }
            }
            _ if depth == 0 => shape.push(c),
            _ => {}
        }
    }
    shape.truncate(shape.trim_end().len());
    shape
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
            (r#"{"id":"a","n":[1,2]}"#, r#"{"title":7}"#),
            ("1732543200 ms", "1732543999 ms"),
        ];
        for (one, other) in same {
            assert_eq!(shape(one), shape(other));
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
