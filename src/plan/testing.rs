//! A small protocol for the tests of plans: an operation for each way to reach a target.

use super::{Knowledge, LoadError, load};
use crate::bundle::Bundle;
use crate::exchange::{Exchange, Transport, TreeAction};
use crate::protocol::{
    BodyPlan, Input, Method, ObservationContext, Operation, Protocol, Route, TargetKnowledge, TreePlan, base_view,
};
use crate::target::Target;
use crate::value::Value;

/// The protocol. A target with the setting `locked` hears only parties that have credentials.
pub(super) struct Toy;

pub(super) static TOY: Toy = Toy;

const ROUTE: Option<Route> = Some(Route {
    base: None,
    method: "POST",
    path: "/",
    query: &[],
    headers: &[],
    body: BodyPlan::None,
    summons: false,
});

const METHOD: Option<Method> = Some(Method { name: "toy/do", params: &[] });

const fn operation(name: &'static str) -> Operation {
    Operation {
        name,
        summary: "Does something.",
        level: "",
        inputs: &[],
        route: None,
        channel: None,
        tree: None,
        method: None,
        accepted: &[(200, 299)],
    }
}

static OPERATIONS: &[Operation] = &[
    Operation {
        level: "L1",
        inputs: &[
            Input { name: "text", required: true, default: None },
            Input { name: "mood", required: true, default: Some("mood") },
        ],
        route: ROUTE,
        method: METHOD,
        ..operation("tell")
    },
    Operation { route: ROUTE, ..operation("peek") },
    Operation { method: METHOD, ..operation("call") },
    Operation {
        tree: Some(TreePlan { action: TreeAction::Read, path: "*", content: None, author: None }),
        ..operation("look")
    },
    Operation {
        inputs: &[Input { name: "ms", required: true, default: None }],
        route: ROUTE,
        method: METHOD,
        ..operation("skip")
    },
];

impl Protocol for Toy {
    fn slug(&self) -> &'static str {
        "toy"
    }

    fn operations(&self) -> &'static [Operation] {
        OPERATIONS
    }

    fn transports(&self) -> &'static [Transport] {
        &Transport::ALL
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        base_view(exchange, context.target, context.clock)
    }

    fn target_knowledge(&self) -> Option<&dyn TargetKnowledge> {
        Some(self)
    }
}

impl TargetKnowledge for Toy {
    fn accepts_actor(&self, target: &Target, actor: &str) -> bool {
        target.setting("locked").is_none() || !target.credentials_of(actor).is_empty()
    }

    fn known_names(&self) -> &'static [&'static str] {
        &["greeting"]
    }
}

pub(super) const MANIFEST: &str = "
protocol: toy
levels: [{ name: L0 }, { name: L1, includes: [L0] }, { name: L2, includes: [L1] }]
claims: { default: L2 }
let: { mood: calm }
";

pub(super) const CATALOGUE: &str = "
protocol: toy
spec: s
requirements:
  - { id: T-0, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both }
  - { id: T-1, section: '1', keyword: MUST, level: L1, role: server, summary: s, testable: both }
  - { id: T-2, section: '1', keyword: MUST, level: L2, role: server, summary: s, testable: both }
  - { id: T-L, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: library }
  - { id: T-N, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: no, why-not: Internal. }
";

pub(super) const GET: &str = "{ request: { method: GET, path: / }, expect: [{ at: /status, equals: 200 }] }";
pub(super) const TELL: &str = "{ send: tell, with: { text: hi }, expect: [{ at: /status, equals: 200 }] }";
pub(super) const PEEK: &str = "{ send: peek, expect: [{ at: /status, equals: 200 }] }";
pub(super) const CALL: &str = "{ send: call, expect: [{ at: /status, equals: 200 }] }";

/// A suite of cases: the name, further keys and the steps of each.
pub(super) fn suite(cases: &[(&str, &str, &str)]) -> String {
    let mut text = "suite: toy/area\ncases:\n".to_owned();
    for (name, keys, steps) in cases {
        text.push_str(&format!("  - {{ case: {name}, {keys}, steps: [{steps}] }}\n"));
    }
    text
}

/// The data files of the protocol.
pub(super) fn bundle(manifest: &str, catalogue: &str, suite: &str) -> Bundle {
    Bundle::default()
        .with_file("suites/toy/protocol.yaml", manifest)
        .with_file("suites/toy/requirements.yaml", catalogue)
        .with_file("suites/toy/area.yaml", suite)
}

/// The data of the protocol, or the mistakes in it.
pub(super) fn read(bundle: &Bundle) -> Result<Knowledge, Vec<String>> {
    load(&TOY, bundle).map_err(|error| match error {
        LoadError::Mistakes(found) => found.iter().map(ToString::to_string).collect(),
        LoadError::Missing(what) => vec![what],
    })
}

/// The data of the protocol with these keys of the manifest and these cases.
pub(super) fn knowledge(keys: &str, cases: &[(&str, &str, &str)]) -> Knowledge {
    let read = read(&bundle(&format!("{MANIFEST}{keys}\n"), CATALOGUE, &suite(cases)));
    read.unwrap_or_else(|mistakes| panic!("{mistakes:#?}"))
}
