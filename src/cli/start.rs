//! The clock and the asynchronous runtime of a command.

use super::exit::Failure;
use crate::template::{Clock, format_time};

/// The current time, truncated to milliseconds, the precision of the record.
pub(super) fn now() -> (Clock, String) {
    let now = chrono::Utc::now();
    let milliseconds = i128::from(now.timestamp_millis());
    let clock = Clock(milliseconds * 1_000_000);
    (clock, format!("{}.{:03}Z", format_time(clock.0), milliseconds.rem_euclid(1000)))
}

/// The runtime of a command.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::Internal(format!("cannot start the asynchronous runtime: {error}")))
}
