//! The methods that an adapter must have for a case.

use super::super::library_methods;
use super::*;

const OF_A_LIBRARY: &str = "
protocol: desk
levels: [{ name: L0 }]
claims: { default: L0 }
setup:
  - { runs-on: [adapter], steps: [{ send: open, capture: { drawer: /result } }, { send: tick, with: { ms: 1 }, optional: true }] }
  - { runs-on: [ws], steps: [{ send: tick, with: { ms: 1 } }] }
  - { needs: [bell], steps: [{ send: tick, with: { ms: 1 } }] }
  - { for-each-binding: [lamp], steps: [{ send: light, capture: { lamp: /result } }] }
features:
  - { feature: bell, about: a bell, if-missing: not-claimed, probe: [{ send: tick, with: { ms: 1 } }], offered: [{ at: /code, absent: true }] }
  - { feature: gong, about: a gong, if-missing: not-claimed, probe: [{ send: light, with: { drawer: a } }], offered: [{ at: /code, absent: true }] }
";

#[test]
fn an_adapter_needs_the_methods_of_the_steps_of_their_set_up_and_of_the_features_that_the_case_needs() {
    let expect = "expect: [{ at: /code, absent: true }]";
    let put = format!("steps: [{{ send: put, with: {{ body: {{}} }}, {expect} }}]");
    let lamp = format!("steps: [{{ send: put, with: {{ body: '${{lamp}}' }}, {expect} }}]");
    let no_setup = format!("no-setup: true\n    {put}");
    let needs = format!("needs: [bell]\n    {put}");
    let no_method = format!("steps: [{{ send: put, with: {{ body: {{}} }} }}, {{ send: ask, {expect} }}]");
    for (case, methods) in [
        (&put, Some("open put")),
        (&lamp, Some("light open put")),
        (&no_setup, Some("put")),
        (&needs, Some("open put tick")),
        (&no_method, None),
    ] {
        let knowledge = knowledge_in(OF_A_LIBRARY, case);
        let (_, found) = knowledge.cases().next().expect("a case");
        let found = library_methods(&knowledge, found).map(|found| found.into_iter().collect::<Vec<_>>().join(" "));
        assert_eq!(found.as_deref(), methods, "{case}");
    }
}
