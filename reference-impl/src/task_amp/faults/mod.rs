//! The code of planted faults that need more than one line.
//!
//! Each function names its fault. A fault is planted in the path of the rule that it breaks, by the macro `planted` or by a
//! condition; [`super::fault`] has the table.

pub(super) mod json;
pub(super) mod roles;
pub(super) mod ssot;
