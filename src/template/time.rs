//! Instants as templates and suites write them.

use chrono::{DateTime, SecondsFormat};

/// The start of the run, in nanoseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock(pub i128);

/// An instant in whole seconds and UTC, without the Z: `2026-01-02T03:04:05`.
pub fn format_time(nanoseconds: i128) -> String {
    let seconds = i64::try_from(nanoseconds.div_euclid(1_000_000_000)).unwrap_or_default();
    let text = DateTime::from_timestamp(seconds, 0).unwrap_or_default().to_rfc3339_opts(SecondsFormat::Secs, true);
    text.trim_end_matches('Z').to_owned()
}

/// The instant of an RFC 3339 time, in nanoseconds since 1970.
pub fn parse_time(text: &str) -> Option<i128> {
    let time = DateTime::parse_from_rfc3339(text).ok()?;
    Some(i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_nanosecond() {
        for (text, expected) in [
            ("1970-01-01T00:00:01.5Z", Some(1_500_000_000)),
            ("1970-01-01T01:00:00.000000001+01:00", Some(1)),
            ("1969-12-31T23:59:59.75Z", Some(-250_000_000)),
            ("1970-01-01", None),
        ] {
            assert_eq!(parse_time(text), expected, "{text}");
        }
    }

    #[test]
    fn a_time_is_written_in_whole_seconds_rounded_down() {
        for (nanoseconds, expected) in [
            (1_999_999_999, "1970-01-01T00:00:01"),
            (-1, "1969-12-31T23:59:59"),
            (1_767_323_045_000_000_000, "2026-01-02T03:04:05"),
        ] {
            assert_eq!(format_time(nanoseconds), expected);
        }
    }
}
