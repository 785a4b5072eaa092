//! Data files of any content: suites, manifests, catalogues, target files and vectors.
//!
//! The input is a suite; the other readers get the same text, because passing the wrong file is a common
//! mistake.

use proofmark::bundle::Bundle;
use proofmark::judge;
use proofmark::plan::{self, Knowledge, LoadError, SETUP_STEPS, Selection};
use proofmark::protocol;
use proofmark::requirement;
use proofmark::suite::{read_manifest, read_suite};
use proofmark::target::{self, Target};
use proofmark::template::Clock;
use proofmark::vector;
use proofmark::verdict::Profile;
use proofmark::walk::{Context, Facts, Features, Part, Transcript, Walk};

use crate::{mistakes, sample};

/// Of so many suites one is planned and walked, which takes most of the time.
const WALKED: u64 = 4;

/// A manifest with one of each thing that a suite may refer to.
const MANIFEST: &str = r#"protocol: agentic
levels: [{ name: L0 }, { name: L1, includes: [L0] }, { name: L2, includes: [L1] }, { name: L3, includes: [L2] }]
claims: { default: L1 }
let:
  project: "proj_${hex 8}"
objects:
  min:
    json: |
      { "package_id": "pkg_${hex 8}", "project_id": "${project}", "title": "pm ${word}" }
setup:
  - runs-on: adapter
    steps:
      - send: open
        capture: { store: /result/store }
  - for-each-binding: [project]
    steps:
      - send: project-create
        with: { project: "${it}", name: pm }
features:
  - feature: descriptor
    about: The descriptor.
    if-missing: not-claimed
    probe: [{ send: describe }]
    missing: [{ at: /status, equals: 404 }]
    offered: [{ at: /status, equals: 200 }]
"#;

/// Two requirements, one at each level.
const CATALOGUE: &str = r#"protocol: agentic
spec: "The Agentic Protocol, version 0.1 (draft)"
requirements:
  - id: A-1
    section: "1"
    keyword: MUST
    level: L0
    role: server
    summary: "One."
    testable: both
    check: "One."
  - id: A-2
    section: "2"
    keyword: SHOULD
    level: L1
    role: server
    summary: "Two."
    testable: both
    check: "Two."
"#;

/// Checks one input.
///
/// # Panics
///
/// If a mistake has no message. The property is that nothing else panics.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let source = mistakes::source("suites/agentic/fuzz.yaml", text);
    let good = mistakes::none(read_suite(&source)).is_some();
    mistakes::none(read_manifest(&source));
    mistakes::none(requirement::load(&source));
    mistakes::none(target::load(&source, &protocol::url_schemes()));
    mistakes::none(vector::load(&source, &protocol::vector_kinds()));
    let _ = requirement::errata(text);
    if good && sample::has(data, WALKED) {
        walk(text);
    }
}

fn load(text: &str) -> Result<Knowledge, LoadError> {
    let bundle = Bundle::default()
        .with_file("suites/agentic/protocol.yaml", MANIFEST)
        .with_file("suites/agentic/requirements.yaml", CATALOGUE)
        .with_file("suites/agentic/fuzz.yaml", text);
    plan::load(protocol::find("agentic").expect("agentic is implemented"), &bundle)
}

/// Plans the suite, builds every message that it sends, and judges a run without answers.
fn walk(text: &str) {
    let knowledge = match load(text) {
        Ok(knowledge) => knowledge,
        Err(LoadError::Mistakes(found)) => return mistakes::print(&found),
        Err(LoadError::Missing(what)) => panic!("{what}"),
    };
    let mut target = Target::endpoint(url::Url::parse("http://127.0.0.1:1").expect("it is a URL"));
    target.adapter = Some(vec!["none".to_owned()]);
    let plan = plan::build(&knowledge, &target, &Selection::default());
    let facts = Facts { seed: 1, identity_seed: 1, clock: Clock(1_767_323_045_000_000_000), profile: Profile::Lenient };
    let context = Context { plan: &plan, facts, features: Features::default() };
    for ready in &plan.cases {
        for part in [Part::Case, Part::Twin] {
            let mut walk = Walk::new(&context, ready, part, 0);
            let mut bound = false;
            for planned in walk.steps() {
                if !bound && planned.number < SETUP_STEPS {
                    walk.bind();
                    bound = true;
                }
                let _ = walk.messages(planned);
            }
        }
    }
    judge::protocol(&context, &Transcript::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seeds_reach_the_walk() {
        for name in ["edit", "parallel", "request"] {
            let path = format!("{}/corpus/suite_parse/seed-{name}", env!("CARGO_MANIFEST_DIR"));
            let text = std::fs::read_to_string(&path).expect("a seed");
            if let Err(LoadError::Mistakes(found)) = load(&text) {
                panic!("{}", found.iter().map(|mistake| mistake.render(false)).collect::<Vec<_>>().join("\n"));
            }
        }
    }
}
