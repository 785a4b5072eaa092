//! Faults of reading.

/// `json-comments-allowed`: the text without comments.
pub(in crate::task_amp) fn without_comments(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let (mut at, mut quoted) = (0, false);
    while let Some(byte) = text.get(at) {
        match (byte, text.get(at + 1)) {
            (b'\\', Some(next)) if quoted => {
                kept.extend([*byte, *next]);
                at += 2;
                continue;
            }
            (b'/', Some(b'/')) if !quoted => {
                at += text[at..].iter().position(|byte| *byte == b'\n').unwrap_or(text.len() - at);
                continue;
            }
            (b'/', Some(b'*')) if !quoted => {
                let end = text[at..].windows(2).position(|two| two == b"*/");
                at += end.map_or(text.len() - at, |end| end + 2);
                continue;
            }
            (b'"', _) => quoted = !quoted,
            _ => {} // any other byte
        }
        kept.push(*byte);
        at += 1;
    }
    kept
}
