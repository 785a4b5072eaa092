//! Shared by the benchmarks: generated cases, a server to run them against, and a clock to compare two pieces of work.
//!
//! The figures are ratios: proofmark to the minimum that any program would need for the same work, in one process and
//! within seconds of each other, so that a slow or busy machine slows both. `README.md` says how to read them.

mod program;
mod raw;
mod relay;
mod side_by_side;
mod workload;

pub use program::{Measured, find, measure};
pub use raw::Client;
pub use relay::Relay;
pub use side_by_side::{Cost, Ratio, Ratios, side_by_side};
pub use workload::{CASES, JOBS, Server, Work, clock, knowledge, run, target, write_suites};
