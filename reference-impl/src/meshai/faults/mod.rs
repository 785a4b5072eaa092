//! The code of planted faults that need more than one line: one module for each part of the protocol.
//!
//! Each function names its fault. A fault is planted in the path of the rule that it breaks, by the macro `planted` or by a
//! condition; [`super::fault`] has the table.

pub(super) mod agents;
pub(super) mod build;
pub(super) mod context;
pub(super) mod delegation;
pub(super) mod message;
pub(super) mod node;
pub(super) mod registry;
pub(super) mod reply;
pub(super) mod signature;
pub(super) mod time;
