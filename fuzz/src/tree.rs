//! JSON texts from a stream of bytes: well formed, and spelled in every way that JSON permits.

use std::fmt::Write as _;

use arbitrary::{Result, Unstructured};

/// The maximum depth of a tree.
const DEPTH: usize = 6;

/// A JSON text. The same bytes give the same text.
pub(crate) fn text(u: &mut Unstructured<'_>) -> String {
    let mut out = String::new();
    // A stream that ends early ends the tree early; what is written so far is closed by the callers below.
    value(u, 0, &mut out).unwrap_or_default();
    if out.is_empty() { "null".to_owned() } else { out }
}

fn value(u: &mut Unstructured<'_>, depth: usize, out: &mut String) -> Result<()> {
    let kinds = if depth < DEPTH { 7 } else { 5 };
    match u.int_in_range(0..=kinds).unwrap_or(0) {
        0 => out.push_str("null"),
        1 => out.push_str(if u.arbitrary()? { "true" } else { "false" }),
        2 => write!(out, "{}", u.arbitrary::<i64>()?).expect("a string grows"),
        3 => number(u, out)?,
        4 | 5 => string(u, out),
        6 => list(u, '[', ']', out, |u, out| value(u, depth + 1, out)),
        _ => list(u, '{', '}', out, |u, out| {
            string(u, out);
            out.push(':');
            value(u, depth + 1, out).inspect_err(|_| out.push_str("null"))
        }),
    }
    Ok(())
}

/// Items until the stream ends the list. The brackets match in every case.
fn list(
    u: &mut Unstructured<'_>,
    open: char,
    close: char,
    out: &mut String,
    mut item: impl FnMut(&mut Unstructured<'_>, &mut String) -> Result<()>,
) {
    out.push(open);
    let mut first = true;
    while !u.is_empty() && u.ratio(3_u8, 4_u8).unwrap_or(false) {
        if !first {
            out.push(',');
        }
        first = false;
        let before = out.len();
        if item(u, out).is_err() && out.len() == before {
            out.push_str("null");
        }
    }
    out.push(close);
}

fn number(u: &mut Unstructured<'_>, out: &mut String) -> Result<()> {
    const EDGES: &[&str] = &[
        "-0",
        "0.0",
        "1E3",
        "1e+3",
        "10e-1",
        "1e21",
        "1e20",
        "1e-7",
        "5e-324",
        "2.2250738585072014e-308",
        "1e23",
        "9007199254740993",
        "18446744073709551616",
        "0.1e1",
        "1.7976931348623157e308",
        "123456789012345678901234567890",
        "1e999",
        "-1e999",
        "1e-999",
        "0.30000000000000004",
        "4.35",
        "-0.0e-0",
    ];
    if u.arbitrary()? {
        out.push_str(u.choose(EDGES)?);
    } else {
        let double = f64::from_bits(u.arbitrary()?);
        if double.is_finite() {
            write!(out, "{double:?}").expect("a string grows");
        } else {
            out.push('0');
        }
    }
    Ok(())
}

fn string(u: &mut Unstructured<'_>, out: &mut String) {
    const PIECES: &[&str] = &[
        "a",
        "b",
        "\\n",
        "\\u000A",
        "\\/",
        "/",
        "\\\"",
        "\\\\",
        "é",
        "\\u00e9",
        "e\u{301}",
        "\\ud83d\\ude00",
        "\u{1f600}",
        "\u{fb33}",
        "\u{7f}",
        "\\u0000",
        "\\u001f",
        "\\b",
        "\u{2028}",
        "</script>",
        "\u{ffff}",
        "\\uFFFD",
    ];
    out.push('"');
    for _ in 0..u.int_in_range(0..=4).unwrap_or(0) {
        match u.choose(PIECES) {
            Ok(piece) => out.push_str(piece),
            Err(_) => break,
        }
    }
    out.push('"');
}
