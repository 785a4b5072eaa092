//! Bytes and values: strict readers, exact writers, canonical forms. No sockets, no protocol.
//!
//! These readers are the judge of bytes, so they keep or report what lenient parsers smooth over. Start with [`json`].

pub mod canonical;
pub mod json;
