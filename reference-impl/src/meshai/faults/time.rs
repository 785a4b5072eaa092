//! Faults of timestamps.

use crate::instant::Instant;

/// `timestamp-without-zone`: Writes ISO time without an offset.
pub(in crate::meshai) fn without_zone(now: Instant) -> String {
    now.with_milliseconds().trim_end_matches('Z').to_owned()
}
