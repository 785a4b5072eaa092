//! The signature of a message: HMAC-SHA256 over a canonical text of `message` (sections 7.1 and 7.2, E71).

use sha2::{Digest, Sha256};

use crate::value::Value;
use crate::wire::canonical::{self, Form};

/// Bytes of a block of SHA-256.
const BLOCK: usize = 64;

/// How the signed bytes are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recipe {
    /// RFC 8785: the ruling.
    #[default]
    Jcs,
    /// Sorted members, no spaces, other characters than ASCII escaped.
    PythonCompact,
    /// The same with a space after each comma and colon.
    PythonDefault,
}

impl Recipe {
    /// The recipe that a setting names.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "jcs" => Some(Self::Jcs),
            "python-compact" => Some(Self::PythonCompact),
            "python-default" => Some(Self::PythonDefault),
            _ => None,
        }
    }
}

/// HMAC-SHA256 (RFC 2104).
pub fn hmac_sha256(key: &[u8], bytes: &[u8]) -> [u8; 32] {
    let mut block = [0_u8; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&Sha256::digest(key));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = |pad: u8| block.map(|byte| byte ^ pad);
    let inner = Sha256::new_with_prefix(padded(0x36)).chain_update(bytes).finalize();
    Sha256::new_with_prefix(padded(0x5c)).chain_update(inner).finalize().into()
}

/// The bytes that the signature of `message` is over: the message without `headers.signature`.
pub fn signed_bytes(message: &Value, recipe: Recipe) -> Vec<u8> {
    let mut bare = message.clone();
    if let Value::Map(members) = &mut bare {
        let headers = members.iter_mut().find(|(name, _)| name.as_text() == Some("headers"));
        if let Some((_, Value::Map(headers))) = headers {
            headers.retain(|(name, _)| name.as_text() != Some("signature"));
        }
    }
    canonical_bytes(&bare, recipe)
}

/// A value by a recipe, as it is.
pub fn canonical_bytes(value: &Value, recipe: Recipe) -> Vec<u8> {
    match recipe {
        Recipe::Jcs => canonical::write(value, Form::JCS).into_bytes(),
        Recipe::PythonCompact => python(value, ",", ":").into_bytes(),
        Recipe::PythonDefault => python(value, ", ", ": ").into_bytes(),
    }
}

/// The text that `json.dumps` of Python writes with sorted keys and these separators.
fn python(value: &Value, comma: &str, colon: &str) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| python(item, comma, colon)).collect();
            format!("[{}]", items.join(comma))
        }
        Value::Map(members) => {
            let named = members.iter().filter_map(|(name, value)| Some((name.as_text()?, value)));
            let mut named: Vec<(&str, &Value)> = named.collect();
            // Python sorts by code points, which is the order of UTF-8.
            named.sort_by_key(|(name, _)| *name);
            let write = |(name, value): &(&str, &Value)| {
                format!("{}{colon}{}", ascii(&Value::text(*name)), python(value, comma, colon))
            };
            let written: Vec<String> = named.iter().map(write).collect();
            format!("{{{}}}", written.join(comma))
        }
        other => ascii(other),
    }
}

/// A scalar as JSON, with each character that is not printable ASCII as an escape.
fn ascii(value: &Value) -> String {
    let Value::Text(plain) = value else { return crate::wire::json::compact(value) };
    let mut text = String::with_capacity(plain.len() + 2);
    text.push('"');
    for character in plain.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            ' '..='~' => text.push(character),
            _ => {
                let mut units = [0_u16; 2];
                for unit in character.encode_utf16(&mut units) {
                    text.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    #[test]
    fn the_digest_is_that_of_rfc_4231() {
        // RFC 4231, test cases 2 and 6 (a key longer than a block).
        let short = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
        assert!(data_encoding::HEXLOWER.encode(&short).starts_with("5bdcc146bf60754e6a042426089575c7"));
        let long = hmac_sha256(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert!(data_encoding::HEXLOWER.encode(&long).starts_with("60e431591ee0b67f0d8a26aacbf5b77f"));
    }

    #[test]
    fn recipes_differ_in_spaces_and_escapes_only() {
        let value = json::parse("{\"b\":[1,true,null],\"a\":\"é😀\"}".as_bytes()).expect("JSON");
        let text = |recipe| String::from_utf8(canonical_bytes(&value, recipe)).expect("UTF-8");
        assert_eq!(text(Recipe::Jcs), "{\"a\":\"é😀\",\"b\":[1,true,null]}");
        assert_eq!(text(Recipe::PythonCompact), "{\"a\":\"\\u00e9\\ud83d\\ude00\",\"b\":[1,true,null]}");
        assert_eq!(text(Recipe::PythonDefault), "{\"a\": \"\\u00e9\\ud83d\\ude00\", \"b\": [1, true, null]}");
    }

    #[test]
    fn the_recipes_of_python_escape_as_json_dumps_does() {
        let value = Value::text("\u{7f}\u{85}\u{2028}\u{1}\u{1f}\u{8}\u{c}\n\r\t\"\\/");
        let text = String::from_utf8(canonical_bytes(&value, Recipe::PythonDefault)).expect("UTF-8");
        // What Python 3.11 prints for the same text.
        assert_eq!(text, r#""\u007f\u0085\u2028\u0001\u001f\b\f\n\r\t\"\\/""#);
    }

    #[test]
    fn the_vectors_of_the_binding_hold_in_every_recipe() {
        const KEY: &[u8] = b"proofmark-meshai-hmac-key-32byte";
        let message = |text: &str| {
            let text = format!(
                "{{\"id\":\"pm-sig-0001\",\"type\":\"request\",\"timestamp\":\"2025-01-27T10:00:00Z\",\"source\":{{\"agent_id\":\
                 \"proofmark-a\"}},\"destination\":{{\"agent_id\":\"agent-b\",\"capability\":\"text-analysis\"}},\"headers\":{{\
                 \"correlation_id\":\"pm-sig-0001\",\"priority\":5,\"timeout_ms\":30000,\"routing_hints\":{{}}}},\"payload\":{{\
                 \"capability\":\"text-analysis\",\"parameters\":{{\"text\":\"{text}\"}}}}}}"
            );
            json::parse(text.as_bytes()).expect("JSON")
        };
        // The table of binding.md, section 7.
        for (text, recipe, size, base64) in [
            ("Hello mesh", Recipe::Jcs, 344, "qQdnZ1PvcjjL6aKTIxGRs5vO1kBsc0VCEE4oya5a8nU="),
            ("Hello mesh", Recipe::PythonCompact, 344, "qQdnZ1PvcjjL6aKTIxGRs5vO1kBsc0VCEE4oya5a8nU="),
            ("Hello mesh", Recipe::PythonDefault, 372, "oNmwOzkL9EzLGxw08fyuqlm7Jro+jfR2bTs9J25w4iY="),
            ("Café €", Recipe::Jcs, 343, "yky87voCsLCkf2QI9ccoDynH9OuOwgfCrU9D3uCpY10="),
            ("Café €", Recipe::PythonCompact, 350, "LqcX9J1+IpAMsIY+uMcOoh9xAMAEmTDYtDIHekNW5DM="),
            ("Café €", Recipe::PythonDefault, 378, "di90M/j5gDkCIkvg2aq7cQX8siLIgiKbZnsqgRTTJJo="),
        ] {
            let bytes = signed_bytes(&message(text), recipe);
            let digest = data_encoding::BASE64.encode(&hmac_sha256(KEY, &bytes));
            assert_eq!((bytes.len(), digest.as_str()), (size, base64), "{text} {recipe:?}");
        }
    }

    #[test]
    fn only_the_signature_is_left_out() {
        let message = json::parse(b"{\"headers\":{\"signature\":{\"value\":\"x\"}},\"payload\":{\"signature\":1}}");
        let bytes = signed_bytes(&message.expect("JSON"), Recipe::Jcs);
        assert_eq!(String::from_utf8_lossy(&bytes), "{\"headers\":{},\"payload\":{\"signature\":1}}");
    }
}
