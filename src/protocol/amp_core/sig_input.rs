//! The signed structure of RFC 001 section 8.1, with errata E12, E13 and E14.

use crate::value::{Path, Value};
use crate::wire::cbor::{self, CborError};

/// The context string.
pub const CONTEXT: &str = "AMP-v1";

/// The signed headers that every message has, in the order of the schema.
pub const REQUIRED: [&str; 6] = ["id", "typ", "ts", "ttl", "from", "to"];

/// The signed headers that a message may have.
pub const OPTIONAL: [&str; 2] = ["reply_to", "thread_id"];

/// The parts of a message that its signature covers.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    envelope: Value,
    wire_body: Option<Vec<u8>>,
    plaintext: Option<Vec<u8>>,
}

impl Material {
    /// From an envelope that was built, not received. `plaintext` is the content of its `enc`.
    pub fn of(envelope: Value, plaintext: Option<Vec<u8>>) -> Self {
        Self { envelope, wire_body: None, plaintext }
    }

    /// From a received message; the exact bytes of its body are kept for comparison. `plaintext` is the content of its
    /// `enc`, exactly as decrypted, if it was opened.
    ///
    /// # Errors
    ///
    /// [`CborError`] if the bytes are not one well-formed item.
    pub fn read(message: &[u8], plaintext: Option<Vec<u8>>) -> Result<Self, CborError> {
        let envelope = cbor::parse(message)?;
        let span = cbor::span_of(message, &Path::default().child("body"));
        let wire_body = span.and_then(|span| message.get(span)).map(<[u8]>::to_vec);
        Ok(Self { envelope, wire_body, plaintext })
    }

    /// What a Sig_Input shows of its message: the signed headers and the body.
    pub(super) fn shown_by(sig_input: &[u8]) -> Option<Self> {
        match cbor::parse(sig_input).ok()?.as_array()? {
            [_, _, headers @ Value::Map(_), Value::Bytes(body)] => Some(Self::of(headers.clone(), Some(body.to_vec()))),
            _ => None,
        }
    }

    /// The envelope.
    pub fn envelope(&self) -> &Value {
        &self.envelope
    }

    /// The signature, if it is a byte string.
    pub fn signature(&self) -> Option<&[u8]> {
        match self.envelope.member("sig") {
            Some(Value::Bytes(bytes)) => Some(bytes),
            _ => None,
        }
    }

    /// The bytes of the body as received.
    pub fn wire_body(&self) -> Option<&[u8]> {
        self.wire_body.as_deref()
    }

    /// The decrypted bytes.
    pub fn plaintext(&self) -> Option<&[u8]> {
        self.plaintext.as_deref()
    }

    /// The body as a value: for an encrypted message, the decrypted bytes as a value, if they are CBOR.
    pub fn body(&self) -> Option<Value> {
        match &self.plaintext {
            Some(plaintext) => cbor::parse(plaintext).ok(),
            None => self.envelope.member("body").cloned(),
        }
    }

    /// The body bytes that the signature is over (section 8.2): decrypted bytes as they are, a plain body in its
    /// deterministic encoding. A message without either is taken to have a null body.
    pub fn body_bytes(&self) -> Vec<u8> {
        match (&self.plaintext, self.envelope.member("body")) {
            (Some(plaintext), _) => plaintext.clone(),
            (None, Some(body)) => cbor::write(body),
            (None, None) => cbor::write(&Value::Null),
        }
    }

    /// The Sig_Input that the signature must be over.
    pub fn sig_input(&self) -> Vec<u8> {
        encode(&self.envelope, &self.body_bytes())
    }

    /// Whether the body is encrypted and was not opened, so that the signed bytes are unknown.
    pub fn is_closed(&self) -> bool {
        self.plaintext.is_none() && self.envelope.member("body").is_none() && self.envelope.member("enc").is_some()
    }

    /// The missing members of a Sig_Input: signed headers, and `body` without a body and a plaintext.
    pub fn missing(&self) -> Vec<&'static str> {
        let mut missing: Vec<_> = REQUIRED.into_iter().filter(|name| self.envelope.member(name).is_none()).collect();
        if self.plaintext.is_none() && self.envelope.member("body").is_none() {
            missing.push("body");
        }
        missing
    }
}

/// The signed headers of an envelope in the order of the schema: those present, with their values.
///
/// Values are not checked: a header of a wrong type is used as is, so that a message with one fault can be signed.
pub fn headers(envelope: &Value) -> Vec<(Value, Value)> {
    let names = REQUIRED.into_iter().chain(OPTIONAL);
    names.filter_map(|name| Some((Value::text(name), envelope.member(name)?.clone()))).collect()
}

/// Sig_Input as a value, for an envelope and the bytes of its body.
pub fn value(envelope: &Value, body: &[u8]) -> Value {
    Value::array([
        Value::text(CONTEXT),
        Value::Bytes(Vec::new()),
        Value::Map(headers(envelope).into()),
        Value::Bytes(body.to_vec()),
    ])
}

/// Sig_Input as the bytes that are signed.
pub fn encode(envelope: &Value, body: &[u8]) -> Vec<u8> {
    cbor::write(&value(envelope, body))
}

/// Sig_Input of an envelope whose body is not encrypted; a missing body counts as null.
pub fn of_plain(envelope: &Value) -> Vec<u8> {
    encode(envelope, &cbor::write(envelope.member("body").unwrap_or(&Value::Null)))
}
