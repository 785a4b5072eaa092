//! The state of a walk and its steps: what to send next, and which answers a step takes.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::context::Context;
use super::host_view;
use super::parts::{Judged, Part, Planned, Stop};
use super::swept::Messages;
use super::tally::{Tallies, Tally};
use super::uses::{actors, uses};
use crate::exchange::{Ended, Exchange, Transport};
use crate::matcher::Outcome;
use crate::plan::{Compiled, ExpectationKey, RETRIES, ReadyCase, SETUP_STEPS, compile, lists};
use crate::protocol::{Protocol, set_times};
use crate::record::{EditRecord, FeatureState, FindingRecord, ReadingRecord};
use crate::requirement::RequirementId;
use crate::suite::{Action, Expectation, Setup, Step, TimeSpan};
use crate::template::{Expr, Objects, RenderError, Scope, Seed};
use crate::value::Value;
use crate::verdict::{NotRun, Verdict};

/// Number of findings of one requirement and verdict that a sweep keeps: more of the same add no information. It goes on after
/// them, because a later message may break another requirement.
const SWEPT_FINDINGS: usize = 6;

/// Maximum number of messages of one case that are judged together.
const SWEPT_MESSAGES: usize = 2_000;

/// A walk through one case.
pub struct Walk<'p> {
    pub(super) context: &'p Context<'p>,
    pub(super) ready: &'p ReadyCase<'p>,
    pub(super) part: Part,
    pub(super) begun_ms: u64,
    pub(super) retry: u64,
    pub(super) scope: Scope<'p>,
    compiled: Compiled,
    /// The expectations of a sweep with arguments that are the same for every message.
    of_run: Compiled,
    /// The token by which hosts recognise its messages.
    pub(super) token: String,
    pub(super) tallies: Tallies<'p>,
    pub(super) findings: Vec<FindingRecord>,
    pub(super) readings: Vec<(&'p Expectation, ReadingRecord)>,
    pub(super) edits: Vec<EditRecord>,
    pub(super) stop: Option<Stop>,
    /// Why an observation was inconclusive, if one was.
    pub(super) undecided: Option<String>,
    pub(super) seen: usize,
    /// The messages that the target made so far, each with the position of its exchange, if the case looks at them.
    pub(super) made: Vec<(usize, Value)>,
    /// The last answer that was looked at while it was collected, and its observation.
    looked_at: Option<(Exchange, Value)>,
    /// How far the clock of the target is ahead, because cases have advanced it, in milliseconds.
    pub(super) clock_ms: u64,
}

impl<'p> Walk<'p> {
    /// A walk through `ready`, at its start.
    ///
    /// `begun_ms` is when it begins, in milliseconds after the start of the run: its current time.
    pub fn new(context: &'p Context<'p>, ready: &'p ReadyCase<'p>, part: Part, begun_ms: u64) -> Self {
        Self::retry(context, ready, part, begun_ms, 0)
    }

    /// As [`Walk::new`], for a case that was tried so often before. What a target saw then must not decide now, so no value of an
    /// earlier try occurs again.
    pub fn retry(context: &'p Context<'p>, ready: &'p ReadyCase<'p>, part: Part, begun_ms: u64, retry: u64) -> Self {
        let manifest = &context.plan.knowledge.manifest;
        let mut identity = Seed::new(context.facts.identity_seed).part(&ready.id);
        if retry > 0 {
            identity = identity.part(&format!("retry {retry}"));
        }
        let ordinal = ready.ordinal + retry * RETRIES;
        let seed = match part {
            Part::Case => identity.part("case"),
            Part::Twin => identity.part("twin"),
            Part::Probe => identity.part("probe"),
        };
        let protocol = context.plan.knowledge.protocol;
        let token = host_view::token(&seed);
        let mut scope = Scope::new(&manifest.objects, &manifest.bindings, seed, context.facts.clock)
            .with(protocol.functions(), context.facts.after(begun_ms))
            .with_hosts(host_view::urls(context, &token));
        for (name, value) in context.features.known(ready.transport) {
            scope.bind(name, value.clone());
        }
        let times = manifest.timeouts.keys().map(|name| {
            let time = context.plan.time(&TimeSpan::Named(name.clone())).as_millis();
            (name.clone(), Value::from(u64::try_from(time).unwrap_or(u64::MAX)))
        });
        scope.bind("timeouts", Value::map(times));
        // Two numbers for each case: its own, and that of its twin.
        scope.bind("ordinal", Value::from(2 * ordinal + u64::from(part == Part::Twin)));
        scope.bind("run", Value::from(context.facts.identity_seed));
        let mut tallies: Tallies<'p> = BTreeMap::new();
        for id in &ready.covers {
            let wanted = ready
                .case
                .all_steps()
                .iter()
                .flat_map(|step| step.expect.iter().chain(&step.expect_all))
                .filter(|expectation| bears_on(expectation, id))
                .count();
            tallies.insert(id, Tally { wanted, ..Tally::default() });
        }
        Self {
            context,
            ready,
            part,
            begun_ms,
            retry,
            scope,
            compiled: Compiled::of(protocol, ready.case),
            of_run: Compiled::default(),
            token,
            tallies,
            findings: Vec::new(),
            readings: Vec::new(),
            edits: Vec::new(),
            stop: None,
            undecided: None,
            seen: 0,
            made: Vec::new(),
            looked_at: None,
            clock_ms: 0,
        }
    }

    /// Whether it probes a feature.
    pub fn is_probing(&self) -> bool {
        self.part == Part::Probe
    }

    /// The transport of the messages of the case.
    pub fn transport(&self) -> Transport {
        self.ready.transport
    }

    /// How long a time is at this target.
    pub fn time(&self, span: &TimeSpan) -> Duration {
        self.context.plan.time(span)
    }

    /// How far the clock of the target is ahead, in milliseconds.
    pub fn clock_ms(&self) -> u64 {
        self.clock_ms
    }

    /// Sets how far the clock of the target is ahead; the current time of the walk follows.
    pub fn set_clock(&mut self, ahead_ms: u64) {
        self.scope.shift((i128::from(ahead_ms) - i128::from(self.clock_ms)) * 1_000_000);
        self.clock_ms = ahead_ms;
    }

    /// The clock of the target once a step has advanced it.
    pub(super) fn advanced(&self, by: &TimeSpan) -> u64 {
        let by = self.context.plan.time(by).as_millis();
        self.clock_ms.saturating_add(u64::try_from(by).unwrap_or(u64::MAX))
    }

    /// The set-up that the case needs, then its own steps; for a twin up to the last that has edits.
    pub fn steps(&self) -> Vec<Planned<'p>> {
        let context = self.context;
        let manifest = &context.plan.knowledge.manifest;
        let case = self.ready.case;
        let mut planned = Vec::new();
        // The set-up of a probe has separate step numbers, by which the judge finds its exchanges.
        let first = case.steps.first().map_or(0, |step| step.number);
        let mut number = if self.part == Part::Probe { SETUP_STEPS + first } else { SETUP_STEPS };
        let uses = self.uses_with_setup(uses(self.context.plan.knowledge, case));
        for setup in manifest.setup.iter().filter(|setup| self.is_for_target(setup)) {
            let mut rounds: Vec<Option<&'p str>> = Vec::new();
            let before_all = self.part == Part::Probe && context.plan.is_first(self.ready);
            if case.without_setup || before_all {
                continue;
            }
            if setup.uses.is_empty() {
                rounds.push(None);
            } else {
                let used = setup.uses.iter().filter(|binding| uses.contains(binding.value.as_str()));
                // A value that the set-up itself captures does not exist yet.
                rounds.extend(
                    used.map(|binding| {
                        manifest.bindings.contains_key(&binding.value).then_some(binding.value.as_str())
                    }),
                );
            }
            let actors = if setup.each_actor { actors(case).into_iter().map(Some).collect() } else { vec![None] };
            for as_actor in actors {
                for it in &rounds {
                    for step in &setup.steps {
                        planned.push(Planned { step, number, it: *it, in_group: false, as_actor });
                        number += 1;
                    }
                }
            }
        }
        let last_edited = case.steps.iter().rposition(Step::has_edits);
        let count = match (self.part, last_edited) {
            (Part::Twin, Some(last)) => last + 1,
            _ => case.steps.len(),
        };
        let own = case.steps.iter().take(count);
        planned.extend(own.map(|step| Planned::own(step, false)));
        planned
    }

    /// The clean-up after the case: the `after` steps of its set-ups whose captured values exist.
    pub fn after(&self) -> Vec<Planned<'p>> {
        let manifest = &self.context.plan.knowledge.manifest;
        let used = |setup: &&Setup| setup.uses.iter().all(|binding| self.scope.get(&binding.value).is_some());
        let setups = manifest.setup.iter().filter(|setup| self.is_for_target(setup)).filter(used);
        setups.flat_map(|setup| &setup.after).map(|step| Planned::own(step, false)).collect()
    }

    /// Whether a set-up is for this path and for what the target offers.
    fn is_for_target(&self, setup: &Setup) -> bool {
        let transport = self.ready.transport;
        let here = self.context.plan.scope.includes(&setup.reach, transport);
        let state = |need: &str| self.context.features.state(self.ready.transport, need);
        // While features are probed, a set-up that needs one is not used, unless the target file alone decides it.
        let manifest = &self.context.plan.knowledge.manifest;
        let is_probed = |name: &str| {
            let named = manifest.features.iter().find(|feature| feature.name.value == name);
            named.is_some_and(|feature| !feature.steps.is_empty() || feature.operation.is_some())
        };
        let declared = |need: &str| !is_probed(need) && self.context.plan.target.options.get(need) == Some(&true);
        let offered = match self.part {
            Part::Probe => setup.needs.iter().all(|need| declared(need)),
            Part::Case | Part::Twin => setup.needs.iter().all(|need| state(need) == FeatureState::Offered),
        };
        here && offered
    }

    /// What is used, with what the set-up for it uses in turn.
    fn uses_with_setup(&self, mut uses: BTreeSet<&'p str>) -> BTreeSet<&'p str> {
        let knowledge = self.context.plan.knowledge;
        // Later set-ups depend on earlier ones, so one pass from the last to the first finds all.
        for setup in knowledge.manifest.setup.iter().rev().filter(|setup| self.is_for_target(setup)) {
            if setup.uses.is_empty() || setup.uses.iter().any(|binding| uses.contains(binding.value.as_str())) {
                let operations = setup.steps.iter().filter_map(|step| match &step.action {
                    Action::Send { operation, .. } => knowledge.protocol.operation(operation),
                    _ => None,
                });
                uses.extend(operations.flat_map(|operation| operation.inputs).filter_map(|input| input.default));
            }
        }
        uses
    }

    /// Evaluates the bindings of the case. Called after the set-up steps.
    pub fn bind(&mut self) {
        let first = self.ready.case.all_steps().into_iter().find(|step| matches!(step.action, Action::Send { .. }));
        let actor = first.map_or("a", |step| step.actor.value.as_str());
        for (name, expr) in &self.ready.case.bindings {
            // A binding with the name of the party gives its identity, once it has a value.
            let named = self.scope.get(actor).filter(|value| value.as_text().is_some()).cloned();
            self.scope.bind("actor", named.unwrap_or_else(|| Value::text(actor)));
            match self.scope.render(expr, name) {
                Ok(value) => self.scope.bind(name, value),
                Err(error) => return self.break_off(&error),
            }
        }
    }

    pub(super) fn break_off(&mut self, error: &RenderError) {
        let stop = self.unbuilt(error);
        self.stop.get_or_insert(stop);
    }

    /// Why a request could not be built: an earlier answer lacks a value, which decides nothing, or the suite is wrong.
    pub(super) fn unbuilt(&self, error: &RenderError) -> Stop {
        let place = error.span.as_ref().map(|span| format!(" at {}", span.place())).unwrap_or_default();
        let why = format!("cannot build the request: {}{place}", error.message);
        let captures = self.ready.case.all_steps().iter().any(|step| !step.capture.is_empty());
        if error.is_absent || captures { Stop::NotAccepted(why) } else { Stop::Broken(why) }
    }

    /// Ends the walk.
    pub fn halt(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
    }

    /// Why the walk has ended, if it has.
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// The elements that a step repeats over; one null for a step without a list.
    pub(super) fn items(&mut self, planned: Planned<'_>) -> Result<Vec<Value>, RenderError> {
        match &planned.step.over {
            None => Ok(vec![Value::Null]),
            Some(over) => match self.scope.render(over, &format!("step {}", planned.number))? {
                Value::Array(items) => Ok(items.into_vec()),
                other => Ok(vec![other]),
            },
        }
    }

    pub(super) fn bind_round(&mut self, planned: Planned<'_>, index: usize, item: &Value) -> Result<(), RenderError> {
        self.scope.bind("index", Value::from(index as u64));
        let actor = planned.actor();
        let named = self.scope.lookup(actor).ok().filter(|value| value.as_text().is_some());
        self.scope.bind("actor", named.unwrap_or_else(|| Value::text(actor)));
        if planned.step.over.is_some() {
            self.scope.bind("item", item.clone());
        }
        if let Some(it) = planned.it {
            let value = self.scope.lookup(it)?;
            self.scope.bind("it", value);
        }
        Ok(())
    }

    /// Whether an answer is sufficient: the expectations of the step hold, or, if there are none, the target accepted the
    /// message.
    pub fn content(&mut self, planned: Planned<'_>, exchange: Exchange) -> bool {
        let step = planned.step;
        let expectations = if self.part == Part::Case { step.expect.len() } else { 0 };
        let seen = self.observe(&exchange);
        self.looked_at = Some((exchange, seen.clone()));
        if step.assume.is_empty() && expectations == 0 {
            return self.accepted(planned, &seen);
        }
        self.scope.bind("answer", seen.clone());
        let expected = keyed(planned, 1, &step.expect).take(expectations);
        keyed(planned, 0, &step.assume).chain(expected).all(|(key, expectation)| {
            let looked = |walk: &mut Self| walk.look(expectation, &seen, Some(key));
            expectation.strict_only || looked(self).is_ok_and(|outcome| !matches!(outcome, Outcome::Mismatch(_)))
        })
    }

    /// Whether every expectation of a step holds for an answer: what `until` waits for.
    pub fn holds(&mut self, planned: Planned<'_>, exchange: &Exchange) -> bool {
        let seen = self.observe(exchange);
        self.scope.bind("answer", seen.clone());
        let step = planned.step;
        keyed(planned, 0, &step.assume).chain(keyed(planned, 1, &step.expect)).all(|(key, expectation)| {
            self.look(expectation, &seen, Some(key)).is_ok_and(|outcome| matches!(outcome, Outcome::Holds(_)))
        })
    }

    /// Whether `expectations` is not empty and all of them hold for an answer.
    pub fn shows(&mut self, expectations: &[Expectation], exchange: &Exchange) -> bool {
        let seen = self.observe(exchange);
        self.scope.bind("answer", seen.clone());
        !expectations.is_empty()
            && expectations.iter().all(|expectation| {
                self.look(expectation, &seen, None).is_ok_and(|outcome| matches!(outcome, Outcome::Holds(_)))
            })
    }

    /// As [`Walk::observe`], of an answer that may be the last one that was looked at while it was collected.
    fn observe_collected(&mut self, exchange: &Exchange) -> Value {
        if let Some((mut looked_at, mut seen)) = self.looked_at.take() {
            // Its times were open.
            (looked_at.started_ms, looked_at.elapsed_ms) = (exchange.started_ms, exchange.elapsed_ms);
            if looked_at == *exchange {
                set_times(&mut seen, exchange, self.context.plan.target, self.context.facts.clock);
                return seen;
            }
        }
        self.observe(exchange)
    }

    pub(super) fn observe(&self, exchange: &Exchange) -> Value {
        if exchange.hosted.is_some() {
            return host_view::observe(self.context, self.ready.transport, exchange);
        }
        self.context.plan.knowledge.protocol.observe(exchange, &self.context.observation_context(self.ready.transport))
    }

    pub(super) fn look(
        &mut self,
        expectation: &Expectation,
        seen: &Value,
        key: Option<ExpectationKey>,
    ) -> Result<Outcome, String> {
        let other = expectation.of.as_ref().map(|of| self.scope.render(of, "expectation")).transpose();
        let seen = match &other {
            Ok(other) => other.as_ref().unwrap_or(seen),
            Err(error) => return Ok(Outcome::Undecided(format!("the answers lack what is judged: {}", error.message))),
        };
        if let Some(check) = key.and_then(|key| self.compiled.find(key).or_else(|| self.of_run.find(key))) {
            return Ok(check.check(seen));
        }
        look(&mut self.scope, self.context.plan.knowledge.protocol, expectation, seen)
    }

    /// Judges the answers of a step, and captures values from them.
    pub fn take(&mut self, planned: Planned<'p>, exchanges: &[Exchange]) {
        if let Action::Receive(receive) = &planned.step.action {
            return self.take_received(planned, receive, exchanges);
        }
        let first = self.seen;
        self.seen += exchanges.len();
        let step = planned.step;
        let Ok(items) = self.items(planned) else { return };
        self.note_edits(planned, &items);
        let mut views = Vec::with_capacity(exchanges.len());
        let mut captured: Vec<Vec<Value>> = vec![Vec::new(); step.capture.len()];
        let judged_from = if step.until.is_some() { exchanges.len().saturating_sub(1) } else { 0 };
        for (position, exchange) in exchanges.iter().enumerate() {
            let item = items.get(exchange.round).unwrap_or(&Value::Null);
            if let Err(error) = self.bind_round(planned, exchange.round, item) {
                return self.break_off(&error);
            }
            let seen = self.observe_collected(exchange);
            self.scope.bind("answer", seen.clone());
            if position >= judged_from {
                self.judge(planned, exchange, &seen, first + position);
            }
            for ((_, path), values) in step.capture.iter().zip(&mut captured) {
                values.extend(path.resolve(&seen).cloned());
            }
            views.push(seen);
            self.note_made(exchange, first + position);
            if matches!(
                self.stop,
                Some(Stop::NoAnswer(_) | Stop::NotAccepted(_) | Stop::Broken(_) | Stop::Unsupported(_))
            ) {
                return;
            }
        }
        self.take_group(planned, views);
        self.capture(planned, captured);
        if let Action::Advance { by, .. } = &step.action {
            self.set_clock(self.advanced(by));
        }
        self.stop_after_failure(planned);
    }

    /// Ends the walk if an expectation of the case has failed.
    pub(super) fn stop_after_failure(&mut self, planned: Planned<'_>) {
        if self.part != Part::Case || self.stop.is_some() {
            return;
        }
        let Some(finding) = self.findings.iter().find(|finding| finding.verdict == Verdict::Fail) else { return };
        let name = match &planned.step.action {
            Action::Send { operation, .. } => format!(" ({})", **operation),
            Action::Receive(receive) => format!(" (receive {})", *receive.host),
            _ => String::new(),
        };
        let (number, expected) = (planned.number % SETUP_STEPS + 1, &finding.expected);
        let observed = finding.observed.lines().next().unwrap_or_default();
        self.stop = Some(Stop::StepFailed(format!(
            "step {number}{name} failed: expected {expected}, observed {observed}; later steps did not run"
        )));
    }

    /// Judges all answers of a step together.
    pub fn take_group(&mut self, planned: Planned<'p>, views: Vec<Value>) {
        if planned.step.expect_all.is_empty() || self.part != Part::Case {
            return;
        }
        let seen = Value::map([("answers", Value::Array(views.into()))]);
        self.scope.bind("answer", seen.clone());
        self.expectations(planned, 2, &seen, None);
    }

    /// Judges the answers of steps that ran concurrently, then all of them together.
    pub fn take_parallel(&mut self, planned: Planned<'p>, children: &[(Planned<'p>, Vec<Exchange>)]) {
        let mut views = Vec::new();
        for (child, exchanges) in children {
            if self.stop.as_ref().is_some_and(|stop| !matches!(stop, Stop::StepFailed(_))) {
                return;
            }
            self.take(*child, exchanges);
            let shown = exchanges.iter().filter(|exchange| exchange.is_message());
            views.extend(shown.map(|exchange| self.observe(exchange)));
        }
        if self.stop.as_ref().is_none_or(|stop| matches!(stop, Stop::StepFailed(_))) {
            self.take_group(planned, views);
            self.stop_after_failure(planned);
        }
    }

    pub(super) fn capture(&mut self, planned: Planned<'p>, captured: Vec<Vec<Value>>) {
        if self.stop.is_some() {
            return;
        }
        for ((name, path), mut values) in planned.step.capture.iter().zip(captured) {
            let value = match (&planned.step.over, values.pop()) {
                (None, Some(value)) => value,
                (Some(_), Some(last)) => {
                    values.push(last);
                    Value::Array(values.into())
                }
                (_, None) if self.part == Part::Probe => continue,
                (_, None) => {
                    let why = format!(
                        "the answer to step {} has no value at {path}, which later steps need",
                        planned.number + 1
                    );
                    return self.halt(Stop::NotAccepted(why));
                }
            };
            self.scope.bind(name, value);
        }
    }

    /// Keeps the messages that the target made in an exchange, for a step of the case that judges all of them. A message that
    /// is read repeatedly is kept once.
    fn note_made(&mut self, exchange: &Exchange, index: usize) {
        if self.part != Part::Case || !self.ready.case.sweeps_itself() {
            return;
        }
        let seen_in = self.context.observation_context(self.ready.transport);
        for message in self.context.plan.knowledge.protocol.emitted(exchange, &seen_in) {
            if self.made.len() < SWEPT_MESSAGES && !self.made.iter().any(|(_, made)| *made == message) {
                self.made.push((index, message));
            }
        }
    }

    /// Judges every message that the target made in the case so far.
    pub fn sweep_case(&mut self, planned: Planned<'p>) {
        if self.part != Part::Case || self.stop.is_some() {
            return;
        }
        let before: Vec<_> = self.tallies.values().map(|tally| (tally.held, tally.vacuous)).collect();
        let made = Messages::from(std::mem::take(&mut self.made));
        self.sweep_step(planned, &made);
        self.made = made.into_list();
        // As in a sweep of the run: a message that the expectation is not about says nothing where others are.
        for (tally, (held, vacuous)) in self.tallies.values_mut().zip(before) {
            if tally.held > held {
                tally.vacuous = vacuous;
            }
        }
        self.stop_after_failure(planned);
    }

    /// Judges every message that the target made in the run, since a requirement on a sender applies to each of them. Skips
    /// messages for which the assumptions of a step do not hold.
    pub fn sweep(&mut self, messages: &Messages) {
        self.bind();
        self.compile_for_run();
        for planned in self.ready.case.steps.iter().map(|step| Planned::own(step, false)) {
            self.sweep_step(planned, messages);
            if self.stop.is_some() {
                return;
            }
        }
        // Messages that cannot be read, such as one encrypted for another party, do not affect the others. A message that
        // decides nothing, such as one of a sender whose keys are unknown, leaves the requirement open.
        for tally in self.tallies.values_mut().filter(|tally| tally.held > 0) {
            tally.vacuous = 0;
        }
    }

    /// Evaluates the arguments of a sweep that do not depend on the message, once.
    fn compile_for_run(&mut self) {
        let protocol = self.context.plan.knowledge.protocol;
        let manifest = &self.context.plan.knowledge.manifest;
        for step in &self.ready.case.steps {
            for (list, expectations) in (0_u8..).zip(lists(step)).take(2) {
                for (position, expectation) in expectations.iter().enumerate() {
                    let argument = &expectation.argument;
                    if argument.constant().is_some()
                        || names(argument, "answer", [&manifest.bindings, &manifest.objects])
                    {
                        continue;
                    }
                    let argument = self.scope.render(argument, "expectation");
                    if let Some(check) = argument.ok().and_then(|value| compile(protocol, expectation, &value).ok()) {
                        self.of_run.push((step.number, list, position), check);
                    }
                }
            }
        }
    }

    fn sweep_step(&mut self, planned: Planned<'p>, messages: &Messages) {
        let list = messages.list();
        let lists = lists(planned.step);
        let all = |list: u8, is_known: &dyn Fn(ExpectationKey) -> bool| {
            (0..lists[usize::from(list)].len()).all(|position| is_known((planned.number, list, position)))
        };
        let is_fixed = |key| self.compiled.find(key).is_some();
        let is_known = |key| is_fixed(key) || self.of_run.find(key).is_some();
        let fixed_assumptions = all(0, &is_fixed);
        let reads_message = !(all(0, &is_known) && all(1, &is_known));
        let known = fixed_assumptions.then(|| {
            let mut holds = |position: usize, seen: &Value| self.assumed(planned, position, seen);
            messages.concerned(&planned.step.assume, &mut holds)
        });
        let positions: Box<dyn Iterator<Item = usize>> = match &known {
            Some(known) => Box::new(known.iter().copied()),
            None => Box::new(0..list.len()),
        };
        for (index, seen) in positions.map(|position| &list[position]) {
            if reads_message {
                self.scope.bind("answer", seen.clone());
            }
            let before = self.findings.len();
            let mut all = 0..planned.step.assume.len();
            if fixed_assumptions || all.all(|position| self.assumed(planned, position, seen)) {
                self.expectations(planned, 1, seen, Some(*index));
            }
            self.keep_few(before);
            if self.stop.is_some() {
                return;
            }
        }
    }

    /// Drops the findings from a position on of which there were enough before.
    fn keep_few(&mut self, from: usize) {
        let new = self.findings.split_off(from.min(self.findings.len()));
        for finding in new {
            let same =
                |kept: &&FindingRecord| kept.requirement == finding.requirement && kept.verdict == finding.verdict;
            if self.findings.iter().filter(same).count() < SWEPT_FINDINGS {
                self.findings.push(finding);
            }
        }
    }

    /// Whether the assumption of a step at a position holds for a message.
    fn assumed(&mut self, planned: Planned<'p>, position: usize, seen: &Value) -> bool {
        let key = (planned.number, 0, position);
        let outcome = self.look(&planned.step.assume[position], seen, Some(key));
        outcome.is_ok_and(|outcome| matches!(outcome, Outcome::Holds(_)))
    }

    /// Walks over recorded exchanges.
    pub fn replay(&mut self, exchanges: &[Exchange], stopped: Option<&str>) {
        // Earlier cases may have advanced the clock of the target.
        self.set_clock(exchanges.first().map_or(0, |exchange| exchange.clock_ms));
        let mut bound = self.part == Part::Probe;
        for planned in self.steps() {
            if !bound && planned.number < SETUP_STEPS {
                self.bind();
                bound = true;
            }
            if self.stop.is_some() {
                return;
            }
            let of = |number: usize| of_step(exchanges, number);
            let missing = |walk: &mut Self| {
                let why = stopped.unwrap_or("the record has no exchange for a step of the case").to_owned();
                // A target that answered until the time was up was asked, and is only too slow for so many steps.
                let answered = exchanges.iter().any(|exchange| exchange.received.ended == Ended::Complete);
                walk.halt(if stopped.is_some() && answered { Stop::NotAccepted(why) } else { Stop::Broken(why) });
            };
            match &planned.step.action {
                Action::Pause(_) => {}
                Action::Sweep => self.sweep_case(planned),
                Action::Parallel(children) => {
                    let group = !planned.step.expect_all.is_empty();
                    let children: Vec<_> = children
                        .iter()
                        .map(|step| {
                            let child = Planned::own(step, group);
                            (child, of(step.number).into_owned())
                        })
                        .collect();
                    if let Some((child, _)) = children.iter().find(|(_, exchanges)| exchanges.is_empty()) {
                        return match self.messages(*child) {
                            Err(stop) => self.halt(stop),
                            Ok(_) => missing(self),
                        };
                    }
                    self.take_parallel(planned, &children);
                }
                Action::Receive(_) => {
                    let own = of(planned.number);
                    if own.is_empty() {
                        return missing(self);
                    }
                    self.take(planned, &own);
                }
                Action::Send { .. } | Action::Request { .. } | Action::Advance { .. } => {
                    let own = of(planned.number);
                    let empty_list = own.is_empty() && self.items(planned).is_ok_and(|items| items.is_empty());
                    if own.is_empty() && !empty_list {
                        // A request that could not be built was not sent.
                        return match self.messages(planned) {
                            Err(stop) => self.halt(stop),
                            Ok(_) => missing(self),
                        };
                    }
                    self.take(planned, &own);
                }
            }
        }
    }

    /// Why the target rejected the messages of this walk, if it did.
    pub fn refused(&self) -> Option<String> {
        match self.stop.as_ref()? {
            Stop::StepFailed(_) => None,
            Stop::NotAccepted(why) | Stop::NoAnswer(why) | Stop::Broken(why) | Stop::Unsupported(why) => {
                Some(why.clone())
            }
        }
    }

    /// The values that its steps captured.
    pub fn captured(&self) -> BTreeMap<String, Value> {
        let captures = self.ready.case.steps.iter().flat_map(|step| &step.capture);
        captures.filter_map(|(name, _)| Some((name.value.clone(), self.scope.get(name)?.clone()))).collect()
    }

    /// The result of the walk.
    pub fn finish(self) -> Judged {
        let (stop_verdict, mut because, stop_reason) = match &self.stop {
            None => (None, String::new(), None),
            Some(Stop::StepFailed(why) | Stop::NotAccepted(why)) => (Some(Verdict::Inconclusive), why.clone(), None),
            Some(Stop::NoAnswer(why) | Stop::Broken(why)) => (Some(Verdict::Error), why.clone(), None),
            Some(Stop::Unsupported(why)) => (Some(Verdict::NotRun), why.clone(), Some(NotRun::NotClaimed)),
        };
        let outcomes: BTreeMap<String, Verdict> =
            self.tallies.iter().map(|(id, tally)| (id.to_string(), tally.outcome(stop_verdict))).collect();
        if because.is_empty()
            && outcomes.values().any(|verdict| *verdict == Verdict::Inconclusive)
            && let Some(why) = self.undecided
        {
            because = why;
        }
        let all_unrun = outcomes.values().all(|verdict| *verdict == Verdict::NotRun);
        let reason = all_unrun.then(|| stop_reason.unwrap_or(NotRun::NotExercised));
        if all_unrun && because.is_empty() {
            "the answers contained nothing to judge".clone_into(&mut because);
        }
        let mut readings: Vec<ReadingRecord> = Vec::with_capacity(self.readings.len());
        for (_, reading) in self.readings {
            if !readings.contains(&reading) {
                readings.push(reading);
            }
        }
        Judged { findings: self.findings, readings, edits: self.edits, outcomes, because, reason }
    }
}

/// The expectations of a list, each with its key.
fn keyed<'e>(
    planned: Planned<'_>,
    list: u8,
    expectations: &'e [Expectation],
) -> impl Iterator<Item = (ExpectationKey, &'e Expectation)> {
    expectations.iter().enumerate().map(move |(position, found)| ((planned.number, list, position), found))
}

/// Whether an expression uses a value by this name, also through shared bindings and objects.
fn names(expr: &Expr, name: &str, shared: [&Objects; 2]) -> bool {
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    let mut queue = vec![expr];
    while let Some(expr) = queue.pop() {
        let mut found = false;
        expr.visit(&mut |words, _| {
            for word in words.iter().map(|word| word.trim_start_matches('$')) {
                let root = word.split('/').next().unwrap_or_default();
                found |= root == name;
                let known = shared.iter().filter_map(|shared| shared.get_key_value(root));
                queue.extend(known.filter(|(root, _)| seen.insert(root)).map(|(_, expr)| expr));
            }
        });
        if found {
            return true;
        }
    }
    false
}

/// The exchanges of a step. They follow each other, unless steps ran concurrently.
fn of_step(exchanges: &[Exchange], number: usize) -> Cow<'_, [Exchange]> {
    let of_it = |exchange: &Exchange| exchange.step == number;
    let start = exchanges.iter().position(of_it).unwrap_or(exchanges.len());
    let rest = &exchanges[start..];
    let length = rest.iter().take_while(|exchange| of_it(exchange)).count();
    match rest[length..].iter().any(of_it) {
        false => Cow::Borrowed(&rest[..length]),
        true => Cow::Owned(rest.iter().filter(|exchange| of_it(exchange)).cloned().collect()),
    }
}

/// Evaluates an expectation on an observation.
pub(super) fn look(
    scope: &mut Scope<'_>,
    protocol: &dyn Protocol,
    expectation: &Expectation,
    seen: &Value,
) -> Result<Outcome, String> {
    let check = scope
        .render(&expectation.argument, "expectation")
        .map_err(|error| error.message)
        .and_then(|argument| compile(protocol, expectation, &argument).map_err(|error| error.message));
    match check {
        Ok(check) => Ok(check.check(seen)),
        // The argument depends on what the target answered.
        Err(why) if expectation.argument.constant().is_none() => {
            Ok(Outcome::Undecided(format!("the answers lack what the expectation compares with: {why}")))
        }
        Err(why) => Err(why),
    }
}

pub(super) fn bears_on(expectation: &Expectation, id: &RequirementId) -> bool {
    expectation.covers.is_empty() || expectation.covers.iter().any(|found| found.requirement == *id)
}
