//! A message that is not served, and why.

use super::codes::Code;
use super::rules::Rules;
use crate::json::{Object, Value};
use crate::store::StoreError;

/// What kind of mistake it is, where that decides about the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    /// A condition that a standard code names.
    Condition,
    /// The body is not JSON.
    Unreadable,
    /// The body is JSON, but not a message of section 2.3.
    Envelope,
    /// Credentials are missing or invalid.
    Credentials,
    /// The signature is invalid.
    Signature,
    /// The access to a context is denied (E50).
    Access,
    /// The server failed.
    Crash,
}

/// A message that is not served.
#[derive(Debug, Clone)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    pub(crate) cause: Cause,
    /// For people.
    pub(crate) message: String,
    /// For programs; may be empty.
    pub(crate) details: Object,
}

impl Refusal {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, cause: Cause::Condition, message: message.into(), details: Object::new() }
    }

    /// A message that is not one of section 2.3.
    pub(crate) fn envelope(path: &str, reason: impl Into<String>) -> Self {
        let refusal = Self { cause: Cause::Envelope, ..Self::new(Code::InvalidSchema, reason) };
        refusal.with("path", path)
    }

    /// Input that does not match its schema.
    pub(crate) fn schema(path: &str, reason: impl Into<String>) -> Self {
        Self::new(Code::InvalidSchema, reason).with("path", path)
    }

    /// E50: the access to a context is denied.
    pub(crate) fn access(message: &str) -> Self {
        Self { cause: Cause::Access, ..Self::new(Code::AuthenticationFailed, message) }
    }

    /// Missing or invalid credentials.
    pub(crate) fn credentials(message: impl Into<String>) -> Self {
        Self { cause: Cause::Credentials, ..Self::new(Code::AuthenticationFailed, message) }
    }

    /// A failure of the server itself.
    pub(crate) fn crash(message: impl Into<String>) -> Self {
        Self { cause: Cause::Crash, ..Self::new(Code::Internal, message) }
    }

    /// The same with one more member of `details`.
    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.set(name, value);
        self
    }

    /// The code as it is sent.
    #[must_use]
    pub(crate) fn name(&self, rules: Rules) -> &'static str {
        match self.cause {
            // Other, E65: INVALID_SCHEMA is about the parameters of a capability.
            Cause::Unreadable | Cause::Envelope if rules.is_other() => "INVALID_MESSAGE",
            // Other, E72: a bad signature has a code of its own.
            Cause::Signature if rules.is_other() => "INVALID_SIGNATURE",
            // Other, E50: who has no access does not learn that the context exists.
            Cause::Access if rules.is_other() => Code::ContextNotFound.name(),
            _ => self.code.name(),
        }
    }

    /// The HTTP status of the reply.
    #[must_use]
    pub(crate) fn status(&self, rules: Rules) -> u16 {
        match self.cause {
            // E63: bare statuses are real ones.
            _ if self.is_bare(rules) => self.code.status(),
            // Other, E63: the envelope says all.
            _ if rules.is_other() => 200,
            // E50: known, but not permitted.
            Cause::Access => 403,
            _ => self.code.status(),
        }
    }

    /// Whether it is a status without a message over HTTP.
    #[must_use]
    pub(crate) fn is_bare(&self, rules: Rules) -> bool {
        match self.cause {
            Cause::Crash => true,
            // Other, E63: bare where the status says it.
            Cause::Unreadable | Cause::Credentials => rules.is_other(),
            _ => false,
        }
    }
}

impl From<rusqlite::Error> for Refusal {
    fn from(error: rusqlite::Error) -> Self {
        Self::crash(error.to_string())
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        Self::crash(error.to_string())
    }
}
