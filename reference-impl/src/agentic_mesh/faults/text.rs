//! Faults of the text of messages.

use std::fmt::Write as _;

/// `escaped-names-not-decoded`: the same text with the escapes of member names made literal.
pub(in crate::agentic_mesh) fn names_as_spelled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find('"') {
        out.push_str(&rest[..start]);
        let body = &rest[start + 1..];
        let Some(end) = string_end(body) else { break };
        let (string, after) = (&body[..end], &body[end + 1..]);
        if after.trim_start().starts_with(':') {
            let _ = write!(out, "\"{}\"", string.replace("\\u", "\\\\u"));
        } else {
            let _ = write!(out, "\"{string}\"");
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Where the quote that ends a string is.
fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })
}

/// `trailing-comma-written`: a comma behind the last header block.
pub(in crate::agentic_mesh) fn with_trailing_comma(text: &str) -> String {
    let Some(start) = text.find("\"headers\":[{") else { return text.to_owned() };
    let (mut depth, mut at) = (0_i32, start + "\"headers\":".len());
    let bytes = text.as_bytes();
    while at < bytes.len() {
        match bytes[at] {
            b'"' => at += 1 + string_end(&text[at + 1..]).unwrap_or_default(),
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return format!("{},{}", &text[..at], &text[at..]);
        }
        at += 1;
    }
    text.to_owned()
}

/// `ttl-written-twice`: the lowered ttl behind another one.
pub(in crate::agentic_mesh) fn with_two_ttls(text: &str) -> String {
    text.replacen("\"ttl\":", "\"ttl\":9,\"ttl\":", 1)
}
