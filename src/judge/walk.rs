//! A walk through one case: what to send next, and what the answers show.
//!
//! The engine walks while it sends, the judge walks over what was recorded; both see the same values, because everything
//! generated comes from the seed and everything captured from the exchanges.

use std::collections::{BTreeMap, BTreeSet};

use super::Context;
use super::tally::{Tallies, Tally};
use crate::edit::{Change, Edit, Stage};
use crate::exchange::{Encoded, Ended, Exchange, Transport};
use crate::matcher::{Mismatch, Outcome, Reading};
use crate::plan::{ReadyCase, SETUP_STEPS, compile, lists};
use crate::protocol::{Inputs, Message, MessageBody, build};
use crate::record::{EditRecord, FeatureState, FindingRecord, ReadingRecord};
use crate::suite::{Action, Case, Expectation, RequestBody, Setup, Step};
use crate::template::{Expr, RenderError, Scope, Seed};
use crate::value::{Path, Value};
use crate::verdict::{NotRun, Profile, Verdict};
use crate::wire::json::Layout;

/// Which part of a case is walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The case itself.
    Case,
    /// The case without its edits, up to the last step that has any.
    Twin,
    /// The steps that find out whether a feature is offered.
    Probe,
}

/// A step, as it is taken.
#[derive(Clone, Copy)]
pub struct Planned<'p> {
    /// The step.
    pub step: &'p Step,
    /// Its number among the exchanges.
    pub number: usize,
    /// For a set-up step, the binding that it is taken for.
    pub it: Option<&'p str>,
    /// Whether answers count only together, in an expectation of the group that it belongs to.
    pub in_group: bool,
}

/// Why a walk ends before its last step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// A step departed from what was expected, so that later ones would only follow from that.
    Departed,
    /// A prerequisite is missing at the target.
    NotAccepted(String),
    /// There was no answer.
    NoAnswer(String),
    /// The case cannot be put: a mistake in the suite, or the end of the run.
    Broken(String),
    /// The adapter does not offer an operation.
    Unsupported(String),
}

/// A walk through one case.
pub struct Walk<'p> {
    context: &'p Context<'p>,
    ready: &'p ReadyCase<'p>,
    part: Part,
    scope: Scope<'p>,
    tallies: Tallies<'p>,
    findings: Vec<FindingRecord>,
    readings: Vec<ReadingRecord>,
    edits: Vec<EditRecord>,
    stop: Option<Stop>,
    seen: usize,
}

/// What a walk found.
pub struct Judged {
    /// Departures.
    pub findings: Vec<FindingRecord>,
    /// Permitted readings that were seen.
    pub readings: Vec<ReadingRecord>,
    /// The edits in words.
    pub edits: Vec<EditRecord>,
    /// By requirement.
    pub outcomes: BTreeMap<String, Verdict>,
    /// Why it is not run, inconclusive or in error.
    pub because: String,
    /// Why it is not run.
    pub reason: Option<NotRun>,
}

impl<'p> Walk<'p> {
    /// A walk through `ready`, at its start.
    pub fn new(context: &'p Context<'p>, ready: &'p ReadyCase<'p>, part: Part) -> Self {
        let manifest = &context.plan.knowledge.manifest;
        let identity = Seed::new(context.facts.identity_seed).part(&ready.id);
        let seed = match part {
            Part::Case => identity.part("case"),
            Part::Twin => identity.part("twin"),
            Part::Probe => identity.part("probe"),
        };
        let scope = Scope::new(&manifest.objects, &manifest.bindings, seed, context.facts.clock);
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
            scope,
            tallies,
            findings: Vec::new(),
            readings: Vec::new(),
            edits: Vec::new(),
            stop: None,
            seen: 0,
        }
    }

    /// The set-up that the case needs, then its own steps; for a twin up to the last that has edits.
    pub fn steps(&self) -> Vec<Planned<'p>> {
        let context = self.context;
        let manifest = &context.plan.knowledge.manifest;
        let case = self.ready.case;
        let mut planned = Vec::new();
        let mut number = SETUP_STEPS;
        let uses = self.uses_with_setup(uses(self.context, case));
        for setup in manifest.setup.iter().filter(|setup| self.is_for_target(setup)) {
            let mut rounds: Vec<Option<&'p str>> = Vec::new();
            if setup.uses.is_empty() {
                rounds.push(None);
            } else {
                let used = setup.uses.iter().filter(|binding| uses.contains(binding.value.as_str()));
                // What the set-up itself captures has no value yet that it could be taken for.
                rounds.extend(
                    used.map(|binding| {
                        manifest.bindings.contains_key(&binding.value).then_some(binding.value.as_str())
                    }),
                );
            }
            for it in rounds {
                for step in &setup.steps {
                    planned.push(Planned { step, number, it, in_group: false });
                    number += 1;
                }
            }
        }
        let last_edited = case.steps.iter().rposition(Step::has_edits);
        let count = match (self.part, last_edited) {
            (Part::Twin, Some(last)) => last + 1,
            _ => case.steps.len(),
        };
        let own = case.steps.iter().take(count);
        planned.extend(own.map(|step| Planned { step, number: step.number, it: None, in_group: false }));
        planned
    }

    /// Whether a set-up is for this path and for what the target offers.
    fn is_for_target(&self, setup: &Setup) -> bool {
        let word = match self.ready.transport {
            Transport::Http => "endpoint",
            Transport::Adapter => "adapter",
        };
        let here = setup.reach.is_empty() || setup.reach.iter().any(|reach| reach.value == word);
        let state = |need: &str| self.context.features.state(self.ready.transport, need);
        // While features are being found out, a set-up that needs one cannot be relied on.
        let offered = match self.part {
            Part::Probe => setup.needs.is_empty(),
            Part::Case | Part::Twin => setup.needs.iter().all(|need| state(need) == FeatureState::Offered),
        };
        here && offered
    }

    /// What is used, with what the set-up for it uses in turn.
    fn uses_with_setup(&self, mut uses: BTreeSet<&'p str>) -> BTreeSet<&'p str> {
        let knowledge = self.context.plan.knowledge;
        // Later set-ups rest on earlier ones, so one round from the last to the first finds everything.
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

    /// Gives the names of the case their values. Called after the set-up steps.
    pub fn bind(&mut self) {
        for (name, expr) in &self.ready.case.bindings {
            match self.scope.render(expr, name) {
                Ok(value) => self.scope.bind(name, value),
                Err(error) => return self.break_off(&error),
            }
        }
    }

    fn break_off(&mut self, error: &RenderError) {
        let place = error.span.as_ref().map(|span| format!(" at {}", span.place())).unwrap_or_default();
        self.stop.get_or_insert(Stop::Broken(format!("the case cannot be put: {}{place}", error.message)));
    }

    /// Ends the walk.
    pub fn halt(&mut self, stop: Stop) {
        self.stop.get_or_insert(stop);
    }

    /// Why the walk has ended, if it has.
    pub fn stopped(&self) -> Option<&Stop> {
        self.stop.as_ref()
    }

    /// The elements that a step is taken for, or one nothing.
    fn items(&mut self, planned: Planned<'_>) -> Result<Vec<Value>, RenderError> {
        match &planned.step.over {
            None => Ok(vec![Value::Null]),
            Some(over) => match self.scope.render(over, &format!("step {}", planned.number))? {
                Value::Array(items) => Ok(items),
                other => Ok(vec![other]),
            },
        }
    }

    fn bind_round(&mut self, planned: Planned<'_>, index: usize, item: &Value) -> Result<(), RenderError> {
        self.scope.bind("index", Value::from(index as u64));
        if planned.step.over.is_some() {
            self.scope.bind("item", item.clone());
        }
        if let Some(it) = planned.it {
            let value = self.scope.lookup(it)?;
            self.scope.bind("it", value);
        }
        Ok(())
    }

    /// The messages of a step, one for each repetition over a list.
    ///
    /// # Errors
    ///
    /// [`Stop::Broken`] if the suite asks for what cannot be built.
    pub fn messages(&mut self, planned: Planned<'_>) -> Result<Vec<Encoded>, Stop> {
        let broken = |error: RenderError| {
            let place = error.span.as_ref().map(|span| format!(" at {}", span.place())).unwrap_or_default();
            Stop::Broken(format!("the case cannot be put: {}{place}", error.message))
        };
        let items = self.items(planned).map_err(broken)?;
        let mut messages = Vec::with_capacity(items.len());
        for (index, item) in items.iter().enumerate() {
            self.bind_round(planned, index, item).map_err(broken)?;
            messages.push(self.message(planned, index).map_err(|error| match error {
                Ok(error) => broken(error),
                Err(text) => Stop::Broken(format!("the case cannot be put: {text} at {}", planned.step.span.place())),
            })?);
        }
        Ok(messages)
    }

    fn message(&mut self, planned: Planned<'_>, index: usize) -> Result<Encoded, Result<RenderError, String>> {
        let stream = format!("step {} round {index}", planned.number);
        let protocol = self.context.plan.knowledge.protocol;
        match &planned.step.action {
            Action::Send { operation, with, headers, edits, layout } => {
                let found =
                    protocol.operation(operation).ok_or_else(|| Err(format!("no operation {}", **operation)))?;
                let mut inputs = Inputs::new();
                for (name, expr) in with {
                    let value = self.scope.render(expr, &format!("{stream} {}", **name)).map_err(Ok)?;
                    inputs.insert(name.value.clone(), value);
                }
                for input in found.inputs {
                    if let Some(default) = input.default
                        && !inputs.contains_key(input.name)
                        && self.scope.knows(default)
                    {
                        inputs.insert(input.name.to_owned(), self.scope.lookup(default).map_err(Ok)?);
                    }
                }
                let route = self.context.plan.target.routes.get(found.name);
                let mut message =
                    build(found, &inputs, self.ready.transport, route).map_err(|error| Err(error.to_string()))?;
                self.set_headers(&mut message, headers, &stream)?;
                let edits: &[Edit] = if self.part == Part::Twin { &[] } else { edits };
                self.encode(found.name, message, edits, *layout, &stream)
            }
            Action::Request { method, path, headers, body } => {
                let path = match self.scope.render(path, &format!("{stream} path")).map_err(Ok)? {
                    Value::Text(path) => path,
                    other => crate::wire::json::compact(&other),
                };
                let mut message = Message {
                    transport: Transport::Http,
                    method: method.clone(),
                    path,
                    headers: vec![("accept".to_owned(), "application/json".to_owned())],
                    body: MessageBody::None,
                };
                match body {
                    None => {}
                    Some(RequestBody::Value(expr)) => {
                        message.headers.push(("content-type".to_owned(), "application/json".to_owned()));
                        message.body =
                            MessageBody::Value(self.scope.render(expr, &format!("{stream} body")).map_err(Ok)?);
                    }
                    Some(RequestBody::Bytes(bytes)) => {
                        message.headers.push(("content-type".to_owned(), "application/json".to_owned()));
                        message.body = MessageBody::Bytes(bytes.clone());
                    }
                }
                self.set_headers(&mut message, headers, &stream)?;
                self.encode("request", message, &[], Layout::Compact, &stream)
            }
            Action::Parallel(_) | Action::Pause(_) => Err(Err("a step without a message".to_owned())),
        }
    }

    fn set_headers(
        &mut self,
        message: &mut Message,
        headers: &[(String, Expr)],
        stream: &str,
    ) -> Result<(), Result<RenderError, String>> {
        for (name, expr) in headers {
            let value = match self.scope.render(expr, &format!("{stream} header {name}")).map_err(Ok)? {
                Value::Text(text) => text,
                other => crate::wire::json::compact(&other),
            };
            set_header(&mut message.headers, name, Some(&value));
        }
        Ok(())
    }

    /// Edits, protects and encodes a message.
    fn encode(
        &mut self,
        operation: &str,
        mut message: Message,
        edits: &[Edit],
        layout: Layout,
        stream: &str,
    ) -> Result<Encoded, Result<RenderError, String>> {
        let protocol = self.context.plan.knowledge.protocol;
        for stage in [Stage::Built, Stage::Protected] {
            if stage == Stage::Protected
                && let Some(value) = payload(&mut message.body)
            {
                *value = protocol.protect(std::mem::replace(value, Value::Null));
            }
            for (position, edit) in edits.iter().enumerate().filter(|(_, edit)| edit.stage == stage) {
                if let Change::Header(name, value) = &edit.change {
                    set_header(&mut message.headers, name, value.as_deref());
                    continue;
                }
                let rendered = self.rendered(edit, position, stream).map_err(Ok)?;
                let edited =
                    match &mut message.body {
                        // A call without a document of its own is edited where it says the same as the body of a request.
                        MessageBody::Params { ready, payload: None } => {
                            let members = ready.drain(..).map(|(name, value)| (Value::Text(name), value)).collect();
                            let mut params = Value::Map(members);
                            let edited = edit.apply(&mut params, rendered);
                            ready.extend(params.as_map().into_iter().flatten().filter_map(|(name, value)| {
                                name.as_text().map(|name| (name.to_owned(), value.clone()))
                            }));
                            edited
                        }
                        body => {
                            let value = payload(body).ok_or_else(|| Err("there is no body to edit".to_owned()))?;
                            edit.apply(value, rendered)
                        }
                    };
                edited.map_err(|error| Err(error.to_string()))?;
            }
        }
        let mut encoded = Encoded {
            transport: message.transport,
            operation: operation.to_owned(),
            method: message.method,
            path: message.path,
            headers: message.headers,
            body: Vec::new(),
            params: Vec::new(),
            payload: None,
        };
        match message.body {
            MessageBody::None => {}
            MessageBody::Value(value) => encoded.body = protocol.encode(&value, layout),
            MessageBody::Bytes(bytes) => encoded.body = bytes,
            MessageBody::Params { ready, payload } => {
                encoded.params = ready;
                if let Some((name, value)) = payload {
                    encoded.body = protocol.encode(&value, layout);
                    encoded.payload = Some(name);
                }
            }
        }
        for edit in edits.iter().filter(|edit| edit.stage == Stage::Encoded) {
            edit.apply_to_bytes(&mut encoded.body).map_err(|error| Err(error.to_string()))?;
        }
        Ok(encoded)
    }

    fn rendered(&mut self, edit: &Edit, position: usize, stream: &str) -> Result<Option<Value>, RenderError> {
        edit.expr().map(|expr| self.scope.render(expr, &format!("{stream} edit {position}"))).transpose()
    }

    /// Whether every expectation of a step holds for an answer: what `until` waits for.
    pub fn holds(&mut self, planned: Planned<'_>, exchange: &Exchange) -> bool {
        let seen = self.observe(exchange);
        self.scope.bind("answer", seen.clone());
        let step = planned.step;
        step.assume.iter().chain(&step.expect).all(|expectation| {
            self.look(expectation, &seen, None).is_ok_and(|outcome| matches!(outcome, Outcome::Holds(_)))
        })
    }

    /// Whether there are expectations, and all of them hold for an answer.
    pub fn shows(&mut self, expectations: &[Expectation], exchange: &Exchange) -> bool {
        let seen = self.observe(exchange);
        self.scope.bind("answer", seen.clone());
        !expectations.is_empty()
            && expectations.iter().all(|expectation| {
                self.look(expectation, &seen, None).is_ok_and(|outcome| matches!(outcome, Outcome::Holds(_)))
            })
    }

    fn observe(&self, exchange: &Exchange) -> Value {
        let plan = self.context.plan;
        plan.knowledge.protocol.observe(exchange, plan.target, self.context.facts.clock)
    }

    fn look(
        &mut self,
        expectation: &Expectation,
        seen: &Value,
        key: Option<crate::plan::ExpectationKey>,
    ) -> Result<Outcome, String> {
        if let Some(check) = key.and_then(|key| self.ready.compiled(key)) {
            return Ok(check.check(seen));
        }
        let argument = self.scope.render(&expectation.argument, "expectation").map_err(|error| error.message)?;
        let protocol = self.context.plan.knowledge.protocol;
        let check = compile(protocol, expectation, &argument).map_err(|error| error.message)?;
        Ok(check.check(seen))
    }

    /// Looks at the answers of a step, and takes what it captures.
    pub fn take(&mut self, planned: Planned<'p>, exchanges: &[Exchange]) {
        let first = self.seen;
        self.seen += exchanges.len();
        let step = planned.step;
        self.note_edits(planned);
        let Ok(items) = self.items(planned) else { return };
        let mut views = Vec::with_capacity(exchanges.len());
        let mut captured: Vec<Vec<Value>> = vec![Vec::new(); step.capture.len()];
        let judged_from = if step.until.is_some() { exchanges.len().saturating_sub(1) } else { 0 };
        for (position, exchange) in exchanges.iter().enumerate() {
            let item = items.get(exchange.round).unwrap_or(&Value::Null);
            if let Err(error) = self.bind_round(planned, exchange.round, item) {
                return self.break_off(&error);
            }
            let seen = self.observe(exchange);
            self.scope.bind("answer", seen.clone());
            if position >= judged_from {
                self.judge(planned, exchange, &seen, first + position);
            }
            for ((_, path), values) in step.capture.iter().zip(&mut captured) {
                values.extend(path.resolve(&seen).cloned());
            }
            views.push(seen);
            if matches!(
                self.stop,
                Some(Stop::NoAnswer(_) | Stop::NotAccepted(_) | Stop::Broken(_) | Stop::Unsupported(_))
            ) {
                return;
            }
        }
        self.take_group(planned, views);
        self.capture(planned, captured);
        if self.part == Part::Case && self.findings.iter().any(|finding| finding.verdict == Verdict::Fail) {
            self.stop.get_or_insert(Stop::Departed);
        }
    }

    /// Looks at all answers of a step together.
    pub fn take_group(&mut self, planned: Planned<'p>, views: Vec<Value>) {
        if planned.step.expect_all.is_empty() || self.part != Part::Case {
            return;
        }
        let seen = Value::map([("answers", Value::Array(views))]);
        self.scope.bind("answer", seen.clone());
        self.expectations(planned, 2, &seen, None);
    }

    /// Looks at the answers of steps that were taken side by side, then at all of them together.
    pub fn take_parallel(&mut self, planned: Planned<'p>, children: &[(Planned<'p>, Vec<Exchange>)]) {
        let mut views = Vec::new();
        for (child, exchanges) in children {
            if self.stop.as_ref().is_some_and(|stop| *stop != Stop::Departed) {
                return;
            }
            self.take(*child, exchanges);
            views.extend(exchanges.iter().map(|exchange| self.observe(exchange)));
        }
        if self.stop.as_ref().is_none_or(|stop| *stop == Stop::Departed) {
            self.take_group(planned, views);
            if self.part == Part::Case && self.findings.iter().any(|finding| finding.verdict == Verdict::Fail) {
                self.stop.get_or_insert(Stop::Departed);
            }
        }
    }

    fn capture(&mut self, planned: Planned<'p>, captured: Vec<Vec<Value>>) {
        if self.stop.is_some() {
            return;
        }
        for ((name, path), mut values) in planned.step.capture.iter().zip(captured) {
            let value = match (&planned.step.over, values.pop()) {
                (None, Some(value)) => value,
                (Some(_), Some(last)) => {
                    values.push(last);
                    Value::Array(values)
                }
                (_, None) if self.part == Part::Probe => continue,
                (_, None) => {
                    let why = format!(
                        "the answer to step {} has nothing at {path}, which later steps need",
                        planned.number + 1
                    );
                    return self.halt(Stop::NotAccepted(why));
                }
            };
            self.scope.bind(name, value);
        }
    }

    fn note_edits(&mut self, planned: Planned<'p>) {
        if let (Action::Send { edits, .. }, Part::Case) = (&planned.step.action, self.part) {
            for (position, edit) in edits.iter().enumerate() {
                let stream = format!("step {} round 0", planned.number);
                let rendered = self.rendered(edit, position, &stream).ok().flatten();
                let words = edit.describe(rendered.as_ref());
                self.edits.push(EditRecord { step: planned.number, edit: words });
            }
        }
    }

    fn judge(&mut self, planned: Planned<'p>, exchange: &Exchange, seen: &Value, index: usize) {
        let step = planned.step;
        let edited = self.part == Part::Case && step.has_edits();
        let name = || format!("step {} ({})", planned.number % SETUP_STEPS + 1, exchange.operation);
        let no_answer = match &exchange.received.ended {
            Ended::Complete | Ended::TooLong => None,
            Ended::TimedOut => Some("the time limit passed before an answer".to_owned()),
            Ended::Closed(why) => Some(format!("the connection closed before an answer: {why}")),
            Ended::Unreachable(why) => Some(format!("there is no connection: {why}")),
        };
        if let Some(why) = no_answer {
            if edited && matches!(exchange.received.ended, Ended::Closed(_)) {
                // The twin tells whether the target answers at all; if it does, the edits made it break off.
                for expectation in step.expect.iter().enumerate() {
                    let mismatch =
                        Mismatch { path: Path::default(), expected: "an answer".into(), observed: why.clone() };
                    self.depart(planned, 1, expectation, &mismatch, Some(index));
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
            return;
        }
        let must_accept = match (&step.action, self.part) {
            (Action::Send { .. }, Part::Twin) => step.has_edits() || (step.expect.is_empty() && !planned.in_group),
            (Action::Send { edits, .. }, _) => {
                step.expect.is_empty() && step.expect_all.is_empty() && edits.is_empty() && !planned.in_group
            }
            _ => false,
        };
        if must_accept && !self.accepted(planned, seen) {
            if step.optional {
                return;
            }
            let status = seen.member("status").map_or_else(|| "no status".to_owned(), crate::wire::show);
            return self.halt(Stop::NotAccepted(format!("{} was not accepted: status {status}", name())));
        }
        for expectation in &step.assume {
            match self.look(expectation, seen, None) {
                Ok(Outcome::Holds(_)) => {}
                Ok(Outcome::Departs(mismatch)) => {
                    let why = format!(
                        "{} does not allow the question: expected {} at {}, observed {}",
                        name(),
                        mismatch.expected,
                        mismatch.path,
                        mismatch.observed
                    );
                    return self.halt(Stop::NotAccepted(why));
                }
                Ok(Outcome::Vacuous(why)) => return self.halt(Stop::NotAccepted(format!("{}: {why}", name()))),
                Err(error) => return self.halt(Stop::Broken(format!("{}: {error}", expectation.span.place()))),
            }
        }
        if self.part == Part::Case {
            self.expectations(planned, 1, seen, Some(index));
        }
    }

    fn accepted(&self, planned: Planned<'_>, seen: &Value) -> bool {
        let Action::Send { operation, .. } = &planned.step.action else { return true };
        let status = seen.member("status").and_then(Value::as_integer).and_then(|status| u16::try_from(status).ok());
        let operation = self.context.plan.knowledge.protocol.operation(operation);
        operation.zip(status).is_some_and(|(operation, status)| operation.accepts(status))
    }

    /// Looks at the expectations of list 1 (each answer) or 2 (all answers).
    fn expectations(&mut self, planned: Planned<'p>, list: u8, seen: &Value, exchange: Option<usize>) {
        let step = planned.step;
        let expectations = lists(step)[usize::from(list)];
        for (position, expectation) in expectations.iter().enumerate() {
            let key = (planned.number, list, position);
            let outcome = match self.look(expectation, seen, Some(key)) {
                Ok(outcome) => outcome,
                Err(error) => return self.halt(Stop::Broken(format!("{}: {error}", expectation.span.place()))),
            };
            let strict_only = expectation.strict_only || self.ready.case.strict_only;
            for id in self.bearing(expectation) {
                if let Some(tally) = self.tallies.get_mut(id) {
                    tally.looked_at.insert(key);
                    match &outcome {
                        Outcome::Holds(_) => tally.held += 1,
                        Outcome::Vacuous(_) => tally.vacuous += 1,
                        Outcome::Departs(_) => {}
                    }
                }
            }
            match outcome {
                Outcome::Departs(mismatch) => {
                    self.depart(planned, list, (position, expectation), &mismatch, exchange);
                }
                Outcome::Holds(readings) => self.note_readings(planned, expectation, readings, strict_only, exchange),
                Outcome::Vacuous(_) => {}
            }
        }
    }

    fn note_readings(
        &mut self,
        _planned: Planned<'_>,
        expectation: &'p Expectation,
        readings: Vec<Reading>,
        strict_only: bool,
        exchange: Option<usize>,
    ) {
        for Reading { reading, tolerated } in readings {
            let at = expectation.span.place();
            if tolerated {
                let expected = "the reading that the errata rule".to_owned();
                let mismatch = Mismatch { path: expectation.at.value.clone(), expected, observed: reading.clone() };
                let verdict = match self.context.facts.profile {
                    Profile::Lenient => Verdict::Warn,
                    Profile::Strict => Verdict::Fail,
                };
                self.find(expectation, verdict, &mismatch, strict_only || tolerated, exchange);
            }
            let seen = ReadingRecord { reading, tolerated, at };
            if !self.readings.contains(&seen) {
                self.readings.push(seen);
            }
        }
    }

    fn depart(
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

    fn bearing(&self, expectation: &Expectation) -> Vec<&'p str> {
        self.ready.covers.iter().copied().filter(|id| bears_on(expectation, id)).collect()
    }

    /// Notes a departure for each requirement that the expectation bears on, weighed by the requirement's keyword.
    fn find(
        &mut self,
        expectation: &'p Expectation,
        verdict: Verdict,
        mismatch: &Mismatch,
        strict_only: bool,
        exchange: Option<usize>,
    ) {
        for id in self.bearing(expectation) {
            let advice = self.context.plan.knowledge.catalogue.find(id).is_some_and(|found| found.keyword.is_advice());
            let weighed = match self.context.facts.profile {
                Profile::Lenient if advice => Verdict::Warn,
                _ => verdict,
            };
            if let Some(tally) = self.tallies.get_mut(id) {
                tally.depart(weighed);
            }
            let finding = FindingRecord {
                requirement: id.to_owned(),
                verdict: weighed,
                expected: mismatch.expected.clone(),
                observed: mismatch.observed.clone(),
                path: mismatch.path.to_string(),
                exchange,
                at: expectation.span.place(),
                strict_only,
                note: expectation.note.clone(),
            };
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }

    /// Walks over what was recorded.
    pub fn replay(&mut self, exchanges: &[Exchange], stopped: Option<&str>) {
        let mut bound = self.part == Part::Probe;
        for planned in self.steps() {
            if !bound && planned.number < SETUP_STEPS {
                self.bind();
                bound = true;
            }
            if self.stop.is_some() {
                return;
            }
            let of = |number: usize| exchanges.iter().filter(|e| e.step == number).cloned().collect::<Vec<_>>();
            let missing = |walk: &mut Self| {
                let why = stopped.unwrap_or("the record has no exchange for a step of the case");
                walk.halt(Stop::Broken(why.to_owned()));
            };
            match &planned.step.action {
                Action::Pause(_) => {}
                Action::Parallel(children) => {
                    let group = !planned.step.expect_all.is_empty();
                    let children: Vec<_> = children
                        .iter()
                        .map(|step| {
                            let child = Planned { step, number: step.number, it: None, in_group: group };
                            (child, of(step.number))
                        })
                        .collect();
                    if children.iter().any(|(_, exchanges)| exchanges.is_empty()) {
                        return missing(self);
                    }
                    self.take_parallel(planned, &children);
                }
                Action::Send { .. } | Action::Request { .. } => {
                    let own = of(planned.number);
                    let empty_list = own.is_empty() && self.items(planned).is_ok_and(|items| items.is_empty());
                    if own.is_empty() && !empty_list {
                        return missing(self);
                    }
                    self.take(planned, &own);
                }
            }
        }
    }

    /// Why the target did not accept what this walk put to it, if it did not.
    pub fn refused(&self) -> Option<String> {
        match self.stop.as_ref()? {
            Stop::Departed => None,
            Stop::NotAccepted(why) | Stop::NoAnswer(why) | Stop::Broken(why) | Stop::Unsupported(why) => {
                Some(why.clone())
            }
        }
    }

    /// What the walk found.
    pub fn finish(self) -> Judged {
        let (stop_verdict, mut because, stop_reason) = match &self.stop {
            None => (None, String::new(), None),
            Some(Stop::Departed) => (
                Some(Verdict::Inconclusive),
                "a step departed from what was expected; the later ones were not taken".to_owned(),
                None,
            ),
            Some(Stop::NotAccepted(why)) => (Some(Verdict::Inconclusive), why.clone(), None),
            Some(Stop::NoAnswer(why) | Stop::Broken(why)) => (Some(Verdict::Error), why.clone(), None),
            Some(Stop::Unsupported(why)) => (Some(Verdict::NotRun), why.clone(), Some(NotRun::NotClaimed)),
        };
        let outcomes: BTreeMap<String, Verdict> =
            self.tallies.iter().map(|(id, tally)| ((*id).to_owned(), tally.outcome(stop_verdict))).collect();
        let all_unrun = outcomes.values().all(|verdict| *verdict == Verdict::NotRun);
        let reason = all_unrun.then(|| stop_reason.unwrap_or(NotRun::NotExercised));
        if all_unrun && because.is_empty() {
            "the answers held nothing to judge".clone_into(&mut because);
        }
        Judged { findings: self.findings, readings: self.readings, edits: self.edits, outcomes, because, reason }
    }
}

fn payload(body: &mut MessageBody) -> Option<&mut Value> {
    match body {
        MessageBody::Value(value) => Some(value),
        MessageBody::Params { payload, .. } => payload.as_mut().map(|(_, value)| value),
        MessageBody::None | MessageBody::Bytes(_) => None,
    }
}

fn set_header(headers: &mut Vec<(String, String)>, name: &str, value: Option<&str>) {
    headers.retain(|(key, _)| !key.eq_ignore_ascii_case(name));
    if let Some(value) = value {
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
}

fn bears_on(expectation: &Expectation, id: &str) -> bool {
    expectation.requirements.is_empty() || expectation.requirements.iter().any(|found| found.value == id)
}

/// The shared bindings that a case asks for, by name or as the default of an input.
fn uses<'p>(context: &'p Context<'p>, case: &'p Case) -> BTreeSet<&'p str> {
    let manifest = &context.plan.knowledge.manifest;
    let mut names: BTreeSet<&'p str> = BTreeSet::new();
    let mut queue: Vec<&'p Expr> = case.bindings.iter().map(|(_, expr)| expr).collect();
    for step in case.all_steps() {
        queue.extend(&step.over);
        queue.extend(step.expectations().map(|expectation| &expectation.argument));
        match &step.action {
            Action::Send { operation, with, headers, edits, .. } => {
                queue.extend(with.iter().map(|(_, expr)| expr));
                queue.extend(headers.iter().map(|(_, expr)| expr));
                queue.extend(edits.iter().filter_map(Edit::expr));
                if let Some(found) = context.plan.knowledge.protocol.operation(operation) {
                    let given = |name: &str| with.iter().any(|(given, _)| given.value == name);
                    let defaults =
                        found.inputs.iter().filter(|input| !given(input.name)).filter_map(|input| input.default);
                    for name in defaults {
                        if names.insert(name) {
                            queue.extend(manifest.bindings.get(name));
                        }
                    }
                }
            }
            Action::Request { path, headers, body, .. } => {
                queue.push(path);
                queue.extend(headers.iter().map(|(_, expr)| expr));
                if let Some(RequestBody::Value(expr)) = body {
                    queue.push(expr);
                }
            }
            Action::Parallel(_) | Action::Pause(_) => {}
        }
    }
    while let Some(expr) = queue.pop() {
        let mut found: Vec<&'p str> = Vec::new();
        expr.visit(&mut |words, _| {
            for word in words {
                let name = word.trim_start_matches('$');
                found.push(name.split('/').next().unwrap_or(name));
            }
        });
        for name in found {
            if names.insert(name) {
                queue.extend(manifest.bindings.get(name).or_else(|| manifest.objects.get(name)));
            }
        }
    }
    names
}
