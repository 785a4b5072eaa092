//! Timestamps (2.3, E11): RFC 3339 date-times with a zone, and the clock of a server.

use chrono::{DateTime, TimeDelta, Utc};

use super::faults::time as faults;
use super::rules::Rules;
use crate::fault::planted;
use crate::instant::{self, Instant};

/// Reads an RFC 3339 date-time with `Z` or a numeric offset (E11, E106).
#[must_use]
pub(crate) fn parse(text: &str) -> Option<Instant> {
    if text.ends_with('Z') {
        return Instant::parse(text);
    }
    let (local, offset) = text.split_at_checked(text.len().checked_sub(6)?)?;
    let shaped = offset.starts_with(['+', '-']) && offset.as_bytes()[3] == b':';
    Instant::parse(&format!("{local}Z")).filter(|_| shaped)?;
    DateTime::parse_from_rfc3339(text).ok().map(|time| time.with_timezone(&Utc).into())
}

/// The timestamp of a message or of a context.
#[must_use]
pub(crate) fn stamp(now: Instant, rules: Rules) -> String {
    // 2.3: with the letter Z.
    planted!(rules.fault, "timestamp-without-zone", return faults::without_zone(now));
    // Other, E11: another way to write UTC.
    if rules.is_other() {
        return now.with_milliseconds().replace('Z', "000+00:00");
    }
    now.with_milliseconds()
}

/// The clock of a server, which tests can set.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Clock {
    /// The clock of the machine, and so many milliseconds.
    Offset(i64),
    /// Always this instant.
    Fixed(Instant),
}

impl Clock {
    /// The present time.
    #[must_use]
    pub(crate) fn now(self) -> Instant {
        match self {
            Self::Offset(0) => Instant::of_system(),
            Self::Offset(offset) => later(Instant::of_system(), offset),
            Self::Fixed(instant) => instant,
        }
    }
}

impl From<instant::Clock> for Clock {
    fn from(clock: instant::Clock) -> Self {
        match clock {
            instant::Clock::System => Self::Offset(0),
            instant::Clock::Fixed(instant) => Self::Fixed(instant),
        }
    }
}

/// So many milliseconds later; at the end of time, the same instant.
#[must_use]
pub(crate) fn later(instant: Instant, milliseconds: i64) -> Instant {
    let time = DateTime::<Utc>::from_timestamp_millis(instant.unix_milliseconds());
    let delta = TimeDelta::try_milliseconds(milliseconds);
    let later = time.zip(delta).and_then(|(time, delta)| time.checked_add_signed(delta));
    later.map_or(instant, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_needed_and_any_offset_counts() {
        let utc = parse("2025-01-27T10:00:00Z").expect("a timestamp");
        for same in ["2025-01-27T12:00:00+02:00", "2025-01-27T05:30:00.000-04:30", "2025-01-27T10:00:00+00:00"] {
            assert_eq!(parse(same), Some(utc), "{same}");
        }
        for bad in [
            "yesterday",
            "2025-01-27",
            "2025-01-27T10:00:00",
            "2025-02-30T10:00:00Z",
            "2025-02-30T10:00:00+00:00",
            "2025-01-27T10:00:00+0200",
            "2025-01-27 10:00:00Z",
            "1737972000",
            "",
            "é+00:00",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_clock_can_be_moved() {
        let at = parse("2025-01-27T10:00:00Z").expect("a timestamp");
        assert_eq!(later(at, 1500).with_milliseconds(), "2025-01-27T10:00:01.500Z");
        assert_eq!(later(at, -1000).with_milliseconds(), "2025-01-27T09:59:59.000Z");
    }
}
