//! The clock and the asynchronous runtime of a command.

use tokio::runtime::{Builder, Runtime};

use super::exit::Failure;
use crate::template::{Clock, format_time};

/// The current time, truncated to milliseconds, the precision of the record.
pub(super) fn now() -> (Clock, String) {
    let now = chrono::Utc::now();
    let milliseconds = i128::from(now.timestamp_millis());
    let clock = Clock(milliseconds * 1_000_000);
    (clock, format!("{}.{:03}Z", format_time(clock.0), milliseconds.rem_euclid(1000)))
}

/// The runtime of a command that sends: one thread, which also waits for the sockets. With more, each answer would wake one
/// thread that wakes another.
pub(super) fn runtime() -> Result<Runtime, Failure> {
    made(Builder::new_current_thread())
}

/// The runtime of a command that serves, on all processors.
pub(super) fn server_runtime() -> Result<Runtime, Failure> {
    made(Builder::new_multi_thread())
}

fn made(mut builder: Builder) -> Result<Runtime, Failure> {
    let made = builder.enable_all().build();
    made.map_err(|error| Failure::Internal(format!("cannot start the asynchronous runtime: {error}")))
}
