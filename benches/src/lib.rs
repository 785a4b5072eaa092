//! What the benchmarks share: cases made as data, a server to put them to, and a clock for two things side by side.
//!
//! The figures are ratios: proofmark beside the least that any program would need for the same work, in one process and
//! within seconds of each other, so that a slow or busy machine slows both. `README.md` says how to read them.

mod raw;
mod side_by_side;
mod workload;

pub use raw::Client;
pub use side_by_side::{Cost, Ratio, Ratios, side_by_side};
pub use workload::{CASES, JOBS, Server, Work, clock, knowledge, run, target};
