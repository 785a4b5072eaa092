//! Instants: parsed from RFC 3339, comparable, and the clock.
//!
//! Timestamps of a record keep the spelling of the sender; an [`Instant`] is their comparable value.

use std::fmt;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike, Utc};

/// A point in time in the years 0000 to 9999, to the nanosecond.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant(NaiveDateTime);

impl Instant {
    /// Reads an RFC 3339 date-time in UTC: upper-case `T` and `Z`, any number of fraction digits.
    ///
    /// An offset, even a zero one, is not taken (E57, strict). Digits beyond the ninth do not count in comparisons.
    #[must_use]
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let body = text.strip_suffix('Z')?;
        let (date, time) = body.split_at_checked(10)?;
        let (whole, fraction) = time.strip_prefix('T')?.split_at_checked(8)?;
        let nanos = match fraction.strip_prefix('.') {
            None if fraction.is_empty() => 0,
            None => return None,
            Some(digits) => {
                let nine: String = digits.chars().chain("000000000".chars()).take(9).collect();
                number(digits, 1..=usize::MAX)?;
                number(&nine, 9..=9)?
            }
        };
        let mut parts = whole.split(':').map(|part| number(part, 2..=2));
        let (hour, minute, second) = (parts.next()??, parts.next()??, parts.next()??);
        let date = calendar_day(date)?;
        // A leap second can only be the last of a day; it counts as the start of the next one.
        if (hour, minute, second) == (23, 59, 60) {
            return date.succ_opt().filter(in_range).map(|next| Self(next.and_time(NaiveTime::MIN)));
        }
        let time = NaiveTime::from_hms_nano_opt(hour, minute, second, nanos)?;
        (second < 60).then_some(Self(date.and_time(time)))
    }

    /// Reads a date-time as [`Self::parse`], or a bare date as its midnight, as in the question of section 7.3.
    #[must_use]
    pub(crate) fn parse_or_date(text: &str) -> Option<Self> {
        Self::parse(text).or_else(|| Some(Self(calendar_day(text)?.and_time(NaiveTime::MIN))))
    }

    /// The present time of this machine, to the microsecond.
    #[must_use]
    pub(crate) fn of_system() -> Self {
        let now = Utc::now().naive_utc();
        Self(now.with_nanosecond(now.nanosecond() % 1_000_000_000 / 1000 * 1000).unwrap_or(now))
    }

    /// The point `days` whole days earlier, at the earliest the start of the year 0000.
    #[must_use]
    pub(crate) fn days_earlier(self, days: i64) -> Self {
        let earliest = NaiveDate::from_ymd_opt(0, 1, 1).unwrap_or_default().and_time(NaiveTime::MIN);
        let earlier = TimeDelta::try_days(days).and_then(|delta| self.0.checked_sub_signed(delta));
        Self(earlier.unwrap_or(earliest).max(earliest))
    }

    /// Milliseconds since the Unix epoch, negative before it; fractions of one are dropped.
    #[must_use]
    pub(crate) fn unix_milliseconds(self) -> i64 {
        self.0.and_utc().timestamp_millis()
    }

    /// A text of fixed width whose byte order is the order in time; the stored form of instants.
    #[must_use]
    pub(crate) fn key(self) -> String {
        self.0.format("%Y-%m-%dT%H:%M:%S%.9fZ").to_string()
    }

    /// RFC 3339 with exactly three fraction digits.
    #[must_use]
    pub(crate) fn with_milliseconds(self) -> String {
        self.0.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }
}

impl fmt::Display for Instant {
    /// RFC 3339 in UTC, with a fraction only if it is not zero.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let format = match self.0.nanosecond() {
            0 => "%Y-%m-%dT%H:%M:%SZ",
            nanos if nanos % 1000 == 0 => "%Y-%m-%dT%H:%M:%S%.6fZ",
            _ => "%Y-%m-%dT%H:%M:%S%.9fZ",
        };
        write!(f, "{}", self.0.format(format))
    }
}

impl From<DateTime<Utc>> for Instant {
    fn from(time: DateTime<Utc>) -> Self {
        Self(time.naive_utc())
    }
}

/// The source of the current time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Always the same instant, for tests.
    Fixed(Instant),
    /// The clock of the machine.
    System,
}

impl Clock {
    /// The present time by this clock.
    #[must_use]
    pub(crate) fn now(self) -> Instant {
        match self {
            Self::Fixed(instant) => instant,
            Self::System => Instant::of_system(),
        }
    }
}

fn calendar_day(text: &str) -> Option<NaiveDate> {
    let mut parts = text.split('-');
    let (year, month, day) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() {
        return None;
    }
    let year = i32::try_from(number(year, 4..=4)?).ok()?;
    NaiveDate::from_ymd_opt(year, number(month, 2..=2)?, number(day, 2..=2)?)
}

/// The value of `digits` if their number is within `width`; a long fraction saturates.
fn number(digits: &str, width: std::ops::RangeInclusive<usize>) -> Option<u32> {
    let fits = width.contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| digits.parse().unwrap_or(u32::MAX))
}

fn in_range(date: &NaiveDate) -> bool {
    use chrono::Datelike;
    date.year() <= 9999
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utc_date_times_are_read_and_ordered_by_time() {
        let keys: Vec<String> = ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05.250Z", "2026-01-02T03:04:05.900000001Z"]
            .iter()
            .map(|text| Instant::parse(text).expect("a valid instant").key())
            .collect();
        assert!(keys.is_sorted());
        assert_eq!(Instant::parse("2026-01-02T03:04:05.000Z"), Instant::parse("2026-01-02T03:04:05Z"));
        assert!(Instant::parse("2016-12-31T23:59:60Z").is_some());
        assert!(Instant::parse("2024-02-29T00:00:00.1234567890123Z").is_some());
    }

    #[test]
    fn invalid_texts_are_rejected() {
        for text in [
            "yesterday",
            "2026-01-02",
            "2026-13-01T00:00:00Z",
            "2026-02-30T00:00:00Z",
            "2026-01-02T25:00:00Z",
            "2026-01-02T03:04:05+00:00",
            "2026-01-02T03:04:05+02:00",
            "2026-01-02t03:04:05z",
            "2026-01-02 03:04:05Z",
            "2026-01-02T03:04:05",
            "2026-01-02T03:04:05.Z",
            "2026-1-2T03:04:05Z",
            "2026-01-02T03:04:60Z",
            "",
            "Z",
            "2026-01-02T03:04Z",
            "é026-01-02T03:04:05Z",
            "2026-01-02T03:04:0éZ",
            "+026-01-02T03:04:05Z",
            "9999-12-31T23:59:60Z",
            "2026-01-02T03:04:05,5Z",
            "2026-01-02T24:00:00Z",
        ] {
            assert_eq!(Instant::parse(text), None, "{text:?} was accepted");
        }
    }

    #[test]
    fn printing_and_reading_agree() {
        let now = Instant::of_system();
        let nanos = Instant::parse("2026-01-02T03:04:05.123456789Z").expect("a valid instant");
        for instant in [now, nanos] {
            assert_eq!(Instant::parse(&instant.to_string()), Some(instant));
        }
        assert_eq!(Instant::parse(&now.key()), Some(now));
        assert!(
            Instant::parse("0000-01-05T00:00:00Z").expect("a valid instant").days_earlier(36_500).key() <= now.key()
        );
    }
}
