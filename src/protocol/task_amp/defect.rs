//! Why no receiver may accept a message that a fuzzer generated.

use super::rules;
use crate::protocol::{Defect, Kin};
use crate::value::Value;
use crate::wire::json;

/// Replacements of the beginnings of texts that parsers of the protocol analyse.
pub(super) const KIN: &[Kin] = &[
    ("task_", &["task_", "TASK_", "task-"]),
    ("T-", &["T-", "t-", "T_", "TT-"]),
    ("AMP/", &["AMP/", "amp/", "AMP "]),
    ("coordinator", &["Coordinator", "admin", "system"]),
];

/// The defect of the message in a body, if every reading rejects it.
pub(super) fn of(operation: &str, body: &[u8]) -> Option<Defect> {
    if !matches!(operation, "submit" | "validate-value") {
        return None;
    }
    let document = match json::read(body) {
        Ok(document) => document,
        // The depth that a reader accepts, and its treatment of bytes that are not UTF-8, are up to the target.
        Err(error) if error.is_limit() || std::str::from_utf8(body).is_err() => return None,
        Err(error) => {
            return Some(Defect { requirement: "TASK-I-04", because: format!("a body that is not JSON: {error}") });
        }
    };
    // Libraries differ in repeated members and in other oddities.
    if !document.oddities.is_empty() {
        return None;
    }
    let found = rules::violations(&document.value).into_iter().next()?;
    // The branch rule may be kept by an escalation in place of a refusal (E26).
    Some(Defect { requirement: found.requirement, because: found.because })
}

/// The requirements that a message breaks under every reading; for the confirmation of vectors.
pub(super) fn requirements(message: &Value) -> Vec<&'static str> {
    rules::violations(message).into_iter().map(|found| found.requirement).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"msg_id":"task_dispatch-T-2026-044-1740576727001","protocol_version":"AMP/1.0",
        "type":"task_dispatch","from":"coordinator","to":"executor","task_id":"T-2026-044",
        "timestamp":"2026-02-26T14:32:07+00:00","requires_ack":true,"payload":{"description":"d","repo":"/r",
        "branch":"feature/x","subtasks":[{"subtask_id":"s","description":"d","estimated_lines":1}],
        "acceptance_criteria":["c"],"risk_level":"low"}}"#;

    fn broken(from: &str, to: &str) -> Option<&'static str> {
        assert!(from.is_empty() || GOOD.contains(from), "{from}");
        of("submit", GOOD.replacen(from, to, 1).as_bytes()).map(|defect| defect.requirement)
    }

    #[test]
    fn definite_defects_are_found() {
        for (from, to, requirement) in [
            (r#""timestamp":"2026-02-26T14:32:07+00:00","#, "", "TASK-00.1-22"),
            (r#""requires_ack":true"#, r#""requires_ack":1"#, "TASK-00.1-26"),
            (r#""AMP/1.0""#, r#""AMP/2.0""#, "TASK-00.1-12"),
            (r#""to":"executor""#, r#""to":"system""#, "TASK-00.1-18"),
            (r#""to":"executor""#, r#""to":"reviewer""#, "TASK-01.1-01"),
            (r#""msg_id":"task_dispatch-"#, r#""msg_id":"task_result-"#, "TASK-00.1-04"),
            (r#"["c"]"#, "[]", "TASK-01.3-04"),
            (r#""low""#, r#""critical""#, "TASK-01.2-24"),
            (r#""estimated_lines":1"#, r#""estimated_lines":"1""#, "TASK-01.2-16"),
        ] {
            assert_eq!(broken(from, to), Some(requirement), "{to}");
        }
        assert_eq!(of("submit", b"{ // x\n}").unwrap().requirement, "TASK-I-04");
    }

    #[test]
    fn tolerated_messages_are_not_defects() {
        assert_eq!(broken("", ""), None);
        for (from, to) in [
            (r#""AMP/1.0""#, r#""AMP/1.1""#),                      // E12
            ("1740576727001", "001"),                              // E09
            (r#""requires_ack":true"#, r#""requires_ack":false"#), // E16
            (r#""estimated_lines":1"#, r#""estimated_lines":1.0"#),
            (r#""branch":"feature/x""#, r#""branch":"main""#), // E26
            (r#""risk_level":"low""#, r#""risk_level":"low","x":1"#),
            (r#""from":"coordinator""#, r#""from":"admin""#), // E14
        ] {
            assert_eq!(broken(from, to), None, "{to}");
        }
    }
}
