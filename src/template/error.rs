//! Errors of rendering.

use crate::source::Span;

/// Why an expression cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RenderError {
    /// The reason.
    pub message: String,
    /// Where the expression is written, if known.
    pub span: Option<Span>,
}

impl RenderError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None }
    }
}
