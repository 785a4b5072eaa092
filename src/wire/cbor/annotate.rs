//! A hex dump with one line per item.

use std::fmt::Write as _;

use super::head::{Head, MAJORS};

/// Maximum number of lines of a dump.
const LINES: usize = 400;
/// Maximum number of bytes shown of one string.
const STRING: usize = 32;
/// Maximum indentation, so that deep input does not produce wide lines.
const INDENT: usize = 16;

/// One line per item: its offset, its head and the bytes of its string in hex, indented by nesting, and a description.
///
/// Bounded in lines and in width. If the bytes are not well-formed, the last line names the error.
pub fn annotate(bytes: &[u8]) -> String {
    let mut out = String::new();
    // Open containers: items left, or `None` for indefinite lengths.
    let mut open: Vec<Option<u64>> = Vec::new();
    let mut at = 0;
    for _ in 0..LINES {
        while open.last() == Some(&Some(0)) {
            open.pop();
        }
        if at == bytes.len() && open.is_empty() {
            return out;
        }
        let head = match Head::read(bytes, at) {
            Ok(head) => head,
            Err(error) => {
                let _ = writeln!(out, "{at:06}  / {error} /");
                return out;
            }
        };
        let body = &bytes[at + head.length..];
        let string = match head.major {
            2 | 3 if !head.is_indefinite() => {
                usize::try_from(head.argument).map_or(body, |length| &body[..length.min(body.len())])
            }
            _ => &[],
        };
        if head.is_break() {
            match open.pop() {
                Some(None) => {}
                _ => {
                    let _ = writeln!(out, "{at:06}  ff  / unexpected break /");
                    return out;
                }
            }
        }
        let indent = 2 * open.len().min(INDENT);
        let _ = write!(out, "{at:06}  {:indent$}{}", "", hex(&bytes[at..at + head.length]));
        if !string.is_empty() {
            let _ = write!(out, " {}", hex(&string[..string.len().min(STRING)]));
            let _ = write!(out, "{}", if string.len() > STRING { "…" } else { "" });
        }
        let _ = writeln!(out, "  / {} /", words(head, string));
        if !head.is_break()
            && let Some(Some(left)) = open.last_mut()
        {
            *left -= 1;
        }
        match (head.major, head.is_indefinite()) {
            (2..=5, true) => open.push(None),
            (4, false) => open.push(Some(head.argument)),
            (5, false) => open.push(Some(head.argument.saturating_mul(2))),
            (6, _) => open.push(Some(1)),
            _ => {}
        }
        at += head.length + string.len();
        if matches!(head.major, 2 | 3) && !head.is_indefinite() && (string.len() as u64) < head.argument {
            let _ = writeln!(out, "{at:06}  / the input ends inside this string /");
            return out;
        }
    }
    let _ = writeln!(out, "{at:06}  / {} more bytes /", bytes.len() - at);
    out
}

fn hex(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(bytes)
}

fn words(head: Head, string: &[u8]) -> String {
    let what = MAJORS[usize::from(head.major)];
    let long = if head.is_shortest() { "" } else { ", longer than needed" };
    match (head.major, head.is_indefinite()) {
        (7, true) => "break".to_owned(),
        (_, true) => format!("{what}, indefinite length"),
        (0, _) => format!("{}{long}", head.argument),
        (1, _) => format!("{}{long}", -1 - i128::from(head.argument)),
        (3, _) => {
            let text: String = String::from_utf8_lossy(string).chars().take(STRING).collect();
            format!("{what}, {} bytes{long}: {text:?}", head.argument)
        }
        (2, _) => format!("{what}, {} bytes{long}", head.argument),
        (4, _) => format!("{what}, {} elements{long}", head.argument),
        (5, _) => format!("{what}, {} pairs{long}", head.argument),
        (6, _) => format!("{what} {}{long}", head.argument),
        _ => match head.info {
            20 => "false".to_owned(),
            21 => "true".to_owned(),
            22 => "null".to_owned(),
            23 => "undefined".to_owned(),
            0..=24 => format!("simple value {}", head.argument),
            _ => format!("float of {} bytes", head.length - 1),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_per_item() {
        let bytes = data_encoding::HEXLOWER.decode(b"a261618201c1005f4101ff1817f5").unwrap();
        assert_eq!(
            annotate(&bytes),
            "000000  a2  / map, 2 pairs /\n\
             000001    61 61  / text string, 1 bytes: \"a\" /\n\
             000003    82  / array, 2 elements /\n\
             000004      01  / 1 /\n\
             000005      c1  / tag 1 /\n\
             000006        00  / 0 /\n\
             000007    5f  / byte string, indefinite length /\n\
             000008      41 01  / byte string, 1 bytes /\n\
             000010    ff  / break /\n\
             000011    1817  / 23, longer than needed /\n\
             000013  f5  / true /\n"
        );
    }

    #[test]
    fn hostile_input_makes_a_bounded_dump() {
        for bytes in [vec![0x81; 1 << 16], vec![0x9f; 1 << 16], vec![0; 1 << 16], vec![0xc1; 1 << 16]] {
            let dump = annotate(&bytes);
            assert!(dump.len() < 200 * LINES && dump.ends_with("more bytes /\n"), "{}", dump.len());
        }
        for bytes in [&[0x5b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0][..], &[0x9b; 9], &[0xff], &[0x1c]] {
            assert!(annotate(bytes).ends_with(" /\n"));
        }
    }

    #[test]
    fn a_line_says_what_its_item_is() {
        for (hex, text) in [
            ("20", "-1"),
            ("3818", "-25"),
            ("3800", "-1, longer than needed"),
            ("f4", "false"),
            ("f5", "true"),
            ("f6", "null"),
            ("f7", "undefined"),
            ("f0", "simple value 16"),
            ("f8ff", "simple value 255"),
            ("f93c00", "float of 2 bytes"),
            ("fa47c35000", "float of 4 bytes"),
            ("fb3ff199999999999a", "float of 8 bytes"),
        ] {
            let bytes = data_encoding::HEXLOWER.decode(hex.as_bytes()).expect("hex");
            assert_eq!(annotate(&bytes), format!("000000  {hex}  / {text} /\n"));
        }
    }

    #[test]
    fn a_string_that_the_input_cuts_off_is_named() {
        for (bytes, dump) in [
            (
                &[0x62, 0x61][..],
                "000000  62 61  / text string, 2 bytes: \"a\" /\n000002  / the input ends inside this string /\n",
            ),
            (&[0x41], "000000  41  / byte string, 1 bytes /\n000001  / the input ends inside this string /\n"),
        ] {
            assert_eq!(annotate(bytes), dump);
        }
    }
}
