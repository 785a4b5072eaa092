//! Why a template has no value.

use crate::source::Span;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// In words.
    pub message: String,
    /// Where the expression is written, if known.
    pub span: Option<Span>,
}

impl RenderError {
    /// A reason in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None }
    }
}
