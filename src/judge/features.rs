//! The effect of the features of a target on verdicts, and their entries in the record.

use crate::plan::{ReadyCase, operations, probe_of};
use crate::record::{FeatureRecord, FeatureState};
use crate::suite::{Action, Feature, Step};
use crate::walk::{Context, Transcript};

/// The feature without which what a case saw means nothing, if the target has not shown it.
///
/// A group is the features that are the floor of the same operations. Every group that names an operation whose answers the
/// case judges must be offered whole, so that one broken operation says nothing about the others. For other answers some
/// group must be.
pub(super) fn below_floor<'p>(context: &Context<'p>, ready: &ReadyCase<'_>) -> Option<&'p Feature> {
    let knowledge = context.plan.knowledge;
    let asked_of_it = |feature: &&Feature| {
        let probe = knowledge.probes.iter().find(|probe| probe.name.value == feature.name.value);
        let operations = probe.map(|probe| operations(knowledge.protocol, probe)).unwrap_or_default();
        operations
            .iter()
            .all(|operation| context.features.claimed.includes(knowledge.manifest.levels.closure(operation.level)))
    };
    let scope = &context.plan.scope;
    let is_floor = |feature: &&Feature| {
        scope.includes(&feature.reach, ready.transport)
            && feature.floor.iter().any(|kind| scope.is_meant(kind, ready.transport))
    };
    let floor: Vec<&Feature> = knowledge.manifest.features.iter().filter(is_floor).filter(asked_of_it).collect();
    let is_absent =
        |feature: &&Feature| context.features.state(ready.transport, &feature.name) != FeatureState::Offered;
    let names = |feature: &Feature, operation: &str| feature.floor_of.iter().any(|name| name.value == operation);
    let judged = judged_operations(ready);
    let mut needs_some = judged.is_empty();
    for operation in judged {
        let named: Vec<&Feature> = floor.iter().copied().filter(|feature| names(feature, operation)).collect();
        if let Some(absent) = named.iter().copied().find(|feature| is_absent(feature)) {
            return Some(absent);
        }
        needs_some |= named.is_empty();
    }
    let same = |a: &Feature, b: &Feature| {
        a.floor_of.iter().map(|name| &name.value).eq(b.floor_of.iter().map(|name| &name.value))
    };
    let is_whole = |feature: &&Feature| !floor.iter().any(|other| same(other, feature) && is_absent(other));
    if needs_some && !floor.iter().any(is_whole) { floor.iter().copied().find(is_absent) } else { None }
}

/// Why a pass does not count at a target that has not shown `floor`.
pub(super) fn below_floor_because(floor: &Feature) -> String {
    format!("the target failed the baseline check `{}`: {}", floor.name.value, floor.about)
}

/// The operations whose answers a case judges; none for one that judges only raw requests or what the target sent.
fn judged_operations<'c>(ready: &ReadyCase<'c>) -> Vec<&'c str> {
    let steps =
        ready.case.all_steps().into_iter().filter(|step| !step.expect.is_empty() || !step.expect_all.is_empty());
    let children = |step: &'c Step| match &step.action {
        Action::Parallel(children) => children.iter().collect(),
        _ => vec![step],
    };
    let operation = |step: &'c Step| match &step.action {
        Action::Send { operation, .. } => Some(operation.value.as_str()),
        _ => None,
    };
    steps.flat_map(children).filter_map(operation).collect()
}

/// The features for the record.
pub(super) fn records(context: &Context<'_>, transcript: &Transcript) -> Vec<FeatureRecord> {
    let mut records = Vec::new();
    for (transport, exchanges) in &transcript.probes {
        for (index, feature) in context.plan.knowledge.manifest.features.iter().enumerate() {
            if !context.plan.scope.includes(&feature.reach, *transport) {
                continue;
            }
            let suffix = if transcript.probes.len() > 1 { transport.suffix() } else { "" };
            let state = context.features.state(*transport, &feature.name);
            let found = matches!(state, FeatureState::Offered);
            let exchanges: Vec<_> =
                exchanges.iter().filter(|exchange| probe_of(exchange.step) == index).cloned().collect();
            if context.plan.is_narrow && exchanges.is_empty() && state == FeatureState::Unknown {
                // It was not probed, since no selected case needs it.
                continue;
            }
            records.push(FeatureRecord {
                feature: format!("{}{suffix}", feature.name.value),
                about: feature.about.clone(),
                state,
                advice: if found { String::new() } else { feature.advice.clone() },
                blocks: 0,
                explained_by: Vec::new(),
                exchanges: exchanges.into(),
            });
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use crate::exchange::Transport::{self, Http, Ws};
    use crate::judge::testing::{Run, answered, feature, found, getting, knowledge, probed};
    use crate::verdict::Verdict;

    const ONE: &[(&str, &str)] = &[("T-1", "MUST, level: L0, testable: both")];

    #[test]
    fn a_pass_counts_only_at_a_target_that_passes_the_baseline_checks_of_the_levels_that_it_claims() {
        // `put` belongs to L1.
        let features = [("answers", "get"), ("stores", "put")];
        let features = features.map(|(name, probe)| feature(name, probe, "if-missing: run, floor: [endpoint]"));
        let manifest = format!("features:\n{}", features.concat());
        let knowledge = knowledge(&manifest, ONE, &getting("first", "covers: [T-1]"));
        let failed = |name: &str| format!("the target failed the baseline check `{name}`: It is {name}.");
        let (pass, open) = (Verdict::Pass, Verdict::Inconclusive);
        for (level, answers, stores, verdict, because) in [
            ("L0", 200, 200, pass, String::new()),
            ("L0", 200, 404, pass, String::new()),
            ("L1", 200, 200, pass, String::new()),
            ("L1", 200, 404, open, failed("stores")),
            ("L0", 404, 200, open, failed("answers")),
        ] {
            let mut run = Run::new(&knowledge, &[Http]);
            run.target.levels = vec![level.to_owned()];
            run.probes = vec![probed(Http, &[Some(answers), Some(stores)])];
            let record = run.judge(|ready| Some(answered(ready, 200)));
            let case = found(&record, "first");
            assert_eq!((case.verdict, &case.because), (verdict, &because), "{level} {answers} {stores}");
        }
    }

    #[test]
    fn a_case_rests_on_the_operations_whose_answers_it_judges() {
        let features = ["get", "list"].map(|operation| {
            feature(
                &format!("can-{operation}"),
                operation,
                &format!("if-missing: run, floor: [endpoint], floor-of: [{operation}]"),
            )
        });
        let all = "expect-all: [{ at: /answers, some: { at: /status, equals: 200 } }]";
        let cases: String = [
            ("lists", "{ send: list, expect: [{ at: /status, equals: 200 }] }".to_owned()),
            ("lists-after-a-get", "{ send: get }, { send: list, expect: [{ at: /status, equals: 200 }] }".to_owned()),
            ("gets", format!("{{ send: get, {all} }}")),
            ("gets-at-once", format!("{{ parallel: [{{ send: get }}, {{ send: get, as: b }}], {all} }}")),
        ]
        .map(|(name, steps)| format!("  - {{ case: {name}, covers: [T-1], steps: [{steps}] }}\n"))
        .concat();
        let knowledge = knowledge(&format!("features:\n{}", features.concat()), ONE, &cases);
        let verdicts = |get: u16| {
            let mut run = Run::new(&knowledge, &[Http]);
            run.probes = vec![probed(Http, &[Some(get), Some(200)])];
            let record = run.judge(|ready| Some(answered(ready, 200)));
            record.cases.iter().map(|case| case.verdict).collect::<Vec<_>>()
        };
        let (pass, open) = (Verdict::Pass, Verdict::Inconclusive);
        assert_eq!(verdicts(200), [pass; 4]);
        assert_eq!(verdicts(404), [pass, pass, open, open]);
    }

    #[test]
    fn a_feature_is_named_with_its_transport_only_if_several_were_probed() {
        let manifest = format!("features:\n{}", feature("answers", "get", "if-missing: run"));
        let knowledge = knowledge(&manifest, ONE, &getting("first", "covers: [T-1]"));
        let names = |transports: &[Transport]| {
            let mut run = Run::new(&knowledge, transports);
            run.probes = transports.iter().map(|transport| probed(*transport, &[Some(200)])).collect();
            let record = run.judge(|ready| Some(answered(ready, 200)));
            record.features.into_iter().map(|feature| feature.feature).collect::<Vec<_>>()
        };
        assert_eq!(names(&[Http]), ["answers"]);
        assert_eq!(names(&[Ws]), ["answers"]);
        assert_eq!(names(&[Http, Ws]), ["answers", "answers@ws"]);
    }

    #[test]
    fn a_feature_is_looked_for_and_reported_only_where_it_says() {
        let manifest = format!("features:\n{}", feature("answers", "get", "runs-on: [ws], if-missing: not-claimed"));
        let knowledge = knowledge(&manifest, ONE, &getting("first", "covers: [T-1], needs: [answers]"));
        let mut run = Run::new(&knowledge, &[Http, Ws]);
        // Whatever a probe over HTTP would have found.
        run.probes = [Http, Ws].map(|transport| probed(transport, &[Some(200)])).into();
        let record = run.judge(|ready| Some(answered(ready, 200)));
        assert_eq!(record.features.iter().map(|feature| feature.feature.as_str()).collect::<Vec<_>>(), ["answers@ws"]);
        let verdicts: Vec<_> = record.cases.iter().map(|case| (case.transport, case.verdict)).collect();
        assert_eq!(verdicts, [(Http, Verdict::NotRun), (Ws, Verdict::Pass)]);
    }

    #[test]
    fn a_run_of_selected_cases_leaves_out_the_features_that_it_did_not_need() {
        let features = ["probed", "unprobed", "configured"].map(|name| feature(name, "get", "if-missing: run"));
        let manifest = format!("features:\n{}", features.concat());
        let knowledge = knowledge(&manifest, ONE, &getting("first", "covers: [T-1]"));
        let names = |only: &[&str]| {
            let mut run = Run::new(&knowledge, &[Http]);
            run.selection.only = only.iter().map(|pattern| (*pattern).to_owned()).collect();
            run.target.options.insert("configured".to_owned(), true);
            run.probes = vec![probed(Http, &[Some(200), None, None])];
            let record = run.judge(|ready| Some(answered(ready, 200)));
            record.features.into_iter().map(|feature| feature.feature).collect::<Vec<_>>()
        };
        assert_eq!(names(&[]), ["probed", "unprobed", "configured"]);
        assert_eq!(names(&["toy/area#first"]), ["probed", "configured"]);
    }
}
