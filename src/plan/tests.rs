//! Mistakes in references between catalogue, manifest and cases.

use super::*;
use crate::bundle::Bundle;

const MANIFEST: &str = "
protocol: agentic
levels: [{ name: L0 }, { name: L1, includes: [L0] }, { name: L2, includes: [L1] }, { name: L3, includes: [L2] }]
claims: { default: L0 }
";

const CATALOGUE: &str = "
protocol: agentic
spec: s
requirements:
  - id: A-1
    section: '1'
    keyword: MUST
    level: L0
    role: server
    summary: s
    testable: both
    check: [The first demand., The second demand.]
  - { id: A-2, section: '1', keyword: MUST, level: L0, role: server, summary: s, testable: both, check: One demand. }
";

fn read(case: &str) -> Result<Knowledge, Vec<String>> {
    let suite = format!("suite: agentic/clauses\ncases:\n  - {case}\n");
    let bundle = Bundle::default()
        .with_file("suites/agentic/protocol.yaml", MANIFEST)
        .with_file("suites/agentic/requirements.yaml", CATALOGUE)
        .with_file("suites/agentic/clauses.yaml", &suite);
    load(crate::protocol::find("agentic").expect("a protocol"), &bundle).map_err(|error| match error {
        LoadError::Mistakes(found) => found.iter().map(ToString::to_string).collect(),
        LoadError::Missing(what) => vec![what],
    })
}

fn case(covers: &str, expect: &str) -> String {
    format!("{{ case: c, covers: [{covers}], steps: [{{ request: {{ method: GET, path: / }}, expect: [{expect}] }}] }}")
}

#[test]
fn a_case_covers_clauses_and_a_bare_id_stands_for_the_first() {
    let text = case("A-1, A-1/2", "{ at: /status, equals: 200, covers: [A-1] }, { equals: 1, covers: [A-1/2] }");
    let knowledge = read(&text).expect("no mistakes");
    let (_, case) = knowledge.cases().next().expect("a case");
    let clauses: Vec<usize> = case.covers.iter().map(|covered| covered.clause).collect();
    assert_eq!(clauses, [1, 2]);
    assert_eq!(case.requirements().len(), 1, "the requirement is decided once");
    assert_eq!(knowledge.catalogue.find("A-1").expect("a requirement").clauses.len(), 2);
    assert_eq!(knowledge.catalogue.find("A-2").expect("a requirement").clauses, ["One demand."]);
}

#[test]
fn an_unknown_or_undecided_clause_is_a_mistake() {
    let status = "{ at: /status, equals: 200 }";
    let mistakes = |covers: &str, expect: &str| read(&case(covers, expect)).expect_err("mistakes");
    let found = mistakes("A-1/3", status);
    assert!(found[0].starts_with("suites/agentic/clauses.yaml:3:25: A-1 has 2 clauses"), "{found:?}");
    let found = mistakes("A-2/2", status);
    assert!(found[0].contains("A-2 has one clause"), "{found:?}");
    for invalid in ["A-1/0", "A-1/", "A-1/x"] {
        let found = mistakes(invalid, status);
        let wanted = format!("invalid clause `{invalid}`");
        assert!(found.iter().any(|mistake| mistake.contains(&wanted)), "{found:?}");
    }
    let found = mistakes("A-1, A-1/2", "{ at: /status, equals: 200, covers: [A-1/2] }");
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].contains("no expectation of the case decides A-1 "), "{found:?}");
    let found = mistakes("A-1", "{ at: /status, equals: 200, covers: [A-1, A-1/2] }");
    assert!(found[0].contains("the case does not cover A-1/2"), "{found:?}");
}
