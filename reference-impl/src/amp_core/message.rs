//! A message as typed data (4.1).

use crate::cbor::{Cbor, Form};

/// The only cipher (4.1, 8.5.1).
pub(crate) const ALGORITHM: &str = "X25519-XSalsa20-Poly1305";

/// The only encryption profile (8.5.1).
pub(crate) const MODE: &str = "authcrypt";

/// `to`: one DID or several (4.1). An array of one is not the same as the DID alone, since the signature covers the form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum To {
    /// A single DID.
    One(String),
    /// An array of at least one.
    Many(Vec<String>),
}

impl To {
    /// Every recipient.
    pub(crate) fn all(&self) -> &[String] {
        match self {
            Self::One(did) => std::slice::from_ref(did),
            Self::Many(dids) => dids,
        }
    }

    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        match self {
            Self::One(did) => did.as_str().into(),
            Self::Many(dids) => Cbor::Array(dids.iter().map(|did| did.as_str().into()).collect()),
        }
    }
}

impl From<&str> for To {
    fn from(did: &str) -> Self {
        Self::One(did.to_owned())
    }
}

/// The fields around the content (4.1); all of them but `v` are signed (8.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Headers {
    /// Protocol major version.
    pub(crate) v: u64,
    /// Message id: 16 bytes (4.2).
    pub(crate) id: Vec<u8>,
    /// Message type (4.3).
    pub(crate) typ: u64,
    /// When it was created: milliseconds since the Unix epoch.
    pub(crate) ts: u64,
    /// Its lifetime after that, in milliseconds.
    pub(crate) ttl: u64,
    /// The sender, possibly with the fragment of a key.
    pub(crate) from: String,
    /// The recipients.
    pub(crate) to: To,
    /// Id of the message that is answered.
    pub(crate) reply_to: Option<Vec<u8>>,
    /// The conversation.
    pub(crate) thread_id: Option<Vec<u8>>,
}

/// The content of a message (4.1): exactly one of body and enc.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// A body that everybody can read.
    Plain {
        /// The body.
        body: Cbor,
        /// The bytes that it had on the wire.
        wire: Vec<u8>,
    },
    /// A body that the recipient can open (8.5).
    Sealed {
        /// 24 bytes.
        nonce: Vec<u8>,
        /// Poly1305 tag, then the encrypted bytes.
        ciphertext: Vec<u8>,
    },
}

/// A message that matches the schema of 4.1; its signature is not verified yet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message {
    /// The fields around the content.
    pub(crate) headers: Headers,
    /// Body or enc.
    pub(crate) content: Content,
    /// The signature: 64 bytes.
    pub(crate) sig: Vec<u8>,
    /// Extension fields: never signed, never trusted (8.7).
    pub(crate) ext: Option<Cbor>,
    /// Members that the schema does not name (E15), in wire order.
    pub(crate) unknown: Vec<(Cbor, Cbor)>,
    /// How the whole was encoded.
    pub(crate) form: Form,
}

impl Headers {
    /// When the message ceases to be valid: ts + ttl, at most the end of time (8.3, E28).
    #[must_use]
    pub(crate) fn expiry(&self) -> u64 {
        self.ts.saturating_add(self.ttl)
    }
}
