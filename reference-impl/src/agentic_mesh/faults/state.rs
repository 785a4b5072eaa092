//! Faults that last longer than a message. Each ends by itself after a while, so that a run can tell which message showed it.

use std::time::Duration;

use crate::agentic_mesh::code::Code;
use crate::agentic_mesh::failure::Failure;
use crate::agentic_mesh::node::Node;
use crate::agentic_mesh::rules::Rules;

const SPAN: Duration = Duration::from_millis(150);

/// `version-sticky`: what was decided, and a mismatch once more for the next message that the node gets.
pub(in crate::agentic_mesh) fn stick(decided: Result<(), Failure>, node: &Node, rules: &Rules) -> Result<(), Failure> {
    let mismatch = decided.as_ref().is_err_and(|failure| failure.code == Code::VersionMismatch);
    let refuses = rules.memory.refused_last(&format!("{:?}", node.kind), mismatch);
    match decided {
        Ok(()) if refuses => Err(Failure::new(Code::VersionMismatch, "the last version was unsupported")),
        other => other,
    }
}

/// `bad-input-kills-node`: from now on nothing is answered.
pub(in crate::agentic_mesh) fn die(rules: &Rules) {
    rules.memory.die_for(SPAN);
}

/// `trace-id-filter`: whether this node has seen a message with this traceId before.
pub(in crate::agentic_mesh) fn knows_trace(trace: Option<&str>, node: &Node, rules: &Rules) -> bool {
    trace.is_some_and(|trace| rules.memory.is_repeat(&format!("trace {:?} {}", node.kind, node.uri), trace))
}
