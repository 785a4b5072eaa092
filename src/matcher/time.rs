//! `time`: a date-time of RFC 3339.

use chrono::{NaiveDate, NaiveTime};

use super::argument::{Members, members, text, word};
use super::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show, show_or_absent};
use crate::value::{Path, Value};

/// Holds if the text is a date-time of the form, within the range if one is given.
pub(super) struct Time;

impl Matcher for Time {
    fn name(&self) -> &'static str {
        "time"
    }

    fn summary(&self) -> &'static str {
        "The value is a text with an RFC 3339 date-time (`rfc3339`), or with one whose offset is Z or zero \
         (`rfc3339-utc`); with `from` and `to` also an instant between them, both included."
    }

    fn example(&self) -> &'static str {
        "{ at: /body/created, time: { form: rfc3339-utc, from: \"2026-01-01T00:00:00Z\" } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        if argument.as_map().is_none() {
            return Ok(Box::new(DateTime { utc: word(argument, &FORMS)?, from: None, to: None }));
        }
        let members = members(argument, &["form", "from", "to"])?;
        let utc = members.require("form", |form| word(form, &FORMS))?;
        let (from, to) = (end(members, "from")?, end(members, "to")?);
        if let (Some((from, shown_from)), Some((to, shown_to))) = (&from, &to)
            && from > to
        {
            return Err(ArgumentError::new(format!("has from {shown_from} later than to {shown_to}")));
        }
        Ok(Box::new(DateTime { utc, from, to }))
    }
}

/// Name of the form, and whether it is UTC only.
const FORMS: [(&str, bool); 2] = [("rfc3339", false), ("rfc3339-utc", true)];

fn end(members: Members<'_>, name: &str) -> Result<Option<(Instant, String)>, ArgumentError> {
    members.read(name, |written| {
        let stamp = read(text(written)?).map_err(|reason| {
            ArgumentError::new(format!("needs an RFC 3339 date-time, not {}: {reason}", show(written)))
        })?;
        Ok((stamp.instant, show(written)))
    })
}

struct DateTime {
    utc: bool,
    /// The first permitted instant, and its spelling.
    from: Option<(Instant, String)>,
    /// The last permitted instant, and its spelling.
    to: Option<(Instant, String)>,
}

impl Check for DateTime {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let reason = match observed.and_then(Value::as_text).map(read) {
            Some(Ok(stamp)) if self.utc && !stamp.utc => "an offset other than zero",
            Some(Ok(stamp)) if self.from.as_ref().is_some_and(|(from, _)| stamp.instant < *from) => "before the range",
            Some(Ok(stamp)) if self.to.as_ref().is_some_and(|(to, _)| stamp.instant > *to) => "after the range",
            Some(Ok(_)) => return Outcome::HOLDS,
            Some(Err(reason)) => reason,
            None => return Outcome::mismatch(self.expected(), observed),
        };
        Outcome::Mismatch(Mismatch {
            path: Path::default(),
            expected: self.expected(),
            observed: format!("{}: {reason}", show_or_absent(observed)),
        })
    }
}

impl DateTime {
    fn expected(&self) -> String {
        let mut text = "an RFC 3339 date-time".to_owned();
        if self.utc {
            text.push_str(" in UTC");
        }
        if let Some((_, from)) = &self.from {
            text.push_str(&format!(" from {from}"));
        }
        if let Some((_, to)) = &self.to {
            text.push_str(&format!(" to {to}"));
        }
        text
    }
}

/// Whether a text is an RFC 3339 date-time whose offset is Z or zero.
pub fn is_rfc3339_utc(text: &str) -> bool {
    read(text).is_ok_and(|stamp| stamp.utc)
}

/// A point in time, in seconds since 1970 and nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Instant {
    seconds: i64,
    nanoseconds: u32,
}

/// A date-time that was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) instant: Instant,
    /// Whether its offset is Z or zero.
    pub(super) utc: bool,
}

/// Reads the `date-time` of RFC 3339 section 5.6. The error is the reason.
/// Strict, because targets make exactly the mistakes that a lenient reader accepts: a blank instead of the T, an
/// offset without a colon, a day that the month does not have. T and Z may be lower case, as the RFC
/// permits.
/// Second 60 is accepted at any minute, since leap seconds are not known in advance, and means the following second.
/// Fraction digits after the ninth are ignored.
pub(super) fn read(text: &str) -> Result<Stamp, &'static str> {
    let mut rest = text.as_bytes();
    let year = digits(&mut rest, 4).ok_or("expected a year of four digits")?;
    let month = after(&mut rest, b"-").and_then(|()| digits(&mut rest, 2)).ok_or("expected a month of two digits")?;
    let day = after(&mut rest, b"-").and_then(|()| digits(&mut rest, 2)).ok_or("expected a day of two digits")?;
    let date =
        i32::try_from(year).ok().and_then(|year| NaiveDate::from_ymd_opt(year, month, day)).ok_or("invalid day")?;
    after(&mut rest, b"Tt").ok_or("expected T after the date")?;
    let (hour, minute) = hour_and_minute(&mut rest).ok_or("expected hour and minute of two digits each")?;
    let second = after(&mut rest, b":").and_then(|()| digits(&mut rest, 2)).ok_or("expected a second of two digits")?;
    if second > 60 {
        return Err("invalid time of day");
    }
    let time = NaiveTime::from_hms_opt(hour, minute, second.min(59)).ok_or("invalid time of day")?;
    let nanoseconds = match after(&mut rest, b".") {
        Some(()) => fraction(&mut rest).ok_or("expected digits after the decimal point")?,
        None => 0,
    };
    let offset_minutes = offset(&mut rest).ok_or("expected Z or an offset such as +01:00 at the end")??;
    if !rest.is_empty() {
        return Err("unexpected text after the offset");
    }
    let local = date.and_time(time).and_utc().timestamp() + i64::from(second == 60);
    Ok(Stamp { instant: Instant { seconds: local - offset_minutes * 60, nanoseconds }, utc: offset_minutes == 0 })
}

/// Consumes exactly `count` digits.
fn digits(rest: &mut &[u8], count: usize) -> Option<u32> {
    let (taken, left) = rest.split_at_checked(count)?;
    let number = taken.iter().try_fold(0, |number, byte| Some(number * 10 + char::from(*byte).to_digit(10)?))?;
    *rest = left;
    Some(number)
}

/// Consumes one byte of `permitted`.
fn after(rest: &mut &[u8], permitted: &[u8]) -> Option<()> {
    let (first, left) = rest.split_first()?;
    permitted.contains(first).then(|| *rest = left)
}

fn hour_and_minute(rest: &mut &[u8]) -> Option<(u32, u32)> {
    let hour = digits(rest, 2)?;
    after(rest, b":")?;
    Some((hour, digits(rest, 2)?))
}

/// Consumes at least one digit and returns nanoseconds.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let length = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (taken, left) = rest.split_at(length);
    *rest = left;
    let padded = taken.iter().copied().chain(std::iter::repeat(b'0')).take(9);
    (length > 0).then(|| padded.fold(0, |number, byte| number * 10 + u32::from(byte - b'0')))
}

/// Consumes the offset, and returns its minutes east of UTC.
fn offset(rest: &mut &[u8]) -> Option<Result<i64, &'static str>> {
    if after(rest, b"Zz").is_some() {
        return Some(Ok(0));
    }
    let sign = if rest.first() == Some(&b'-') { -1 } else { 1 };
    after(rest, b"+-")?;
    let (hour, minute) = hour_and_minute(rest)?;
    if hour > 23 || minute > 59 {
        return Some(Err("invalid offset"));
    }
    Some(Ok(sign * i64::from(hour * 60 + minute)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{holds, look_at_nothing, mismatch, refusal};
    use super::*;

    #[test]
    fn valid_date_times_are_read() {
        for text in [
            "2026-08-22T10:00:00Z",
            "2026-08-22t10:00:00z",
            "2024-02-29T23:59:60.123456789123Z",
            "2000-02-29T00:00:00.1+23:59",
            "0000-01-01T00:00:00-00:00",
            "9999-12-31T23:59:59Z",
        ] {
            assert!(read(text).is_ok(), "{text}");
        }
    }

    #[test]
    fn invalid_date_times_are_rejected_with_a_reason() {
        for (text, reason) in [
            ("", "expected a year of four digits"),
            ("26-08-22T10:00:00Z", "expected a year of four digits"),
            ("+2026-08-22T10:00:00Z", "expected a year of four digits"),
            ("2026-8-22T10:00:00Z", "expected a month of two digits"),
            ("2026-08-2", "expected a day of two digits"),
            ("2026-13-01T00:00:00Z", "invalid day"),
            ("2026-02-29T00:00:00Z", "invalid day"),
            ("1900-02-29T00:00:00Z", "invalid day"),
            ("2026-08-22", "expected T after the date"),
            ("2026-08-22 10:00:00Z", "expected T after the date"),
            ("2026-08-22T10Z", "expected hour and minute of two digits each"),
            ("2026-08-22T10:00Z", "expected a second of two digits"),
            ("2026-08-22T24:00:00Z", "invalid time of day"),
            ("2026-08-22T23:60:00Z", "invalid time of day"),
            ("2026-08-22T23:59:61Z", "invalid time of day"),
            ("2026-08-22T10:00:00.Z", "expected digits after the decimal point"),
            ("2026-08-22T10:00:00,5Z", "expected Z or an offset such as +01:00 at the end"),
            ("2026-08-22T10:00:00", "expected Z or an offset such as +01:00 at the end"),
            ("2026-08-22T10:00:00+0100", "expected Z or an offset such as +01:00 at the end"),
            ("2026-08-22T10:00:00+24:00", "invalid offset"),
            ("2026-08-22T10:00:00Z ", "unexpected text after the offset"),
            ("2026-08-22T10:00:00é", "expected Z or an offset such as +01:00 at the end"),
            ("２026-08-22T10:00:00Z", "expected a year of four digits"),
        ] {
            assert_eq!(read(text), Err(reason), "{text}");
        }
    }

    #[test]
    fn instants_compare_across_offsets_and_to_the_nanosecond() {
        let instant = |text: &str| read(text).unwrap().instant;
        assert_eq!(instant("2026-08-22T12:30:00+02:30"), instant("2026-08-22T10:00:00Z"));
        assert_eq!(instant("2026-08-22T08:00:00-02:00"), instant("2026-08-22T10:00:00.000Z"));
        assert!(instant("2026-08-22T10:00:00.000000001Z") > instant("2026-08-22T10:00:00Z"));
        assert_eq!(instant("2026-08-22T10:00:00.0000000009Z"), instant("2026-08-22T10:00:00Z"));
        assert_eq!(instant("2016-12-31T23:59:60Z"), instant("2017-01-01T00:00:00Z"));
        assert_eq!(instant("1970-01-01T00:00:01.5Z"), Instant { seconds: 1, nanoseconds: 500_000_000 });
    }

    #[test]
    fn utc_is_z_or_a_zero_offset() {
        for text in ["2026-08-22T10:00:00Z", "2026-08-22T10:00:00+00:00", "2026-08-22T10:00:00-00:00"] {
            assert!(holds(r#"{"time":"rfc3339-utc"}"#, &format!("\"{text}\"")), "{text}");
        }
        let there = r#"{"t":"2026-08-22T10:00:00+01:00"}"#;
        assert!(holds(r#"{"at":"/t","time":"rfc3339"}"#, there));
        assert_eq!(
            mismatch(r#"{"at":"/t","time":"rfc3339-utc"}"#, there),
            ["/t", "an RFC 3339 date-time in UTC", "\"2026-08-22T10:00:00+01:00\": an offset other than zero"]
        );
        assert_eq!(mismatch(r#"{"time":"rfc3339"}"#, "5"), ["", "an RFC 3339 date-time", "5"]);
        assert!(matches!(look_at_nothing(r#"{"time":"rfc3339"}"#), Outcome::Mismatch(_)));
    }

    #[test]
    fn the_range_is_inclusive() {
        let span = r#"{"time":{"form":"rfc3339","from":"2026-08-22T10:00:00Z","to":"2026-08-22T11:00:00Z"}}"#;
        assert!(holds(span, "\"2026-08-22T10:00:00Z\""));
        assert!(holds(span, "\"2026-08-22T13:00:00+02:00\""));
        assert_eq!(
            mismatch(span, "\"2026-08-22T11:00:00.000000001Z\""),
            [
                "",
                "an RFC 3339 date-time from \"2026-08-22T10:00:00Z\" to \"2026-08-22T11:00:00Z\"",
                "\"2026-08-22T11:00:00.000000001Z\": after the range"
            ]
        );
        assert!(mismatch(span, "\"2026-08-22T09:59:59Z\"")[2].ends_with("before the range"));
    }

    #[test]
    fn an_invalid_range_is_rejected() {
        let written = r#"{"time":{"form":"rfc3339","from":"2026-08-22T10:00:00Z","to":"2026-08-22T09:00:00Z"}}"#;
        assert!(refusal(written)[1].contains("later than"));
        assert_eq!(refusal(r#"{"time":{"form":"rfc3339","from":"today"}}"#)[0], "/time/from");
        assert_eq!(refusal(r#"{"time":{"from":"2026-08-22T10:00:00Z"}}"#)[1], "needs the key `form`");
        assert_eq!(refusal(r#"{"time":"rfc3393"}"#)[2], "did you mean `rfc3339`?");
    }

    #[test]
    fn a_text_is_a_time_in_utc_if_its_offset_is_zero() {
        for (text, expected) in [
            ("2026-08-22T10:00:00Z", true),
            ("2026-08-22T10:00:00.5+00:00", true),
            ("2026-08-22T10:00:00+01:00", false),
            ("2026-08-22", false),
        ] {
            assert_eq!(is_rfc3339_utc(text), expected, "{text}");
        }
    }
}
