//! Walks over answers that the tests write themselves, with a protocol of their own: no network.

mod hosts;
mod judging;
mod library;
mod messages;
mod probes;
mod readiness;
mod stepping;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::parts::{Judged, Part, Planned};
use super::{Context, Facts, Features, Walk};
use crate::bundle::Bundle;
use crate::exchange::{Arrival, ArrivalKind, Body, Ended, Exchange, Incoming, Transport, testing};
use crate::plan::{self, Knowledge, Plan, ReadyCase, Selection};
use crate::protocol::{
    BodyPlan, Channel, ChannelPlan, Input, Inputs, Method, ObservationContext, Operation, Oracle, Param, Protocol,
    Route, Security, base_view,
};
use crate::record::FeatureState;
use crate::source::Source;
use crate::suite::read_suite;
use crate::target::{ChannelProfile, Target};
use crate::template::Clock;
use crate::value::Value;
use crate::verdict::{Profile, Verdict};
use crate::wire::json;

/// The protocol of the tests: a desk at which things are put. What is sent is sealed; a message with `expires` expires so many
/// milliseconds after the start of the run; an answer lists under `made` what the desk has made.
struct Desk;

const fn operation(name: &'static str, inputs: &'static [Input], body: BodyPlan) -> Operation {
    Operation {
        name,
        summary: "Something at the desk.",
        level: "",
        inputs,
        route: Some(Route { base: None, method: "POST", path: "/", query: &[], headers: &[], body, summons: false }),
        channel: None,
        tree: None,
        method: None,
        accepted: &[(200, 299)],
    }
}

static OPERATIONS: &[Operation] = &[
    Operation {
        channel: Some(ChannelPlan::Message("body")),
        method: Some(Method { name: "put", params: &[("body", Param::Encoded("body"))] }),
        ..operation("put", &[Input { name: "body", required: true, default: None }], BodyPlan::Input("body"))
    },
    Operation { method: Some(Method { name: "open", params: &[] }), ..operation("open", &[], BodyPlan::None) },
    Operation {
        method: Some(Method { name: "light", params: &[("drawer", Param::Input("drawer"))] }),
        ..operation(
            "light",
            &[Input { name: "drawer", required: true, default: Some("drawer") }],
            BodyPlan::Object(&[("drawer", "drawer")]),
        )
    },
    operation(
        "ask",
        &[Input { name: "lamp", required: false, default: Some("lamp") }],
        BodyPlan::Object(&[("lamp", "lamp")]),
    ),
    Operation {
        method: Some(Method { name: "tick", params: &[("ms", Param::Input("ms"))] }),
        ..operation("tick", &[Input { name: "ms", required: true, default: None }], BodyPlan::Object(&[("ms", "ms")]))
    },
];

impl Protocol for Desk {
    fn slug(&self) -> &'static str {
        "desk"
    }

    fn operations(&self) -> &'static [Operation] {
        OPERATIONS
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Ws, Transport::Adapter]
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        let mut view = base_view(exchange, context.target, context.clock);
        let answer = json::parse(&exchange.received.body.0).ok();
        if let Some(code) = answer.as_ref().and_then(|answer| answer.member("error")?.member("code")) {
            view.set_member("code", code.clone());
        }
        view.set_member("arrived", Value::from(exchange.received.arrived.len() as u64));
        view
    }

    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        let number = |name: &str| seen.member(name).and_then(Value::as_integer);
        match number("status").and_then(|status| u16::try_from(status).ok()) {
            Some(status) => operation.accepts(status),
            None => number("arrived") > Some(0),
        }
    }

    fn emitted(&self, exchange: &Exchange, _: &ObservationContext<'_>) -> Vec<Value> {
        let body = json::parse(&exchange.received.body.0).ok();
        let made = body.as_ref().and_then(|body| body.member("made")).and_then(Value::as_array);
        made.unwrap_or_default().to_vec()
    }

    fn channel(&self) -> Option<&dyn Channel> {
        Some(self)
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self)
    }

    fn security(&self) -> Option<&dyn Security> {
        Some(self)
    }
}

impl Channel for Desk {
    fn profile(&self, _: &Target) -> ChannelProfile {
        ChannelProfile::default()
    }
}

impl Oracle for Desk {
    fn expires_ms(&self, exchange: &Exchange) -> Option<i128> {
        json::parse(&exchange.sent.body.0).ok()?.member("expires")?.as_integer()
    }
}

impl Security for Desk {
    fn protect(&self, _: &Operation, mut body: Value, _: &Inputs, _: &ObservationContext<'_>) -> Result<Value, String> {
        body.set_member("sealed", Value::Bool(true));
        Ok(body)
    }

    fn header_fields(
        &self,
        _: &Operation,
        _: Option<&Value>,
        _: &Inputs,
        _: &ObservationContext<'_>,
    ) -> Vec<(String, String)> {
        vec![("x-seal".to_owned(), "wax".to_owned())]
    }
}

const MANIFEST: &str = "
protocol: desk
levels: [{ name: L0 }]
claims: { default: L0 }
let: { tag: 'tag-${hex 8}' }
hosts: [{ host: in, about: messages of the desk, path: /in }, { host: out, about: other messages, path: /out }]
clock: [{ runs-on: [http], step: { send: tick, with: { ms: '${advance_ms}' } } }]
setup:
  - { for-each-actor: true, runs-on: [ws], steps: [{ send: put, with: { body: { hello: '${actor}', n: '${hex 8}' } } }] }
  - for-each-binding: [drawer]
    steps: [{ send: open, capture: { drawer: /body/drawer } }]
    cleanup: [{ send: put, with: { body: { close: '${drawer}' } } }]
  - { for-each-binding: [lamp], steps: [{ send: light, capture: { lamp: /body/lamp } }] }
  - { needs: [bell], steps: [{ send: put, with: { body: bell } }] }
  - { needs: [badge], steps: [{ send: tick, with: { ms: 1 } }] }
features:
  - { feature: whole, about: all of it, if-missing: run, probe: [{ send: ask }], offered: [{ at: /status, equals: 200 }] }
  - { feature: badge, about: what only a target file can say, if-missing: not-claimed }
  - { feature: bell, about: a bell, if-missing: not-claimed, probe: [{ send: ask }], offered: [{ at: /status, equals: 200 }] }
";

const CATALOGUE: &str = "
protocol: desk
spec: s
requirements:
  - { id: DESK-1, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both, check: c }
  - { id: DESK-2, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both, check: c }
  - { id: DESK-3, section: '1', keyword: SHOULD, level: L0, role: server, summary: s, testable: both, check: c }
";

/// A case called `case` that covers DESK-1, unless it says what it covers.
fn knowledge(case: &str) -> Knowledge {
    knowledge_in(MANIFEST, case)
}

fn knowledge_in(manifest: &str, case: &str) -> Knowledge {
    let covers = if case.contains("covers: [DESK-1, DESK-2]\n") { "" } else { "covers: [DESK-1]\n    " };
    let suite = format!("suite: desk/area\ncases:\n  - case: case\n    {covers}{case}\n");
    // A case that expects nothing is a mistake in a suite, and what some of these tests are about.
    let is_sound = case.contains("expect");
    let stand_in = "suite: desk/area\ncases: [{ case: case, covers: [DESK-1], \
                    steps: [{ send: ask, expect: [{ at: /status, equals: 200 }] }] }]";
    let sound = if is_sound { suite.as_str() } else { stand_in };
    let files = [
        ("suites/desk/protocol.yaml", manifest),
        ("suites/desk/requirements.yaml", CATALOGUE),
        ("suites/desk/area.yaml", sound),
    ];
    let mut knowledge = plan::load(&Desk, &Bundle::new(&files)).unwrap_or_else(|error| panic!("{error:?}"));
    if !is_sound {
        let source = Source { name: "area.yaml".to_owned(), text: suite.into() };
        let suite = read_suite(&Arc::new(source)).unwrap_or_else(|problems| panic!("{problems:?}"));
        knowledge.suites = vec![suite];
    }
    knowledge
}

fn facts(profile: Profile) -> Facts {
    Facts { seed: 7, identity_seed: 7, clock: Clock(0), profile }
}

/// What one walk is about.
#[derive(Clone, Copy)]
struct Scene<'s> {
    /// The case, from the key after `covers` on.
    case: &'s str,
    over: Transport,
    part: Part,
    profile: Profile,
    /// Whether the desk has a bell.
    bell: bool,
    /// What the target file declares.
    declared: &'s [&'s str],
}

/// A case over HTTP, in the lenient profile.
fn scene(case: &str) -> Scene<'_> {
    Scene { case, over: Transport::Http, part: Part::Case, profile: Profile::Lenient, bell: false, declared: &[] }
}

impl Scene<'_> {
    /// Calls `use_it` with a context and the case.
    fn with<T>(&self, use_it: impl FnOnce(&Context<'_>, &ReadyCase<'_>) -> T) -> T {
        let knowledge = knowledge(self.case);
        let mut target = Target::endpoint("http://127.0.0.1:1".parse().expect("a URL"));
        match self.over {
            Transport::Ws => target.ws = Some("ws://127.0.0.1:1".parse().expect("a URL")),
            Transport::Adapter => {
                target = Target::new(crate::exchange::TargetClass::Adapter, "library");
                target.adapter = Some(vec!["library".to_owned()]);
            }
            _ => {}
        }
        target.options.extend(self.declared.iter().map(|name| ((*name).to_owned(), true)));
        let plan: Plan<'_> = plan::build(&knowledge, &target, &Selection::default());
        let mut features = Features::default();
        let state = if self.bell { FeatureState::Offered } else { FeatureState::Absent };
        for transport in &plan.transports {
            features.states.insert((*transport, "bell".to_owned()), state);
        }
        let context = Context { plan: &plan, facts: facts(self.profile), features };
        if self.part == Part::Probe {
            let probes = plan.probes(self.over);
            return use_it(&context, probes.last().expect("the probe of the bell"));
        }
        let ready = plan.cases.iter().find(|ready| ready.transport == self.over).expect("the case");
        use_it(&context, ready)
    }

    /// Calls `use_it` with a walk at its start.
    fn walk<T>(&self, use_it: impl for<'p> FnOnce(&mut Walk<'p>) -> T) -> T {
        self.with(|context, ready| use_it(&mut Walk::new(context, ready, self.part, 0)))
    }

    /// What these exchanges show.
    fn judged(&self, exchanges: &[Exchange]) -> Judged {
        self.judged_until(exchanges, None)
    }

    /// The same where the case stopped for this reason.
    fn judged_until(&self, exchanges: &[Exchange], stopped: Option<&str>) -> Judged {
        self.with(|context, ready| {
            let mut walk = Walk::new(context, ready, self.part, 0);
            walk.replay(exchanges, stopped);
            walk.finish()
        })
    }

    /// The verdict on DESK-1.
    fn verdict(&self, exchanges: &[Exchange]) -> Verdict {
        of(&self.judged(exchanges), "DESK-1")
    }
}

/// The outcome of a requirement.
fn of(judged: &Judged, id: &str) -> Verdict {
    judged.outcomes[id]
}

/// An exchange of `put` in the step with a number.
fn exchange(step: usize, transport: Transport, received: Incoming) -> Exchange {
    Exchange { operation: "put".to_owned(), ..testing::exchange(step, transport, received) }
}

/// An answer over HTTP.
fn answer(step: usize, status: u16, body: &str) -> Exchange {
    let body = Body::from(body.as_bytes().to_vec());
    let received = Incoming { status: Some(status), body, ..Incoming::nothing(Ended::Complete) };
    exchange(step, Transport::Http, received)
}

/// A step over HTTP that ended so, without an answer.
fn ended(step: usize, ended: Ended) -> Exchange {
    exchange(step, Transport::Http, Incoming::nothing(ended))
}

/// Something that arrived over WebSocket after so many milliseconds.
fn arrival(at_ms: u64) -> Arrival {
    Arrival { kind: ArrivalKind::WsBinary, code: None, body: Body::default(), at_ms, host: String::new() }
}

/// A step over WebSocket that ended so, after these messages arrived.
fn over_ws(step: usize, ended: Ended, arrived: Vec<Arrival>) -> Exchange {
    exchange(step, Transport::Ws, Incoming { arrived, ..Incoming::nothing(ended) })
}

/// The exchange with this body in the message that was sent.
fn sending(mut exchange: Exchange, body: &str) -> Exchange {
    exchange.sent.body = Body::from(body.as_bytes().to_vec());
    exchange
}

/// The exchange, sent so many milliseconds after the start of the run, and answered so many later.
fn timed(mut exchange: Exchange, started_ms: u64, elapsed_ms: u64) -> Exchange {
    (exchange.started_ms, exchange.elapsed_ms) = (started_ms, elapsed_ms);
    exchange
}

/// The step of the walk with a number.
fn step<'p>(walk: &Walk<'p>, number: usize) -> Planned<'p> {
    walk.steps().into_iter().find(|planned| planned.number == number).expect("a step with this number")
}

/// The members of an object, by name.
fn members(body: &[u8]) -> BTreeMap<String, Value> {
    let body = json::parse(body).expect("JSON");
    let named = |(name, value): &(Value, Value)| (name.as_text().expect("a name").to_owned(), value.clone());
    body.as_map().expect("an object").iter().map(named).collect()
}
