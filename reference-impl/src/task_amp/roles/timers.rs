//! Reports of missing ACKs and of silent agents (spec 00, requires_ack; 05.4).

use super::desk::{Alarm, Desk};
use crate::fault::planted;
use crate::task_amp::ledger::Timer;
use crate::task_amp::role::Role;

/// A timer of a task ran out.
pub(super) fn fired(desk: &mut Desk<'_>, task: &str, timer: &Timer) {
    match timer {
        Timer::Ack(id) => {
            if let Some(reporter) = reporter(desk) {
                missing_ack(desk, reporter, task, id);
            }
        }
        Timer::Heartbeat(agent) if desk.is_active(Role::System) => silence(desk, task, *agent),
        Timer::Heartbeat(_) => {} // the system watches
    }
}

/// 00: "the Coordinator will automatically report it"; without one, the system does (E21).
fn reporter(desk: &Desk<'_>) -> Option<Role> {
    // Other, E21: the system reports if it is there.
    let order =
        if desk.rules.is_other() { [Role::System, Role::Coordinator] } else { [Role::Coordinator, Role::System] };
    order.into_iter().find(|role| desk.is_active(*role))
}

fn missing_ack(desk: &mut Desk<'_>, reporter: Role, task: &str, id: &str) {
    let Some(message) = desk.ledger.message(id) else { return };
    // 00: each of them.
    planted!(desk.rules.fault, "missing-acks-reported-once", desk.ledger.some_ack_reported() => return);
    let to = message.to.name();
    // 05.4: the type for this.
    let kind = if desk.rules.fault.is("ack-timeout-wrong-type") { "unknown" } else { "ack_timeout" };
    // 05: the messages that led to the report.
    let affected = if desk.rules.fault.is("affected-empty") { Vec::new() } else { vec![id.to_owned()] };
    let alarm = Alarm {
        kind,
        severity: desk.mild(),
        description: format!("{task}: the {to} did not acknowledge {id} in time"),
        affected,
        suggested: vec!["Restart the agent", "Reissue the revised task"],
    };
    desk.escalate(reporter, task, alarm);
}

fn silence(desk: &mut Desk<'_>, task: &str, agent: Role) {
    // 05.4: a silent agent is reported.
    planted!(desk.rules.fault, "heartbeat-absent", return);
    planted!(desk.rules.fault, "reviewer-not-watched", agent == Role::Reviewer => return);
    // 05.4: the agent is named.
    let name = if desk.rules.fault.is("heartbeat-unnamed") { "agent" } else { agent.name() };
    let alarm = Alarm {
        kind: "heartbeat_timeout",
        severity: desk.mild(),
        description: format!("{task}: the {name} has an open assignment and wrote nothing for 30 minutes"),
        affected: Vec::new(),
        suggested: vec!["Restart the agent", "Terminate the current task"],
    };
    desk.escalate(Role::System, task, alarm);
}
