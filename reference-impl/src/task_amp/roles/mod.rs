//! The roles: what each does when something happened. Pure decisions on a [`Desk`]; whoever drives them stores the fact in
//! the ledger first, and then carries the outputs out.
//!
//! The bus drives all active roles on one ledger, a process of one role drives that role on a copy of its own, and so does the
//! library (binding.md, section 11).

mod coordinator;
mod desk;
mod executor;
mod reviewer;
mod timers;

pub(crate) use desk::{Desk, LogEntry, Output, Settings};
pub(crate) use executor::Done;
pub(crate) use reviewer::{Judgement, issue};

use super::ledger::Timer;
use super::message::Shared;
use super::role::{Kind, Role};
use crate::fault::planted;

/// Something that happened; the ledger knows it already.
#[derive(Debug, Clone)]
pub(crate) enum Event {
    /// A message was stored.
    Stored(Shared),
    /// A message arrived once more.
    Redelivered(Shared),
    /// The ACK of a message was stored.
    Acked(Shared),
    /// A plan of a task was handed in.
    Planned(String),
    /// The plan of a task was approved.
    Approved(String),
    /// CI told the status of a task.
    Ci(String),
    /// The admin said to continue with a task.
    Resumed(String),
    /// A timer of a task ran out.
    Fired(String, Timer),
    /// The work of a dispatch is done.
    Worked(Shared, Vec<Done>),
    /// The review of a request is done.
    Reviewed(Shared, Judgement),
}

/// Lets every active role decide about an event.
pub(crate) fn decide(desk: &mut Desk<'_>, event: &Event) {
    let coordinates = desk.is_active(Role::Coordinator);
    match event {
        Event::Stored(message) => received(desk, message),
        Event::Redelivered(request) if request.kind == Kind::Request && desk.is_active(Role::Reviewer) => {
            reviewer::redelivered(desk, request);
        }
        // 03.2: each verdict counts once.
        Event::Redelivered(verdict)
            if desk.rules.fault.is("repeated-verdict-counts") && verdict.kind == Kind::Verdict =>
        {
            desk.ledger.open(&verdict.task, desk.now).rejects += 1;
        }
        // 00: acted on once (E77).
        Event::Redelivered(message) if desk.rules.fault.is("repeated-message-acted-on") => received(desk, message),
        Event::Redelivered(_) => {}
        Event::Acked(message) if coordinates && message.from == Role::Coordinator => coordinator::acked(desk, message),
        Event::Acked(_) => {} // noted in the ledger
        Event::Planned(task) if coordinates => coordinator::planned(desk, task),
        Event::Approved(task) if coordinates => coordinator::approved(desk, task),
        Event::Ci(task) if coordinates => coordinator::ci(desk, task),
        Event::Planned(_) | Event::Approved(_) | Event::Ci(_) => {}
        Event::Resumed(task) => resumed(desk, task),
        Event::Fired(task, timer) => timers::fired(desk, task, timer),
        Event::Worked(dispatch, done) => executor::worked(desk, dispatch, done),
        Event::Reviewed(request, judgement) => reviewer::reviewed(desk, request, judgement),
    }
}

/// A message reaches its addressee, unless that one may do nothing now (spec 05, Critical = Suspend All).
fn received(desk: &mut Desk<'_>, message: &Shared) {
    // 00: the addressee acknowledges.
    planted!(desk.rules.fault, "acks-what-it-overhears", !desk.is_active(message.to) => desk.ack(message));
    if !desk.is_active(message.to) || message.kind == Kind::Escalation {
        return;
    }
    if desk.ledger.task(&message.task).is_some_and(|task| task.is_halted(message.to)) {
        return desk.postpone(message);
    }
    match message.to {
        Role::Coordinator => coordinator::received(desk, message),
        Role::Executor if message.kind == Kind::Dispatch => executor::received(desk, message),
        Role::Reviewer if message.kind == Kind::Request => reviewer::received(desk, message),
        Role::Executor | Role::Reviewer | Role::Admin | Role::System => {} // not its business
    }
}

/// What waited for the end of a suspension goes on (E61).
fn resumed(desk: &mut Desk<'_>, task: &str) {
    let waiting = std::mem::take(&mut desk.ledger.open(task, desk.now).pending);
    for message in waiting {
        received(desk, &message);
    }
    if desk.is_active(Role::Coordinator) && !desk.is_halted(Role::Coordinator, task) {
        coordinator::resumed(desk, task);
    }
}
