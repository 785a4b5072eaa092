//! Identifiers: `{type}-{task_id}-{unix_ms}` and `T-YYYY-NNN` (spec 00, msg_id and task_id; E08, E09, E11).

use super::role::Kind;
use super::rules::Rules;
use crate::fault::planted;

/// The parts of a message id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parts<'t> {
    pub(crate) kind: Kind,
    pub(crate) task: &'t str,
    /// The digits of the Unix time in milliseconds.
    pub(crate) time: &'t str,
}

/// Splits a message id; `None` if it does not have the form.
#[must_use]
pub(crate) fn parse(rules: Rules, text: &str) -> Option<Parts<'_>> {
    let (head, time) = text.rsplit_once('-')?;
    let (kind, task) = head.split_once('-')?;
    let digits = !time.is_empty() && time.bytes().all(|byte| byte.is_ascii_digit());
    // Other, E08, E09: tails of any digits; the spec prints short ones.
    let width = rules.is_other() || time.len() == 13 || rules.fault.is("short-tail-accepted");
    let parts = Parts { kind: Kind::parse(kind)?, task, time };
    (digits && width && is_task_id(rules, task)).then_some(parts)
}

/// Whether a text has the form of a task id.
#[must_use]
pub(crate) fn is_task_id(rules: Rules, text: &str) -> bool {
    // 00: the whole text is the id.
    planted!(rules.fault, "task-id-unanchored", return found_inside(text));
    has_form(rules, text)
}

fn has_form(rules: Rules, text: &str) -> bool {
    let Some((year, serial)) = text.strip_prefix("T-").and_then(|rest| rest.split_once('-')) else { return false };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    // Other, E11: a serial number may have more digits.
    let long = rules.is_other() || rules.fault.is("long-serial-accepted");
    let width = serial.len() == 3 || (long && serial.len() > 3);
    year.len() == 4 && width && digits(year) && digits(serial)
}

/// Whether the task of an id is the task of the message.
#[must_use]
pub(crate) fn is_of_task(rules: Rules, parts: Parts<'_>, task: &str) -> bool {
    // What has not the form gets here only if anything that contains a task id is taken for one.
    parts.task == task || (!has_form(rules, task) && task.contains(parts.task))
}

/// `task-id-unanchored`: whether a task id is anywhere in a text.
fn found_inside(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    shape.contains("T-0000-000")
}

/// Composes a message id.
#[must_use]
pub(crate) fn make(rules: Rules, kind: Kind, task: &str, unix_ms: i64) -> String {
    // 00: the last part is in milliseconds.
    let time = if rules.fault.is("msg-id-in-seconds") { unix_ms / 1000 } else { unix_ms };
    format!("{}-{task}-{time}", kind.name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Planted;
    use crate::variant::Variant;

    #[test]
    fn an_id_has_three_parts() {
        let id = make(Rules::PLAIN, Kind::Dispatch, "T-2026-044", 1_740_576_727_001);
        assert_eq!(id, "task_dispatch-T-2026-044-1740576727001");
        let parts = Parts { kind: Kind::Dispatch, task: "T-2026-044", time: "1740576727001" };
        assert_eq!(parse(Rules::PLAIN, &id), Some(parts));
        for bad in [
            "abc",
            "",
            "task_dispatch-1740576727001",
            "T-2026-044-1740576727001",
            "task_dispatch_T-2026-044_1740576727001",
            "task_dispatch-T-2026-044-...",
            "task_dispatch-T-2026-044-",
            "task_dispatch-T-2026-044-17405x",
            " task_dispatch-T-2026-044-1740576727001",
            "task_dispatch-T-2026-044-1740576727001 ",
            "task_cancel-T-2026-044-1740576727001",
        ] {
            assert_eq!(parse(Rules::PLAIN, bad), None, "{bad}");
        }
    }

    #[test]
    fn short_tails_and_long_serials_are_a_matter_of_reading() {
        let other = Rules { fault: Planted::NONE, variant: Variant::Other };
        for text in ["task_dispatch-T-2026-044-001", "task_dispatch-T-2026-1000-1740576727001"] {
            assert!(parse(Rules::PLAIN, text).is_none() && parse(other, text).is_some(), "{text}");
        }
        for text in ["2026-044", "T-26-044", "T-2026-44", "t-2026-044", "T_2026_044", "T-2026-04A", "T-2026-044-S1"] {
            assert!(!is_task_id(Rules::PLAIN, text) && !is_task_id(other, text), "{text}");
        }
    }
}
