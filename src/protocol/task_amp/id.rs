//! The forms of ids and times (section 00.1; E08 to E13).

use chrono::{DateTime, NaiveDateTime};

/// The types of messages.
pub(super) const TYPES: &[&str] = &["task_dispatch", "task_result", "review_request", "review_verdict", "escalation"];

/// The parts of a msg_id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts<'i> {
    /// The type.
    pub kind: &'i str,
    /// The task_id.
    pub task: &'i str,
    /// The decimal digits at its end.
    pub digits: &'i str,
}

/// What a text is as a time of ISO 8601.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Time {
    /// A date and time with an offset.
    Valid,
    /// A date and time without an offset.
    WithoutOffset,
    /// Something else.
    Invalid,
}

/// The parts of a msg_id; `None` if it has another form. Tails of any number of digits are legal (E09), and so are serials of
/// more than three digits (E11).
pub(super) fn parts(msg_id: &str) -> Option<Parts<'_>> {
    let (kind, rest) = TYPES.iter().find_map(|kind| Some((*kind, msg_id.strip_prefix(kind)?.strip_prefix('-')?)))?;
    let (task, digits) = rest.rsplit_once('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && is_task(task)).then_some(Parts { kind, task, digits })
}

/// Whether a text has the form of a task_id, with three or more digits of the serial (E11).
pub(super) fn is_task(task: &str) -> bool {
    let Some((year, serial)) = task.strip_prefix("T-").and_then(|rest| rest.split_once('-')) else { return false };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    year.len() == 4 && serial.len() >= 3 && digits(year) && digits(serial)
}

/// Reads a time.
pub(super) fn time(text: &str) -> Time {
    // An offset without a colon is tolerated (E13). ISO 8601 also has times without separators and fractions after a comma.
    const WITH_OFFSET: &[&str] = &[
        "%Y-%m-%dT%H:%M:%S%.f%z",
        "%Y-%m-%dT%H:%M:%S%.f%#z",
        "%Y-%m-%dT%H:%M%z",
        "%Y-%m-%dT%H:%M%#z",
        "%Y%m%dT%H%M%S%.f%z",
        "%Y%m%dT%H%M%S%.f%#z",
    ];
    const PLAIN: &[&str] = &["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%dT%H:%M", "%Y%m%dT%H%M%S%.f"];
    let starts_right = text.len() >= 15 && text.as_bytes()[..4].iter().all(u8::is_ascii_digit);
    if !starts_right {
        return Time::Invalid;
    }
    let text = &text.replacen(',', ".", 1);
    if DateTime::parse_from_rfc3339(text).is_ok()
        || WITH_OFFSET.iter().any(|form| DateTime::parse_from_str(text, form).is_ok())
    {
        return Time::Valid;
    }
    if PLAIN.iter().any(|form| NaiveDateTime::parse_from_str(text, form).is_ok()) {
        return Time::WithoutOffset;
    }
    Time::Invalid
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_msg_id_has_three_parts() {
        let parsed = parts("task_dispatch-T-2026-044-1740576727001");
        assert_eq!(parsed, Some(Parts { kind: "task_dispatch", task: "T-2026-044", digits: "1740576727001" }));
        for wrong in [
            "abc",
            "task_dispatch-1740576727001",
            "T-2026-044-1740576727001",
            "task_dispatch_T-2026-044_1740576727001",
            "task_dispatch-T-2026-044-...",
            "task_dispatch-T-2026-044-",
            "task_dispatch-T-2026-044-17405x",
            " task_dispatch-T-2026-044-1740576727001",
            "task_dispatch-T-2026-044-1740576727001 ",
        ] {
            assert_eq!(parts(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_task_id_has_a_year_and_a_serial() {
        for right in ["T-2026-001", "T-2026-999", "T-2026-1000"] {
            assert!(is_task(right), "{right}");
        }
        for wrong in [
            "2026-044",
            "T-26-044",
            "T-2026-44",
            "t-2026-044",
            "T_2026_044",
            "T-2026-04A",
            "T-2026-044-S1",
            " T-2026-044",
        ] {
            assert!(!is_task(wrong), "{wrong}");
        }
    }

    #[test]
    fn times_need_a_date_a_time_and_an_offset() {
        for right in [
            "2026-02-26T14:32:07+00:00",
            "2026-02-26T14:32:07.123+08:00",
            "2026-02-26T14:32:07Z",
            "2026-02-26T14:32:07-05:30",
            "2026-02-26T14:32:07+0000",
            "2026-02-26T14:32:07,123+00:00",
            "20260226T143207+0000",
        ] {
            assert_eq!(time(right), Time::Valid, "{right}");
        }
        for plain in ["2026-02-26T14:32:07", "2026-02-26T14:32:07.123", "20260226T143207"] {
            assert_eq!(time(plain), Time::WithoutOffset, "{plain}");
        }
        for wrong in [
            "yesterday",
            "2026-02-26",
            "26.02.2026 14:32",
            "2026-13-01T00:00:00+00:00",
            "2026-02-30T00:00:00+00:00",
            "2026-02-26T25:00:00+00:00",
            "",
        ] {
            assert_eq!(time(wrong), Time::Invalid, "{wrong}");
        }
    }
}
