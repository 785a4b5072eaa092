//! CBOR (RFC 8949): a reader that keeps every detail, a writer with several layouts, and diagnostic notation.
//!
//! [`read`] rejects malformed input. It accepts but reports every deviation from the core deterministic
//! encoding of RFC 8949 section 4.2.1. [`write()`] is that encoding; [`write_as`] deviates from it in one chosen way.
//! Memory is never allocated for a declared length alone.

mod annotate;
mod diagnostic;
mod float;
mod head;
mod limits;
mod oddity;
mod read;
mod span;
mod write;

pub use annotate::annotate;
pub use diagnostic::{Notation, diagnostic, diagnostic_bytes, diagnostic_with};
pub use limits::Limits;
pub use oddity::{CborError, CborErrorKind, Oddity, OddityKind};
pub use read::{Document, parse, read, read_prefix, read_sequence};
pub use span::span_of;
pub use write::{Floats, Layout, Order, Style, Width, write, write_as, write_styled};

#[cfg(test)]
mod tests;
