//! Times: ISO 8601 with an offset in messages, Unix milliseconds inside.

use chrono::{DateTime, NaiveDate, SecondsFormat, Utc};

use super::rules::Rules;
use crate::fault::planted;

/// The Unix milliseconds of an ISO 8601 date and time with an offset (spec 00, timestamp; E13).
///
/// `None` if the text is anything else: no such day, no such hour, or no offset.
#[must_use]
pub(crate) fn parse(rules: Rules, text: &str) -> Option<i64> {
    // 00: a date and time that exists.
    planted!(rules.fault, "calendar-unchecked", looks_like_a_time(text) => return Some(0));
    let (date, time) = text.split_once('T')?;
    let at = time.find(['Z', '+', '-']);
    // 00: "including time zone offset".
    planted!(rules.fault, "naive-timestamp", at.is_none() => return parse(rules, &format!("{text}Z")));
    let (time, offset) = time.split_at(at?);
    let mut days = date.split('-');
    let (year, month, day) = (digits(days.next()?, 4)?, digits(days.next()?, 2)?, digits(days.next()?, 2)?);
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, month, day).filter(|_| days.next().is_none())?;
    let (clock, fraction) = match time.split_once(['.', ',']) {
        Some((clock, fraction)) => (clock, Some(fraction)),
        None => (time, None),
    };
    let mut parts = clock.split(':');
    let (hour, minute, second) = (digits(parts.next()?, 2)?, digits(parts.next()?, 2)?, digits(parts.next()?, 2)?);
    let whole = date.and_hms_opt(hour, minute, second.min(59)).filter(|_| second <= 60 && parts.next().is_none())?;
    let milliseconds = match fraction {
        Some(fraction) if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) => return None,
        Some(fraction) => format!("{fraction}00").get(..3)?.parse().ok()?,
        None => 0,
    };
    Some(whole.and_utc().timestamp_millis() + milliseconds - offset_ms(offset)?)
}

/// `Z`, `+hh:mm`, `-hh:mm`, or the same without a colon (E13).
fn offset_ms(text: &str) -> Option<i64> {
    if text == "Z" {
        return Some(0);
    }
    let (sign, body) = text.split_at_checked(1)?;
    let (hours, minutes) = match body.split_once(':') {
        Some(parts) => parts,
        None => body.split_at_checked(2)?,
    };
    let (hours, minutes) = (digits(hours, 2)?, digits(minutes, 2)?);
    let ms = i64::from(hours * 60 + minutes) * 60_000;
    (hours < 24 && minutes < 60).then_some(if sign == "-" { -ms } else { ms })
}

fn digits(text: &str, width: usize) -> Option<u32> {
    let fits = text.len() == width && text.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

/// `calendar-unchecked`: digits in the places of a time.
fn looks_like_a_time(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).take(19).collect();
    shape == "0000-00-00T00:00:00" && text.len() > 19
}

/// How times are written into messages and records.
#[must_use]
pub(crate) fn format(rules: Rules, ms: i64) -> String {
    let time: DateTime<Utc> = DateTime::from_timestamp_millis(ms).unwrap_or_default();
    // Other, E13: Z is an offset.
    let zulu = rules.is_other() || rules.fault.is("z-in-timestamps");
    time.to_rfc3339_opts(SecondsFormat::Millis, zulu)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_needs_a_day_that_exists_and_an_offset() {
        let base = parse(Rules::PLAIN, "2026-02-26T14:32:07+00:00").expect("the time of the spec");
        for (text, difference) in [
            ("2026-02-26T14:32:07Z", 0),
            ("2026-02-26T14:32:07+0000", 0),
            ("2026-02-26T14:32:07.5+00:00", 500),
            ("2026-02-26T14:32:07+08:00", -8 * 3_600_000),
            ("2026-02-26T14:32:07-05:30", 5 * 3_600_000 + 30 * 60_000),
        ] {
            assert_eq!(parse(Rules::PLAIN, text), Some(base + difference), "{text}");
        }
        for text in [
            "yesterday",
            "2026-02-26",
            "26.02.2026 14:32",
            "2026-13-01T00:00:00+00:00",
            "2026-02-30T00:00:00+00:00",
            "2026-02-26T25:00:00+00:00",
            "2026-02-26T14:32:07",
            "2026-02-26T14:32:07.123",
            "2026-02-26T14:32:07+24:00",
            "2026-02-26T14:32:07.+00:00",
            "2026-02-26 14:32:07+00:00",
            "",
            "T",
            "é-T+",
        ] {
            assert_eq!(parse(Rules::PLAIN, text), None, "{text}");
        }
    }

    #[test]
    fn a_written_time_is_read_as_the_same_time() {
        assert_eq!(format(Rules::PLAIN, 1_740_576_727_001), "2025-02-26T13:32:07.001+00:00");
        assert_eq!(parse(Rules::PLAIN, &format(Rules::PLAIN, 1_740_576_727_001)), Some(1_740_576_727_001));
    }
}
