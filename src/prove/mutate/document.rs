//! Answers as values: decoded, changed and encoded again, also where one holds another in hex.

use crate::protocol::Protocol;
use crate::value::Value;
use crate::wire::{cbor, json};

/// Decoded bytes: a JSON text, a list of JSON lines (as an array), or a CBOR item.
pub(super) struct Document {
    pub(super) value: Value,
    pub(super) form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Lines,
    Cbor,
}

impl Document {
    pub(super) fn read(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return None;
        }
        if let Ok(value) = json::parse(bytes) {
            return Some(Self { value, form: Form::Json });
        }
        if let Some(value) = cbor::parse(bytes).ok().filter(|value| value.as_map().is_some()) {
            return Some(Self { value, form: Form::Cbor });
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        let values = lines.map(|line| json::parse(line.as_bytes()).ok()).collect::<Option<Vec<_>>>()?;
        (values.len() > 1).then_some(Self { value: Value::Array(values.into()), form: Form::Lines })
    }

    /// The content of a byte string, or of a text that is hex according to its name.
    pub(super) fn inside(name: &str, value: &Value) -> Option<Self> {
        if let Value::Bytes(bytes) = value {
            return Self::read(bytes).filter(|inner| inner.form == Form::Cbor);
        }
        let text = value.as_text().filter(|_| name.ends_with("_hex") || ["*", "message"].contains(&name))?;
        let bytes = data_encoding::HEXLOWER_PERMISSIVE.decode(text.as_bytes()).ok().filter(|bytes| bytes.len() > 1)?;
        Self::read(&bytes).filter(|inner| inner.form == Form::Lines || inner.value.as_map().is_some())
    }

    /// Encodes the document. Protects it again if the protocol protects it, so that only the change is wrong, unless the change
    /// at `tokens` is to the protection itself.
    pub(super) fn write(&self, tokens: &[&str], protocol: &dyn Protocol) -> Vec<u8> {
        match (&self.value, self.form) {
            (Value::Array(values), Form::Lines) => {
                values.iter().map(|value| json::compact(value) + "\n").collect::<String>().into_bytes()
            }
            (value, Form::Cbor) => {
                let mut value = value.clone();
                let changed = tokens.first().copied().unwrap_or_default();
                if let Some(security) = protocol.security() {
                    security.protect_again(&mut value, changed);
                }
                cbor::write(&value)
            }
            (value, _) => json::compact(value).into_bytes(),
        }
    }

    /// The value that contains these bytes, in the form of `holder`.
    pub(super) fn as_inside(&self, holder: &Value, tokens: &[&str], protocol: &dyn Protocol) -> Value {
        let bytes = self.write(tokens, protocol);
        match holder {
            Value::Bytes(_) => Value::Bytes(bytes),
            _ => Value::text(data_encoding::HEXLOWER.encode(&bytes)),
        }
    }
}
