//! From the answers of a target to the verdicts of its cases and requirements.

use super::testing::{Run, answer, answered, context, feature, found, getting, knowledge, probed, target};
use super::*;
use crate::exchange::Transport::{self, Http, Ws};
use crate::plan::{Selection, build};

const MUST: &str = "MUST, level: L0, testable: both";

#[test]
fn a_transport_that_a_target_need_not_offer_is_judged_only_where_it_is_offered() {
    let upgrades = feature("upgrades", "get", "if-missing: run");
    let manifest = format!("transports: {{ ws: upgrades }}\nfeatures:\n{upgrades}");
    let knowledge = knowledge(&manifest, &[("T-1", MUST)], &getting("first", "covers: [T-1]"));
    for (over_ws, is_offered) in [(200, true), (404, false), (500, false)] {
        let mut run = Run::new(&knowledge, &[Http, Ws]);
        run.probes = vec![probed(Http, &[Some(404)]), probed(Ws, &[Some(over_ws)])];
        let record = run.judge(|ready| Some(answered(ready, 200)));
        assert_eq!(found(&record, "first").verdict, Verdict::Pass, "every target offers HTTP");
        let expected = match is_offered {
            true => (Verdict::Pass, None, ""),
            false => (Verdict::NotRun, Some(NotRun::NotClaimed), "the target does not offer ws here"),
        };
        let case = found(&record, "first@ws");
        assert_eq!((case.verdict, case.reason, case.because.as_str()), expected, "{over_ws}");
    }
}

#[test]
fn a_case_beyond_the_claims_is_an_option_left_out_only_if_it_needs_an_option_that_is_absent() {
    let features = [("other", "not-claimed"), ("option", "not-claimed"), ("lenient", "run")];
    let features = features.map(|(name, if_missing)| feature(name, "get", &format!("if-missing: {if_missing}")));
    let beyond = "the case needs level L1; the target claims L0";
    let rows = [
        ("needs: [option, L1]", true, "the target does not offer option: It is option."),
        ("needs: [L1]", false, beyond),
        ("needs: [other, L1]", false, beyond),
        ("needs: [lenient, L1]", false, beyond),
    ];
    let case = |(number, (needs, ..)): (usize, &(&str, bool, &str))| {
        getting(&format!("case-{number}"), &format!("covers: [T-1], {needs}"))
    };
    let cases: String = rows.iter().enumerate().map(case).collect();
    let knowledge = knowledge(&format!("features:\n{}", features.concat()), &[("T-1", MUST)], &cases);
    let target = target(&[Http]);
    let plan = build(&knowledge, &target, &Selection::default());
    let probes = vec![probed(Http, &[Some(200), Some(404), Some(404)])];
    let context = context(&plan, &Transcript { probes, ..Transcript::default() });
    for (ready, (needs, optional, because)) in plan.cases.iter().zip(rows) {
        let expected = Gate::NotRun { reason: NotRun::NotClaimed, because: because.to_owned(), optional };
        assert_eq!(gate(&context, ready), expected, "{needs}");
    }
}

#[test]
fn a_level_for_which_no_case_ran_is_not_said_to_be_met() {
    // L1 has no demands besides those of L0.
    let knowledge = knowledge("", &[("T-1", MUST)], &getting("first", "covers: [T-1]"));
    let record = Run::new(&knowledge, &[Http]).judge(|ready| Some(answered(ready, 200)));
    let found: Vec<_> = record.levels.iter().map(|level| (level.outcome, level.claimed, level.met)).collect();
    assert_eq!(found, [(Grant::Granted, true, false), (Grant::Undecided, false, false)]);
}

#[test]
fn of_several_runs_the_first_that_probed_a_feature_tells_its_state() {
    let manifest = format!("features:\n{}", feature("option", "get", "if-missing: not-claimed"));
    let knowledge = knowledge(&manifest, &[("T-1", MUST)], &getting("first", "covers: [T-1]"));
    let target = target(&[Http]);
    let plan = build(&knowledge, &target, &Selection::default());
    for (statuses, expected) in [
        ([None, Some(200)], FeatureState::Offered),
        ([Some(200), Some(404)], FeatureState::Offered),
        ([Some(404), None], FeatureState::Absent),
        ([None, None], FeatureState::Unknown),
    ] {
        let transcript = |status| Transcript { probes: vec![probed(Http, &[status])], ..Transcript::default() };
        let transcripts = statuses.map(transcript);
        let contexts = transcripts.each_ref().map(|transcript| context(&plan, transcript));
        let runs: Vec<_> = contexts.iter().zip(&transcripts).collect();
        let record = joined(&contexts[0], &runs, &[0]);
        let found: Vec<_> = record.features.iter().map(|feature| (feature.feature.as_str(), feature.state)).collect();
        assert_eq!(found, [("option", expected)], "{statuses:?}");
    }
}

#[test]
fn a_missing_prerequisite_counts_the_cases_that_it_blocks_over_its_own_transport() {
    let keeps = feature("keeps", "get", "if-missing: run, prerequisite-of: [get], judged-by: [T-1]");
    let manifest = format!("features:\n{keeps}{}", feature("keeps-more", "get", "if-missing: run"));
    let about_it = getting("about-it", "covers: [T-1]");
    let others = [("builds-on-it", "covers: [T-2]"), ("builds-on-it-over-http", "covers: [T-2], runs-on: [http]")];
    let all = about_it.clone() + &others.map(|(name, rest)| getting(name, rest)).concat();
    // The features of the record, each with the number of cases that it blocks and the requirements that explain it.
    let blocked = |cases: &str, transports: &[Transport]| {
        let knowledge = knowledge(&manifest, &[("T-1", MUST), ("T-2", MUST)], cases);
        let mut run = Run::new(&knowledge, transports);
        run.probes = transports.iter().map(|transport| probed(*transport, &[Some(404), Some(404)])).collect();
        let record = run.judge(|ready| Some(answered(ready, 500)));
        let one = |feature: &FeatureRecord| {
            format!("{} {} {}", feature.feature, feature.blocks, feature.explained_by.join(" ")).trim_end().to_owned()
        };
        record.features.iter().map(one).collect::<Vec<_>>()
    };
    assert_eq!(blocked(&all, &[Http, Ws]), ["keeps 2 T-1", "keeps-more 0", "keeps@ws 1 T-1", "keeps-more@ws 0"]);
    assert_eq!(blocked(&all, &[Http]), ["keeps 2 T-1", "keeps-more 0"]);
    assert_eq!(blocked(&all, &[Ws]), ["keeps 1 T-1", "keeps-more 0"]);
    assert_eq!(blocked(&about_it, &[Http]), ["keeps 0", "keeps-more 0"], "what blocks nothing needs no explanation");
}

#[test]
fn an_edited_message_decides_only_if_its_twin_is_accepted_unless_its_failure_stands_alone() {
    let steps = "steps: [{ send: get, with: { item: { title: x } }, edit: [{ remove: /title }], \
                 expect: [{ at: /status, equals: 422 }] }]";
    let (pass, fail, open) = (Verdict::Pass, Verdict::Fail, Verdict::Inconclusive);
    for (stands_alone, status, twin, expected) in [
        (false, 422, 200, pass),
        (false, 200, 200, fail),
        (false, 422, 500, open),
        (false, 200, 500, open),
        (true, 422, 200, pass),
        (true, 200, 200, fail),
        (true, 422, 500, open),
        (true, 200, 500, fail),
    ] {
        let case = format!("  - {{ case: edited, covers: [T-1], counts-without-twin: {stands_alone}, {steps} }}\n");
        let knowledge = knowledge("", &[("T-1", MUST)], &case);
        let record = Run::new(&knowledge, &[Http]).judge(|ready| {
            Some(CaseTranscript { twin: vec![answer(Http, 0, twin)].into(), ..answered(ready, status) })
        });
        let case = found(&record, "edited");
        assert_eq!(case.verdict, expected, "{stands_alone} {status} {twin}: {}", case.because);
        assert_eq!(case.because.starts_with("the target rejected the twin"), expected == open, "{}", case.because);
    }
}

#[test]
fn a_case_that_is_out_of_reach_does_not_undo_what_the_others_have_shown() {
    let features = [("way", "inconclusive"), ("option", "not-claimed")];
    let features = features.map(|(name, if_missing)| feature(name, "get", &format!("if-missing: {if_missing}")));
    let step = "{ send: get, assume: [{ at: /status, equals: 200 }], expect: [{ at: /status, equals: 200 }] }";
    let cases = getting("plain", "covers: [T-1]")
        + &format!("  - {{ case: by-the-way, covers: [T-1], needs: [way], steps: [{step}] }}\n");
    let knowledge = knowledge(&format!("features:\n{}", features.concat()), &[("T-1", MUST)], &cases);
    for (way, plain, by_the_way, expected) in [
        (404, 200, 200, Verdict::Pass),
        (404, 500, 200, Verdict::Fail),
        (200, 200, 200, Verdict::Pass),
        // It is in reach, and decides nothing for another reason.
        (200, 200, 500, Verdict::Inconclusive),
    ] {
        let mut run = Run::new(&knowledge, &[Http]);
        run.probes = vec![probed(Http, &[Some(way), Some(200)])];
        let status = |ready: &ReadyCase<'_>| if ready.case.needs.is_empty() { plain } else { by_the_way };
        let record = run.judge(|ready| Some(answered(ready, status(ready))));
        assert_eq!(record.requirements[0].verdict, expected, "{way} {plain} {by_the_way}");
    }
}

#[test]
fn a_requirement_without_a_case_is_a_gap_unless_it_cannot_be_tested() {
    let requirements = [
        ("T-1", MUST),
        ("T-GAP", MUST),
        ("T-NO", "MUST, level: L0, testable: no, why-not: It binds readers"),
        ("T-LIBRARY", "MUST, level: L0, testable: library"),
        ("T-LIBRARY-TOO", "MUST, level: L0, testable: library"),
        ("T-BEYOND", "MUST, level: L1, testable: both"),
    ];
    let knowledge = knowledge("", &requirements, &getting("first", "covers: [T-1, T-LIBRARY-TOO]"));
    let record = Run::new(&knowledge, &[Http]).judge(|ready| Some(answered(ready, 200)));
    let found: Vec<_> =
        record.requirements.iter().map(|found| (found.id.as_str(), found.reason, found.uncovered.as_deref())).collect();
    assert_eq!(
        found,
        [
            ("T-1", None, None),
            ("T-GAP", None, Some("gap")),
            ("T-NO", None, Some("untestable: It binds readers")),
            ("T-LIBRARY", Some(NotRun::Unobservable), Some("gap")),
            // It has a case, which shows it at a library.
            ("T-LIBRARY-TOO", Some(NotRun::Unobservable), None),
            ("T-BEYOND", Some(NotRun::NotClaimed), Some("gap")),
        ]
    );
    let uncovered: Vec<_> = record.levels.iter().map(|level| level.uncovered.join(" ")).collect();
    assert_eq!(uncovered, ["T-GAP", "T-GAP T-BEYOND"]);
}
