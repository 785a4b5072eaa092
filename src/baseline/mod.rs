//! Baselines: the known failures of a target, in a file that belongs to it.
//!
//! [`load`] reads the file, [`apply`] compares a judged run with it, and [`update`] writes it from a record. A known failure is
//! still a failure in every report, and grants no level. It only changes the exit code, which [`crate::judge::conclude`] decides.

mod apply;
mod keys;
mod load;
mod render;
mod update;

pub use apply::apply;
pub use keys::BASELINE;
pub use load::load;
pub use update::{Change, Updated, update};
