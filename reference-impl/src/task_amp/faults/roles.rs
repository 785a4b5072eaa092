//! Faults of the roles.

/// `lock-names-an-unknown-message`: the id of a verdict that was never sent.
pub(in crate::task_amp) fn unknown_verdict(task: &str) -> String {
    format!("review_verdict-{task}-1700000000000")
}
