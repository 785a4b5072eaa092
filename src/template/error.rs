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
    /// Whether a value has no member at the place that the expression names, as where an answer leaves one out.
    pub is_absent: bool,
}

impl RenderError {
    /// An error without a place.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None, is_absent: false }
    }

    /// The error of a value that has nothing at a place.
    pub fn absent(message: impl Into<String>) -> Self {
        Self { is_absent: true, ..Self::new(message) }
    }
}
