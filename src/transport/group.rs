//! Groups of processes: a program with everything that it starts, ended together.
//!
//! On Unix a group is a process group; on Windows it is a job object, which the system ends when proofmark ends.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::{Group, Processes, separate};
#[cfg(windows)]
pub(super) use windows::{Group, Processes, separate};
