//! Messages that the target sends to a host: which step receives each, the reply, and its judgement.

use super::context::Context;
use super::host_view::observe;
use super::interpreter::{Walk, look};
use super::parts::{Part, Planned, Stop};
use crate::exchange::{Exchange, HostReply, HostedKind, Transport};
use crate::matcher::{Mismatch, Outcome};
use crate::plan::SETUP_STEPS;
use crate::protocol::Protocol;
use crate::suite::{Action, Expectation, HostReplyPlan, Receive, RequestBody, Step};
use crate::template::{RenderError, Scope};
use crate::value::{Path, Value};

/// What a receiving step does with a message at its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It receives the message.
    Takes,
    /// The message is the fence, which ends the wait for `count: 0`.
    Fence,
    /// It leaves the message to later steps.
    Leaves,
}

/// Replies to the messages that arrive while the steps of a case run: a target may wait for a reply before it answers.
pub struct Responder<'p> {
    context: &'p Context<'p>,
    transport: Transport,
    scope: Scope<'p>,
    /// The receiving steps, each with the number of messages that it still waits for.
    steps: Vec<(&'p Step, &'p Receive, u64)>,
}

/// A reply in bytes.
///
/// # Errors
///
/// A template in it has no value.
pub fn reply(
    protocol: &dyn Protocol,
    media_type: &str,
    scope: &mut Scope<'_>,
    plan: &HostReplyPlan,
) -> Result<HostReply, RenderError> {
    let HostReplyPlan::Message { status, headers, body } = plan else {
        return Ok(if matches!(plan, HostReplyPlan::Silence) { HostReply::Silence } else { HostReply::Close });
    };
    let mut fields = Vec::new();
    for (name, expr) in headers {
        let value = match scope.render(expr, &format!("reply header {name}"))? {
            Value::Text(text) => text.into(),
            other => crate::wire::json::compact(&other),
        };
        fields.push((name.clone(), value));
    }
    let body = match body {
        None => Vec::new(),
        Some(RequestBody::Bytes(bytes)) => bytes.clone(),
        Some(RequestBody::Value(expr)) => match scope.render(expr, "reply body")? {
            Value::Bytes(bytes) => bytes,
            value => protocol.codec().encode(&value, protocol.codec().layouts().first().copied().unwrap_or_default()),
        },
    };
    if !body.is_empty() && !fields.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        fields.push(("content-type".to_owned(), media_type.to_owned()));
    }
    Ok(HostReply::Message { status: *status, headers: fields, body })
}

impl<'p> Walk<'p> {
    /// The token by which hosts recognise the messages of this walk.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The responder of this walk.
    pub fn responder(&self) -> Responder<'p> {
        let mut steps: Vec<(&'p Step, &'p Receive, u64)> = Vec::new();
        let mut add = |step: &'p Step| {
            if let Action::Receive(receive) = &step.action {
                steps.push((step, receive, receive.count));
            }
        };
        for planned in self.steps() {
            match &planned.step.action {
                Action::Parallel(children) => children.iter().for_each(&mut add),
                _ => add(planned.step),
            }
        }
        Responder { context: self.context, transport: self.ready.transport, scope: self.scope.clone(), steps }
    }

    /// Updates the responder with the current bindings of the walk.
    pub fn brief(&self, responder: &mut Responder<'p>) {
        // Only the replies of receiving steps have templates.
        if !responder.steps.is_empty() {
            responder.scope = self.scope.clone();
        }
    }

    /// The values by which hosts recognise messages of any case.
    pub fn host_values(&mut self) -> Vec<Vec<u8>> {
        let hosts = &self.context.plan.knowledge.manifest.hosts;
        let values = hosts.iter().flat_map(|host| &host.values);
        values.filter_map(|expr| self.scope.render(expr, "host value").ok().map(bytes)).collect()
    }

    /// The values by which hosts recognise the messages that a step causes.
    pub fn step_values(&mut self, planned: Planned<'p>) -> Vec<Vec<u8>> {
        let stream = format!("step {} correlate", planned.number);
        let values = planned.step.correlate.iter();
        values.filter_map(|expr| self.scope.render(expr, &stream).ok().map(bytes)).collect()
    }

    /// What a receiving step does with a message at its host.
    pub fn choose(&mut self, receive: &Receive, exchange: &Exchange) -> Choice {
        let seen = self.observe(exchange);
        self.scope.bind("answer", seen.clone());
        let protocol = self.context.plan.knowledge.protocol;
        if !receive.fence.is_empty() && all_hold(&mut self.scope, protocol, &receive.fence, &seen) {
            return Choice::Fence;
        }
        match all_hold(&mut self.scope, protocol, &receive.selects, &seen) {
            true => Choice::Takes,
            false => Choice::Leaves,
        }
    }

    /// Judges the messages that a step received.
    pub(super) fn take_received(&mut self, planned: Planned<'p>, receive: &'p Receive, exchanges: &[Exchange]) {
        let first = self.seen;
        self.seen += exchanges.len();
        let step = planned.step;
        let name = format!("step {} (receive {})", planned.number % SETUP_STEPS + 1, *receive.host);
        let mut views = Vec::new();
        let mut captured: Vec<Vec<Value>> = vec![Vec::new(); step.capture.len()];
        let mut end = None;
        for (position, exchange) in exchanges.iter().enumerate() {
            let kind = exchange.hosted.as_ref().map_or(HostedKind::Nothing, |hosted| hosted.kind);
            if !kind.is_arrival() {
                end = Some((kind, first + position));
                continue;
            }
            if let Err(error) = self.bind_round(planned, exchange.round, &Value::Null) {
                return self.break_off(&error);
            }
            let seen = self.observe(exchange);
            self.scope.bind("answer", seen.clone());
            if let Some(why) = self.cut(step, exchange) {
                return self.halt(Stop::NotAccepted(format!("{name}: {why}")));
            }
            if self.part != Part::Probe {
                self.judge_received(planned, &name, &seen, first + position);
            }
            for ((_, path), values) in step.capture.iter().zip(&mut captured) {
                values.extend(path.resolve(&seen).cloned());
            }
            views.push(seen);
            if self.stop.as_ref().is_some_and(|stop| !matches!(stop, Stop::StepFailed(_))) {
                return;
            }
        }
        let missing = u64::try_from(views.len()).is_ok_and(|count| count < receive.count);
        match end {
            Some((_, index)) if missing && self.part != Part::Probe => {
                let observed = match views.len() {
                    0 => "no message".to_owned(),
                    count => format!("{count} of {}", receive.count),
                };
                self.not_received(planned, receive, &name, &observed, index);
            }
            Some((HostedKind::Nothing, _)) if !receive.fence.is_empty() => {
                self.halt(Stop::NotAccepted(format!("{name}: the fence did not arrive, so the step is inconclusive")));
            }
            _ => {}
        }
        if self.stop.as_ref().is_some_and(|stop| !matches!(stop, Stop::StepFailed(_))) {
            return;
        }
        self.take_group(planned, views);
        if !missing {
            self.capture(planned, captured);
        }
        self.stop_after_failure(planned);
    }

    fn judge_received(&mut self, planned: Planned<'p>, name: &str, seen: &Value, index: usize) {
        for expectation in &planned.step.assume {
            match self.look(expectation, seen, None) {
                Ok(Outcome::Holds(_)) => {}
                Ok(Outcome::Mismatch(mismatch)) => {
                    let why = format!("{name}: precondition not met: {mismatch}");
                    return self.halt(Stop::NotAccepted(why));
                }
                Ok(Outcome::Vacuous(why) | Outcome::Undecided(why)) => {
                    return self.halt(Stop::NotAccepted(format!("{name}: {why}")));
                }
                Err(error) => return self.halt(Stop::Broken(format!("{}: {error}", expectation.span.place()))),
            }
        }
        if self.part == Part::Case {
            self.expectations(planned, 1, seen, Some(index));
        }
    }

    /// Fewer messages arrived than expected: each expectation of the step fails, or the precondition is not met.
    fn not_received(&mut self, planned: Planned<'p>, receive: &Receive, name: &str, observed: &str, index: usize) {
        let step = planned.step;
        if step.expect.is_empty() || self.part != Part::Case || planned.number >= SETUP_STEPS {
            if !step.optional && step.expect_all.is_empty() {
                self.halt(Stop::NotAccepted(format!("{name}: {observed} arrived in time")));
            }
            return;
        }
        let expected = match receive.count {
            1 => format!("a message at the host {}", *receive.host),
            count => format!("{count} messages at the host {}", *receive.host),
        };
        for expectation in step.expect.iter().enumerate() {
            let mismatch =
                Mismatch { path: Path::default(), expected: expected.clone(), observed: observed.to_owned() };
            self.note_mismatch(planned, 1, expectation, &mismatch, Some(index));
        }
    }
}

impl Responder<'_> {
    /// The reply of the case to a message, if the case defines one.
    pub fn respond(&mut self, exchange: &Exchange) -> Option<HostReply> {
        let host = exchange.hosted.as_ref()?.host.as_str();
        let protocol = self.context.plan.knowledge.protocol;
        self.scope.bind("answer", observe(self.context, self.transport, exchange));
        let seen = self.scope.get("answer")?.clone();
        let mut last = None;
        for (index, (_, receive, left)) in self.steps.iter().enumerate() {
            if receive.host.value != host || !all_hold(&mut self.scope, protocol, &receive.selects, &seen) {
                continue;
            }
            last = Some(index);
            if *left > 0 || receive.count == 0 {
                break;
            }
        }
        let (_, receive, left) = self.steps.get_mut(last?)?;
        *left = left.saturating_sub(1);
        let plan = receive.reply.as_ref()?;
        let media_type = &self.context.plan.target.channel.http.media_type;
        reply(protocol, media_type, &mut self.scope, plan).ok()
    }
}

fn all_hold(scope: &mut Scope<'_>, protocol: &dyn Protocol, expectations: &[Expectation], seen: &Value) -> bool {
    expectations.iter().all(|expectation| {
        look(scope, protocol, expectation, seen).is_ok_and(|found| matches!(found, Outcome::Holds(_)))
    })
}

/// A value as bytes in a message.
fn bytes(value: Value) -> Vec<u8> {
    match value {
        Value::Text(text) => text.as_bytes().to_vec(),
        Value::Bytes(bytes) => bytes,
        other => crate::wire::json::compact(&other).into_bytes(),
    }
}
