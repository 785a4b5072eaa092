//! Why the processing of a message ended: what a fault reports (section 4.7, "Fault Generation").

use super::code::Code;
use crate::json::Value;

/// The one fault of a message, before it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Failure {
    /// The fault code.
    pub(crate) code: Code,
    /// Every problem that the step found; at least one.
    pub(crate) reasons: Vec<String>,
    /// The types of the blocks that were not understood.
    pub(crate) blocks: Vec<String>,
    /// The part of the message that it is about.
    pub(crate) about: About,
}

/// What a failure is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum About {
    /// Bytes that are not UTF-8.
    Encoding,
    /// A text that is not one JSON value.
    Syntax,
    /// The message.
    Message,
}

impl Failure {
    /// A failure with one reason.
    pub(crate) fn new(code: Code, reason: impl Into<String>) -> Self {
        Self { code, reasons: vec![reason.into()], blocks: Vec::new(), about: About::Message }
    }

    /// A malformed message.
    pub(crate) fn sender(reason: impl Into<String>) -> Self {
        Self::new(Code::Sender, reason)
    }

    /// A failure with several reasons; `None` without any.
    pub(crate) fn of(code: Code, reasons: Vec<String>) -> Option<Self> {
        (!reasons.is_empty()).then(|| Self { reasons, ..Self::new(code, "") })
    }
}

/// The sentence about a member that is missing or of another type.
#[must_use]
pub(crate) fn problem(name: &str, expected: &str, found: Option<&Value>) -> String {
    match found {
        None => format!("{name} is missing"),
        Some(_) => format!("{name} is not {expected}"),
    }
}
