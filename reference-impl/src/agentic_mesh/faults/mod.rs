//! What the planted faults do, as far as it takes more than one line.
//!
//! A fault is planted by its name in the path of the rule that it breaks. Those that change what a message holds, and
//! nothing else, are rows of tables here: [`structure`] before a message is checked, [`preservation`] before one is sent.

pub(super) mod answers;
pub(super) mod blocks;
pub(super) mod hints;
pub(super) mod memorygram;
pub(super) mod preservation;
pub(super) mod state;
pub(super) mod structure;
pub(super) mod text;
