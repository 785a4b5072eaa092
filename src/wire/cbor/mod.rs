//! CBOR (RFC 8949): a reader that hides nothing, a writer that can write in several ways, and diagnostic notation.
//!
//! [`read`] refuses what is not well-formed and reports, without refusing, every departure from the core deterministic
//! encoding of RFC 8949 section 4.2.1. [`write()`] is that encoding; [`write_as`] differs from it in one chosen way.
//! Nothing is ever allocated by a length that the input merely declares.

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
