//! Bytes of messages, as a record holds them.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The bytes of a message body: as text where they are UTF-8, as lower-case hex otherwise. Copies share the bytes.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Body(pub Arc<Vec<u8>>);

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl Body {
    /// The body as text, if it is UTF-8.
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.0).ok()
    }

    /// The bytes, to change them: other copies keep theirs.
    pub fn to_mut(&mut self) -> &mut Vec<u8> {
        Arc::make_mut(&mut self.0)
    }

    /// Number of bytes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl std::fmt::Debug for Body {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.text() {
            Some(text) => write!(f, "Body({text:?})"),
            None => write!(f, "Body({} bytes)", self.len()),
        }
    }
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum BodyForm {
    /// The body, which is UTF-8.
    Text(String),
    /// The body in lower-case hex, because it is not UTF-8.
    Hex(String),
}

impl Serialize for Body {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.text() {
            Some(text) => BodyForm::Text(text.to_owned()),
            None => BodyForm::Hex(data_encoding::HEXLOWER.encode(&self.0)),
        }
        .serialize(serializer)
    }
}

/// Covers every occurrence of a secret with asterisks, and leaves every length as it is.
pub fn mask(bytes: &mut [u8], secret: &[u8]) {
    if secret.is_empty() {
        return;
    }
    let found: Vec<usize> = memchr::memmem::find_iter(bytes, secret).collect();
    for at in found {
        bytes[at..][..secret.len()].fill(b'*');
    }
}

impl<'de> Deserialize<'de> for Body {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match BodyForm::deserialize(deserializer)? {
            BodyForm::Text(text) => Ok(text.into_bytes().into()),
            BodyForm::Hex(hex) => {
                data_encoding::HEXLOWER.decode(hex.as_bytes()).map(Self::from).map_err(serde::de::Error::custom)
            }
        }
    }
}

impl JsonSchema for Body {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Body".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        BodyForm::json_schema(generator)
    }
}
