//! Judges an answer: whether it counts, which expectations hold, and the findings for those that do not.

use std::time::Duration;

use super::interpreter::{Walk, bears_on};
use super::parts::{Part, Planned, Stop};
use crate::exchange::{Arrival, ArrivalKind, Body, Ended, Exchange, Transport};
use crate::matcher::{Mismatch, Outcome, Reading};
use crate::plan::{SETUP_STEPS, lists};
use crate::record::{EditRecord, FindingRecord, ReadingRecord};
use crate::requirement::RequirementId;
use crate::suite::{Action, Expectation, Step};
use crate::value::{Path, Value};
use crate::verdict::{Profile, Verdict};

/// Bytes from which on an answer may have more values than proofmark reads.
const MANY: usize = 256 << 10;

impl<'p> Walk<'p> {
    /// Judges one answer. A mismatch that only shows that the message was sent too late does not count.
    pub(super) fn judge(&mut self, planned: Planned<'p>, exchange: &Exchange, seen: &Value, index: usize) {
        if let Some(why) = self.cut(planned.step, exchange) {
            let name = format!("step {} ({})", planned.number % SETUP_STEPS + 1, exchange.operation);
            return self.halt(Stop::NotAccepted(format!("{name}: {why}")));
        }
        let Some(late) = self.too_late(planned, exchange) else {
            return self.judge_in_time(planned, exchange, seen, index);
        };
        let (tallies, findings) = (self.tallies.clone(), self.findings.len());
        self.judge_in_time(planned, exchange, seen, index);
        if self.findings.len() > findings {
            self.tallies = tallies;
            self.findings.truncate(findings);
            let number = planned.number % SETUP_STEPS + 1;
            self.halt(Stop::NotAccepted(format!("step {number} ({}): {late}", exchange.operation)));
        }
    }

    /// Why an answer decides nothing: it was longer than proofmark reads, and the rest may say anything. A step that judges how
    /// the answer ended is the exception.
    pub(super) fn cut(&self, step: &Step, exchange: &Exchange) -> Option<String> {
        let is_end = |expectation: &Expectation| expectation.at.value.to_string() == "/ended";
        if step.expect.iter().any(is_end) {
            return None;
        }
        let received = &exchange.received;
        let is_page = |arrival: &Arrival| arrival.kind == ArrivalKind::Polled;
        if received.ended == Ended::TooLong && received.arrived.iter().any(is_page) {
            let why =
                "more pages of answers were waiting than could be fetched in time, so what was fetched decides nothing";
            return Some(why.to_owned());
        }
        if received.ended == Ended::TooLong {
            let limit = self.context.plan.target.limits.body;
            return Some(format!(
                "the answer is longer than {limit} bytes and was cut, so it decides nothing; to read more, set \
                 `limits: {{ body: … }}` in the target file"
            ));
        }
        let codec = self.context.plan.knowledge.protocol.codec();
        let is_beyond = |body: &Body| body.len() >= MANY && codec.is_beyond_limits(&body.0);
        let beyond = is_beyond(&received.body) || received.arrived.iter().any(|arrival| is_beyond(&arrival.body));
        beyond.then(|| "the answer has more values or levels than are read, so it decides nothing".to_owned())
    }

    fn judge_in_time(&mut self, planned: Planned<'p>, exchange: &Exchange, seen: &Value, index: usize) {
        let step = planned.step;
        let edited = self.part == Part::Case && step.has_edits();
        let name = || format!("step {} ({})", planned.number % SETUP_STEPS + 1, exchange.operation);
        let no_answer = match &exchange.received.ended {
            Ended::Complete | Ended::TooLong => None, // a cut answer gets here only where its end is judged
            // On a connection that stays open, silence and closing are answers.
            Ended::TimedOut | Ended::Closed(_) if exchange.sent.transport.is_channel() => None,
            Ended::TimedOut => Some("the time limit passed before an answer".to_owned()),
            Ended::Closed(why) => Some(format!("the connection closed before an answer: {why}")),
            Ended::Unreachable(why) => Some(format!("cannot connect: {why}")),
            Ended::NotSent(why) => {
                return self.halt(Stop::NotAccepted(format!("{}: the message was not sent: {why}", name())));
            }
        };
        // A peer that closes the connection before the first message was not tested by the case.
        let cut_off = match &exchange.received.ended {
            Ended::Closed(why) => exchange.received.arrived.is_empty().then_some(why),
            _ => None,
        };
        if planned.number >= SETUP_STEPS
            && exchange.sent.transport.is_channel()
            && self.part != Part::Probe
            && let Some(why) = cut_off
        {
            return self.halt(Stop::NoAnswer(format!("{}: {why}", name())));
        }
        if let Some(why) = no_answer {
            let broke_off = match &exchange.received.ended {
                // The twin shows whether the target answers at all; if it does, the edits made it drop the connection.
                Ended::Closed(_) => edited || step.must_answer,
                Ended::TimedOut => step.must_answer,
                // An unreachable target was not tested, unless the step tests whether the target is still reachable.
                _ => step.must_answer && !step.has_edits(),
            };
            if broke_off && self.part == Part::Case {
                for expectation in step.expect.iter().enumerate() {
                    let mismatch =
                        Mismatch { path: Path::default(), expected: "an answer".into(), observed: why.clone() };
                    self.note_mismatch(planned, 1, expectation, &mismatch, Some(index));
                }
                return;
            }
            return self.halt(Stop::NoAnswer(format!("{}: {why}", name())));
        }
        let unsupported = self.ready.transport == Transport::Adapter
            && seen.member("code").and_then(Value::as_integer) == Some(-32601);
        if unsupported && !step.optional {
            return self.halt(Stop::Unsupported(format!("the adapter does not offer {}", exchange.operation)));
        }
        if self.part == Part::Probe {
            self.preconditions(planned, seen, name);
            return;
        }
        let left_open = step.without_waiting && exchange.sent.transport.is_channel();
        let must_accept = match (&step.action, self.part) {
            _ if left_open => false,
            (Action::Send { .. }, Part::Twin) => {
                step.has_edits() || (step.expect.is_empty() && step.assume.is_empty() && !planned.in_group)
            }
            (Action::Send { edits, .. }, _) => {
                step.expect.is_empty()
                    && step.expect_all.is_empty()
                    && step.assume.is_empty()
                    && edits.is_empty()
                    && !planned.in_group
            }
            // If the clock did not advance, the following steps would run at the wrong time.
            (Action::Advance { .. }, _) => step.expect.is_empty() && step.assume.is_empty(),
            _ => false,
        };
        if must_accept && !self.accepted(planned, seen) {
            if step.optional {
                return;
            }
            let observed = match seen.member("rpc_error").and_then(Value::as_text) {
                Some(error) => format!("the adapter answered {error}"),
                None => {
                    format!("status {}", seen.member("status").map_or_else(|| "none".to_owned(), crate::wire::show))
                }
            };
            return self.halt(Stop::NotAccepted(format!("{} was not accepted: {observed}", name())));
        }
        if !self.preconditions(planned, seen, name) {
            return;
        }
        if self.part == Part::Case {
            self.expectations(planned, 1, seen, Some(index));
        }
    }

    /// Whether the preconditions of a step hold; ends the walk if not.
    fn preconditions(&mut self, planned: Planned<'_>, seen: &Value, name: impl Fn() -> String) -> bool {
        for (position, expectation) in planned.step.assume.iter().enumerate() {
            let stop = match self.look(expectation, seen, Some((planned.number, 0, position))) {
                Ok(Outcome::Holds(_)) => continue,
                Ok(Outcome::Mismatch(mismatch)) => {
                    Stop::NotAccepted(format!("{} precondition not met: {mismatch}", name()))
                }
                Ok(Outcome::Vacuous(why) | Outcome::Undecided(why)) => Stop::NotAccepted(format!("{}: {why}", name())),
                Err(error) => Stop::Broken(format!("{}: {error}", expectation.span.place())),
            };
            self.halt(stop);
            return false;
        }
        true
    }

    /// Why an answer is inconclusive: the message was sent so late, or answered so late, that it may have expired before the
    /// target read it, because a machine was busy or earlier answers were slow.
    fn too_late(&self, planned: Planned<'_>, exchange: &Exchange) -> Option<String> {
        /// The transfer time that is allowed for a message.
        const UNDER_WAY: i128 = 1_000;
        let end = self.context.plan.knowledge.protocol.oracle()?.expires_ms(exchange)?;
        let before = self.ready.case.steps.iter().filter(|step| step.number < planned.number);
        let pauses = before.map(|step| match &step.action {
            Action::Pause(pause) => self.context.plan.time(pause),
            _ => step.quiet.as_ref().map(|quiet| self.context.plan.time(quiet)).unwrap_or_default(),
        });
        let set_up = planned.number >= SETUP_STEPS;
        let pauses = if set_up { Duration::ZERO } else { pauses.sum() };
        let instant = |ms: u64| self.context.facts.after(ms.saturating_add(exchange.clock_ms)).0 / 1_000_000;
        let meant = instant(self.begun_ms) + i128::try_from(pauses.as_millis()).unwrap_or(i128::MAX);
        let sent = instant(exchange.started_ms);
        if meant >= end {
            return None;
        }
        if end < sent.saturating_add(UNDER_WAY) && sent > meant.saturating_add(UNDER_WAY) {
            return Some(format!("the message was sent {} ms late and had expired", sent - meant));
        }
        let answered = instant(exchange.started_ms.saturating_add(answered_after_ms(exchange)?));
        (end <= answered).then(|| {
            let behind = answered - end;
            format!(
                "the answer came {behind} ms after the message had expired, so the target may have read it too late"
            )
        })
    }

    pub(super) fn accepted(&self, planned: Planned<'_>, seen: &Value) -> bool {
        let clock = self.context.plan.clock(self.ready.transport).map(|way| &way.step.action);
        let operation = match (&planned.step.action, clock) {
            (Action::Send { operation, .. }, _) => operation,
            (Action::Advance { .. }, Some(Action::Send { operation, .. })) => operation,
            _ => return true,
        };
        let protocol = self.context.plan.knowledge.protocol;
        protocol.operation(operation).is_some_and(|operation| protocol.accepted(operation, seen))
    }

    /// Evaluates the expectations of list 1 (each answer) or 2 (all answers).
    pub(super) fn expectations(&mut self, planned: Planned<'p>, list: u8, seen: &Value, exchange: Option<usize>) {
        let step = planned.step;
        let expectations = lists(step)[usize::from(list)];
        for (position, expectation) in expectations.iter().enumerate() {
            let key = (planned.number, list, position);
            let outcome = match self.look(expectation, seen, Some(key)) {
                Ok(outcome) => outcome,
                Err(error) => return self.halt(Stop::Broken(format!("{}: {error}", expectation.span.place()))),
            };
            let covers = &self.ready.covers;
            for id in covers.iter().copied().filter(|id| bears_on(expectation, id)) {
                if let Some(tally) = self.tallies.get_mut(id) {
                    tally.looked_at.insert(key);
                    match &outcome {
                        Outcome::Holds(_) => tally.held += 1,
                        Outcome::Vacuous(_) => tally.vacuous += 1,
                        Outcome::Undecided(_) => tally.undecided += 1,
                        Outcome::Mismatch(_) => {}
                    }
                }
            }
            match outcome {
                Outcome::Mismatch(mut mismatch) => {
                    // An error in the place of a result is what was observed.
                    if let Some(error) = seen.member("rpc_error").and_then(Value::as_text)
                        && mismatch.observed == "nothing"
                    {
                        mismatch.observed = format!("the adapter answered {error}");
                    }
                    self.note_mismatch(planned, list, (position, expectation), &mismatch, exchange);
                }
                Outcome::Holds(readings) => self.note_readings(expectation, readings, exchange),
                Outcome::Vacuous(_) => {}
                Outcome::Undecided(why) => {
                    self.undecided.get_or_insert(why);
                }
            }
        }
    }

    fn note_readings(&mut self, expectation: &'p Expectation, readings: Vec<Reading>, exchange: Option<usize>) {
        for Reading { reading, tolerated } in readings {
            if tolerated {
                let expected = "the reading that the errata require".to_owned();
                let mismatch = Mismatch { path: expectation.at.value.clone(), expected, observed: reading.clone() };
                let verdict = match self.context.facts.profile {
                    Profile::Lenient => Verdict::Warn,
                    Profile::Strict => Verdict::Fail,
                };
                self.find(expectation, verdict, &mismatch, true, exchange);
            }
            // Where it is written takes as long to find out as the rest, and a sweep sees the same reading thousands of times.
            let is_known = |(of, seen): &(&Expectation, ReadingRecord)| {
                std::ptr::eq(*of, expectation) && seen.reading == reading && seen.tolerated == tolerated
            };
            if !self.readings.iter().any(is_known) {
                let at = expectation.span.place();
                self.readings.push((expectation, ReadingRecord { reading, tolerated, at }));
            }
        }
    }

    pub(super) fn note_mismatch(
        &mut self,
        planned: Planned<'_>,
        list: u8,
        (position, expectation): (usize, &'p Expectation),
        mismatch: &Mismatch,
        exchange: Option<usize>,
    ) {
        let strict_only = expectation.strict_only || self.ready.case.strict_only;
        for id in self.bearing(expectation) {
            if let Some(tally) = self.tallies.get_mut(id) {
                tally.looked_at.insert((planned.number, list, position));
            }
        }
        let verdict =
            if strict_only && self.context.facts.profile == Profile::Lenient { Verdict::Warn } else { Verdict::Fail };
        self.find(expectation, verdict, mismatch, strict_only, exchange);
    }

    fn bearing(&self, expectation: &Expectation) -> Vec<&'p RequirementId> {
        self.ready.covers.iter().copied().filter(|id| bears_on(expectation, id)).collect()
    }

    /// Adds a finding for each requirement that the expectation decides, with the severity of the requirement's keyword.
    fn find(
        &mut self,
        expectation: &'p Expectation,
        verdict: Verdict,
        mismatch: &Mismatch,
        strict_only: bool,
        exchange: Option<usize>,
    ) {
        for id in self.bearing(expectation) {
            let found = self.context.plan.knowledge.catalogue.find(id.as_str());
            let advice = found.is_some_and(|found| found.keyword.is_advice() || found.strict_only);
            let weighed = match self.context.facts.profile {
                Profile::Lenient if advice => Verdict::Warn,
                _ => verdict,
            };
            if let Some(tally) = self.tallies.get_mut(id) {
                tally.fail(weighed);
            }
            let finding = FindingRecord {
                requirement: id.to_string(),
                verdict: weighed,
                expected: mismatch.expected.clone(),
                observed: mismatch.observed.clone(),
                path: mismatch.path.to_string(),
                exchange,
                at: expectation.span.place(),
                strict_only,
                // The judge sees the failures of all cases.
                mistake: None,
                note: expectation.note.clone(),
            };
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }

    /// Writes down what makes the messages of a step wrong: for a list, what makes the first few of them wrong.
    pub(super) fn note_edits(&mut self, planned: Planned<'p>, items: &[Value]) {
        const FEW: usize = 5;
        let (Action::Send { edits, .. }, Part::Case) = (&planned.step.action, self.part) else { return };
        if edits.is_empty() {
            return;
        }
        for (round, item) in items.iter().enumerate().take(FEW) {
            if self.bind_round(planned, round, item).is_err() {
                return; // the message could not be built either
            }
            let stream = format!("step {} round {round}", planned.number);
            for (position, edit) in edits.iter().enumerate() {
                let rendered = self.rendered(edit, position, &stream).ok().flatten();
                let noted = EditRecord { step: planned.number, edit: edit.describe(rendered.as_ref()) };
                if !self.edits.contains(&noted) {
                    self.edits.push(noted);
                }
            }
        }
    }
}

/// Milliseconds between the first byte sent and the first thing that shows that the target had read the message.
fn answered_after_ms(exchange: &Exchange) -> Option<u64> {
    let received = &exchange.received;
    let arrived = received.arrived.iter().map(|arrival| arrival.at_ms).min();
    arrived.or_else(|| (received.ended == Ended::Complete).then_some(exchange.elapsed_ms))
}
