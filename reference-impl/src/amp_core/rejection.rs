//! Why a message is refused, and at which step of E31.

use super::codes::Code;
use crate::cbor::Cbor;

/// A message that is refused.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rejection {
    /// The error that is due.
    pub(crate) code: Code,
    /// Where it was refused.
    pub(crate) stage: Stage,
    /// The reason, for debugging the recipient; never sent.
    pub(crate) reason: &'static str,
    /// Further content of the ERROR.
    pub(crate) details: Option<Cbor>,
}

/// The steps of E31.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// 1: encoding and schema of the envelope.
    Envelope,
    /// 2: the version.
    Version,
    /// 3: the time.
    Time,
    /// 4: the recipient.
    Recipient,
    /// 5: the key of the sender.
    Key,
    /// 6: decryption.
    Decryption,
    /// 7: the signature.
    Signature,
    /// 8: the decrypted bytes.
    Body,
    /// 10: the type.
    Type,
    /// 11: the schema of the body.
    Schema,
}

impl Stage {
    /// Its name in outcomes.
    #[must_use]
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Envelope => "envelope",
            Self::Version => "version",
            Self::Time => "time",
            Self::Recipient => "recipient",
            Self::Key => "key",
            Self::Decryption => "decryption",
            Self::Signature => "signature",
            Self::Body => "body",
            Self::Type => "type",
            Self::Schema => "schema",
        }
    }
}

impl Rejection {
    /// A refusal without details.
    #[must_use]
    pub(crate) fn new(code: Code, stage: Stage, reason: &'static str) -> Self {
        Self { code, stage, reason, details: None }
    }
}
