//! A small protocol for the tests of the judge. What its targets answer is written as exchanges.

use crate::bundle::Bundle;
use crate::exchange::testing::exchange;
use crate::exchange::{Body, Ended, Exchange, Incoming, Transport};
use crate::plan::{Knowledge, PROBE_STEPS, Plan, ReadyCase, Selection, build, load};
use crate::protocol::{BodyPlan, Diagnosis, Failure, Input, ObservationContext, Operation, Protocol, Route, base_view};
use crate::record::{CaseRecord, ProtocolRecord};
use crate::suite::Action;
use crate::target::Target;
use crate::template::Clock;
use crate::value::Value;
use crate::verdict::Profile;
use crate::walk::{CaseTranscript, Context, Facts, Features, Transcript};
use crate::wire::json;

const FACTS: Facts = Facts { seed: 1, identity_seed: 1, clock: Clock(0), profile: Profile::Lenient };

/// Its targets name their mistakes themselves, in header fields. The items of a list in an answer are its messages.
struct Toy;

static OPERATIONS: &[Operation] = &[operation("get", ""), operation("list", ""), operation("put", "L1")];

const fn operation(name: &'static str, level: &'static str) -> Operation {
    Operation {
        name,
        summary: "Sends an item.",
        level,
        inputs: &[Input { name: "item", required: false, default: None }],
        route: Some(Route {
            base: None,
            method: "POST",
            path: "/",
            query: &[],
            headers: &[],
            body: BodyPlan::Input("item"),
            summons: false,
        }),
        channel: None,
        tree: None,
        method: None,
        accepted: &[(200, 299)],
    }
}

impl Protocol for Toy {
    fn slug(&self) -> &'static str {
        "toy"
    }

    fn operations(&self) -> &'static [Operation] {
        OPERATIONS
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Ws]
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        base_view(exchange, context.target, context.clock)
    }

    fn emitted(&self, exchange: &Exchange, _: &ObservationContext<'_>) -> Vec<Value> {
        let body = json::parse(&exchange.received.body.0).ok();
        body.as_ref().and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default()
    }

    fn diagnosis(&self) -> Option<&dyn Diagnosis> {
        Some(self)
    }
}

impl Diagnosis for Toy {
    fn mistakes(&self, failure: &Failure<'_>) -> Vec<String> {
        failure.exchange.received.header("mistake").map(str::to_owned).into_iter().collect()
    }

    fn explains(&self, mistake: &str, failure: &Failure<'_>) -> bool {
        failure.exchange.received.header("explained-by") == Some(mistake)
    }
}

/// The protocol with more lines of a manifest, these requirements (id, then keyword, level and so on) and these cases.
pub(super) fn knowledge(manifest: &str, requirements: &[(&str, &str)], cases: &str) -> Knowledge {
    let levels = "[{ name: L0 }, { name: L1, includes: [L0] }]";
    let manifest = format!("protocol: toy\nlevels: {levels}\nclaims: {{ default: [L0] }}\n{manifest}");
    let mut catalogue = "protocol: toy\nspec: s\nrequirements:\n".to_owned();
    for (id, rest) in requirements {
        catalogue.push_str(&format!("  - {{ id: {id}, section: '1', role: server, summary: s, keyword: {rest} }}\n"));
    }
    let bundle = Bundle::default()
        .with_file("suites/toy/protocol.yaml", &manifest)
        .with_file("suites/toy/requirements.yaml", &catalogue)
        .with_file("suites/toy/area.yaml", &format!("suite: toy/area\ncases:\n{cases}"));
    load(&Toy, &bundle).unwrap_or_else(|error| panic!("{error:?}"))
}

/// A feature of the manifest: the answer to the operation `probe` has status 200 if it is offered, 404 if it is absent.
pub(super) fn feature(name: &str, probe: &str, rest: &str) -> String {
    let states = "offered: [{ at: /status, equals: 200 }], missing: [{ at: /status, equals: 404 }]";
    format!("  - {{ feature: {name}, about: It is {name}., {rest}, probe: [{{ send: {probe} }}], {states} }}\n")
}

/// A case of the operation `get`, whose answer must have status 200.
pub(super) fn getting(name: &str, rest: &str) -> String {
    format!("  - {{ case: {name}, {rest}, steps: [{{ send: get, expect: [{{ at: /status, equals: 200 }}] }}] }}\n")
}

/// A target that is reached over these transports.
pub(super) fn target(transports: &[Transport]) -> Target {
    let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
    target.ws = Some("ws://127.0.0.1:1/".parse().expect("a URL"));
    target.transports = Some(transports.to_vec());
    target
}

/// A message that was answered with this status and an empty list.
pub(super) fn answer(transport: Transport, step: usize, status: u16) -> Exchange {
    let body = Body::from(b"[]".to_vec());
    let received = Incoming { status: Some(status), body, ..Incoming::nothing(Ended::Complete) };
    Exchange { operation: "get".to_owned(), ..exchange(step, transport, received) }
}

/// A case each of whose messages was answered with this status.
pub(super) fn answered(ready: &ReadyCase<'_>, status: u16) -> CaseTranscript {
    let steps = ready.case.all_steps().into_iter().filter(|step| matches!(step.action, Action::Send { .. }));
    let exchanges = steps.map(|step| answer(ready.transport, step.number, status)).collect();
    CaseTranscript { exchanges, ..CaseTranscript::default() }
}

/// The probes of the features over a transport, by the status of the answers; `None` for a feature that was not probed.
pub(super) fn probed(transport: Transport, statuses: &[Option<u16>]) -> (Transport, Vec<Exchange>) {
    let statuses = statuses.iter().enumerate();
    let exchanges = statuses.filter_map(|(index, status)| Some(answer(transport, index * PROBE_STEPS, (*status)?)));
    (transport, exchanges.collect())
}

/// The context in which a transcript is judged.
pub(super) fn context<'p>(plan: &'p Plan<'p>, transcript: &Transcript) -> Context<'p> {
    Context { plan, facts: FACTS, features: Features::read(plan, FACTS, transcript) }
}

/// A run against a target.
pub(super) struct Run<'k> {
    pub(super) knowledge: &'k Knowledge,
    pub(super) target: Target,
    pub(super) selection: Selection,
    pub(super) profile: Profile,
    pub(super) probes: Vec<(Transport, Vec<Exchange>)>,
}

impl<'k> Run<'k> {
    /// A run of all cases over these transports, without features.
    pub(super) fn new(knowledge: &'k Knowledge, transports: &[Transport]) -> Self {
        let (target, selection) = (target(transports), Selection::default());
        Self { knowledge, target, selection, profile: Profile::Lenient, probes: Vec::new() }
    }

    /// Judges what the cases were answered; `None` for a case that was not sent.
    pub(super) fn judge(&self, answers: impl Fn(&ReadyCase<'_>) -> Option<CaseTranscript>) -> ProtocolRecord {
        let plan = build(self.knowledge, &self.target, &self.selection);
        let cases = plan.cases.iter().map(answers).collect();
        let transcript = Transcript { probes: self.probes.clone(), cases, ..Transcript::default() };
        let facts = Facts { profile: self.profile, ..FACTS };
        let features = Features::read(&plan, facts, &transcript);
        super::protocol(&Context { plan: &plan, facts, features }, &transcript)
    }
}

/// The case with this name, which ends with the suffix of its transport if it ran over several.
pub(super) fn found<'r>(record: &'r ProtocolRecord, name: &str) -> &'r CaseRecord {
    let id = format!("toy/area#{name}");
    record.cases.iter().find(|case| case.id == id).unwrap_or_else(|| panic!("no {id}"))
}
