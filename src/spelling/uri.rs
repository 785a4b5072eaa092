//! Spellings of the target of a request (RFC 3986 sections 2.1, 2.3 and 6.2.2).

use super::Draw;

/// The shortest segment of a path that counts as an identifier. A server may match the fixed words of its routes as they are
/// written; what stands for an identifier is data, which it has to decode.
const IDENTIFIER: usize = 8;

/// The same path and query with small digits in percent-encoding, and with letters and digits percent-encoded.
pub fn respell(target: &str, small: bool, mut letters: Option<Draw>) -> String {
    let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
    let mut value = |text: &str| {
        let text = match &mut letters {
            Some(draw) => encoded(text, draw),
            None => text.to_owned(),
        };
        if small { with_small_digits(&text) } else { text }
    };
    let mut segment = |text: &str| {
        let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
        let is_data = text.contains('%') || text.len() >= IDENTIFIER && has_digit;
        if is_data { value(text) } else { text.to_owned() }
    };
    let path: Vec<String> = path.split('/').map(&mut segment).collect();
    let mut pair = |text: &str| match text.split_once('=') {
        Some((name, given)) => format!("{name}={}", value(given)),
        None => text.to_owned(),
    };
    let query = query.map(|query| query.split('&').map(&mut pair).collect::<Vec<_>>().join("&"));
    let mut target = path.join("/");
    if let Some(query) = query {
        target.push('?');
        target.push_str(&query);
    }
    target
}

/// A text with some of its letters and digits percent-encoded, at least one if it has any.
fn encoded(text: &str, draw: &mut Draw) -> String {
    let mut found = String::with_capacity(text.len() + 16);
    let mut digits = 0;
    let mut pending = true;
    for c in text.chars() {
        if c == '%' {
            digits = 3;
        }
        if digits > 0 {
            digits -= 1;
            found.push(c);
        } else if c.is_ascii_alphanumeric() && (std::mem::take(&mut pending) || draw.one_in(8)) {
            found.push_str(&format!("%{:02X}", u32::from(c)));
        } else {
            found.push(c);
        }
    }
    found
}

fn with_small_digits(text: &str) -> String {
    let mut digits = 0;
    let small = |c: char| {
        if c == '%' {
            digits = 3;
        }
        if digits > 0 {
            digits -= 1;
            return c.to_ascii_lowercase();
        }
        c
    };
    text.chars().map(small).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_values_change_and_fixed_words_stay() {
        let target = "/v1/projects/pm-12ab%C3%A9/packages?mode=latest&query=%2Fa";
        let small = respell(target, true, None);
        assert_eq!(small, "/v1/projects/pm-12ab%c3%a9/packages?mode=latest&query=%2fa");
        let letters = respell(target, false, Some(Draw::new(3, "letters")));
        assert!(letters.starts_with("/v1/projects/%70"), "{letters}");
        assert!(letters.contains("/packages?mode=%6C") && letters.contains("&query=%2F%61"), "{letters}");
        assert_eq!(respell("/v1/things", true, Some(Draw::new(1, ""))), "/v1/things");
        assert_eq!(respell("/a?flag", true, Some(Draw::new(1, ""))), "/a?flag");
    }
}
