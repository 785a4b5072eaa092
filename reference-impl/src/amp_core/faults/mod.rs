//! The code of planted faults that need more than one line: one module for each part of the protocol.
//!
//! Each function names its fault. A fault is planted in the path of the rule that it breaks, by the macro `planted` or by a
//! condition; [`super::fault`] has the table.

pub(super) mod build;
pub(super) mod key_selection;
pub(super) mod map;
pub(super) mod node;
pub(super) mod stream;
pub(super) mod tcp;
