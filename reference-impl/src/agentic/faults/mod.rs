//! The code of planted faults that need more than one line: one module for each file of the protocol.
//!
//! Each function names its fault. A fault is planted in the path of the rule that it breaks, by the macro `planted` or by a
//! condition; [`super::fault`] has the table.

pub(super) mod assert;
pub(super) mod canonical;
pub(super) mod deposit;
pub(super) mod hash;
mod http;
pub(super) mod intake;
pub(super) mod invalidate;
pub(super) mod operation;
pub(super) mod orient;
pub(super) mod package;
pub(super) mod pull;
pub(super) mod review;
mod service;
pub(super) mod shown;
pub(super) mod transfer;
