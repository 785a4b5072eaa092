//! A hand-written record with every verdict and a hostile target.

use std::collections::BTreeMap;

use proofmark::exchange::{Body, Exchanges, TargetClass};
use proofmark::record::{
    Asked, Because, CaseRecord, CaseTotals, FeatureRecord, FeatureState, LevelRecord, ProtocolRecord,
    RequirementRecord, RunRecord, SCHEMA, Summary, TargetRecord, WaiverRecord,
};
use proofmark::verdict::{Grant, NotRun, Profile, Verdict};
use serde_json::json;

use self::cases::exchange;

mod cases;

/// Markup, terminal escapes, a reordered line, invisible characters, and syntax of Markdown and XML.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{202e}gnp\u{2066}\u{200b}\u{feff}\u{0}\u{9b}31m\u{ffff} ]]> | `` \\| [x](javascript:alert(1)) @everyone <!-- {{ 7*7 }}";

pub(crate) fn record() -> RunRecord {
    let cases = cases::cases();
    let mut totals = CaseTotals::default();
    cases.iter().for_each(|case| totals.count(case.verdict));
    RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: "0.1.0".to_owned(),
        evidence: None,
        seed: 42,
        identity_seed: 42,
        profile: Profile::Lenient,
        started_at: "2026-11-20T12:00:00.000Z".to_owned(),
        asked: Asked { levels: vec!["L1".to_owned()], ..Asked::default() },
        target: TargetRecord {
            kind: TargetClass::Endpoint,
            name: "http://127.0.0.1:8787".to_owned(),
            declared: BTreeMap::from([(
                "agentic".to_owned(),
                json!({"conformance_level": "L1", "implementation": {"name": HOSTILE, "version": "2.1"}, "capabilities": {"hybrid_search": false}}),
            )]),
            config: proofmark::record::TargetConfig::default(),
        },
        protocols: vec![ProtocolRecord {
            protocol: "agentic".to_owned(),
            spec: "The Agentic Protocol, version 0.1 (draft)".to_owned(),
            suite_hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".to_owned(),
            replay: String::new(),
            levels: levels(),
            causes: Vec::new(),
            features: features(),
            requirements: requirements(&cases),
            cases,
            hosts: BTreeMap::new(),
            strays: Vec::new(),
            more_strays: 0,
            waivers: vec![
                waiver("agentic/deposit#keeps-a-package-for-a-year", None),
                waiver("AGENTIC-11-09", Some("the waived cases pass")),
            ],
            exploration: Some(exploration()),
        }],
        baseline: None,
        summary: Summary {
            advice: Vec::new(),
            cases: totals,
            requests: 57,
            elapsed_ms: 1834,
            cut_short: None,
            exit_code: 1,
            conclusion: "not conformant: 2 requirements violated, 1 waiver is stale".to_owned(),
        },
    }
}

/// The same with bodies too large to be kept in the repository.
pub(crate) fn large_record() -> RunRecord {
    let mut record = record();
    let large = json!({"first": HOSTILE, "filler": vec!["x".repeat(1000); 1000], "last": HOSTILE}).to_string();
    let case = &mut record.protocols[0].cases[1];
    case.exchanges[0].received.body = Body::from(large.into_bytes());
    case.findings[0].path = "/body/last".to_owned();
    case.findings[0].observed = HOSTILE.repeat(1000);
    case.exchanges[0].received.headers = vec![("x-many".to_owned(), "y".repeat(9000)); 500];
    let mut exchange = case.exchanges[0].clone();
    exchange.received.body.to_mut().truncate(50_000);
    exchange.received.headers.truncate(50);
    let copies = (0..80).map(|n| CaseRecord {
        id: format!("{}[{n}]", case.id),
        exchanges: vec![exchange.clone(), exchange.clone()].into(),
        twin: Exchanges::default(),
        ..case.clone()
    });
    let copies: Vec<_> = copies.collect();
    case.exchanges.extend(vec![exchange; 70]);
    record.protocols[0].cases.extend(copies);
    record
}

/// A record of so many cases, one in twenty of which fails.
pub(crate) fn long_record(count: usize) -> RunRecord {
    let mut record = record();
    let protocol = &mut record.protocols[0];
    let pattern = CaseRecord { twin: Exchanges::default(), ..protocol.cases[1].clone() };
    let case = |n: usize| {
        let id = format!("agentic/suite-{}#keeps-a-package-for-a-year[{n}]", n / 100);
        let mut case = CaseRecord { id, ..pattern.clone() };
        if n.is_multiple_of(20) {
            "the thing".clone_into(&mut case.findings[0].expected);
            "another".clone_into(&mut case.findings[0].observed);
        } else {
            case.verdict = Verdict::Pass;
            case.findings.clear();
        }
        case
    };
    protocol.cases = (0..count).map(case).collect();
    protocol.requirements[0].cases = protocol.cases.iter().map(|case| case.id.clone()).collect();
    record
}

fn levels() -> Vec<LevelRecord> {
    let because = |id: &str, verdict, reason| Because {
        requirement: id.to_owned(),
        verdict,
        reason,
        why: if verdict == Verdict::Fail { String::new() } else { format!("no answer {HOSTILE}") },
        advice: if verdict == Verdict::Fail { String::new() } else { "set `routes` in the target file".to_owned() },
    };
    let level = |level: &str, outcome, claimed, because| LevelRecord {
        met: false,
        unobservable: false,
        level: level.to_owned(),
        outcome,
        claimed,
        because,
        uncovered: Vec::new(),
        waived: Vec::new(),
        not_exercised: Vec::new(),
        not_claimed: Vec::new(),
        held: 0,
        not_observable: 0,
    };
    vec![
        LevelRecord {
            not_exercised: vec!["AGENTIC-8.2-09".to_owned()],
            not_claimed: vec!["AGENTIC-10.2-07".to_owned()],
            held: 31,
            not_observable: 2,
            ..level("L0", Grant::Granted, true, Vec::new())
        },
        level(
            "L1",
            Grant::Refused,
            true,
            vec![
                because("AGENTIC-6.1-01", Verdict::Fail, None),
                because("AGENTIC-8.1-04", Verdict::Fail, None),
                because("AGENTIC-8.3-02", Verdict::Inconclusive, None),
                because("AGENTIC-8.5-01", Verdict::Error, None),
            ],
        ),
        LevelRecord {
            uncovered: vec!["AGENTIC-11-09".to_owned()],
            ..level(
                "L2",
                Grant::Undecided,
                true,
                vec![because("AGENTIC-7-01", Verdict::NotRun, Some(NotRun::NotClaimed))],
            )
        },
        LevelRecord {
            waived: vec!["AGENTIC-8.5-01".to_owned(), "AGENTIC-8.5-02".to_owned()],
            ..level("L3", Grant::GrantedWaived, true, Vec::new())
        },
    ]
}

fn features() -> Vec<FeatureRecord> {
    vec![
        FeatureRecord {
            feature: "describe".to_owned(),
            about: "A descriptor that says which level is claimed.".to_owned(),
            state: FeatureState::Offered,
            advice: String::new(),
            blocks: 0,
            explained_by: Vec::new(),
            exchanges: vec![exchange("describe", "GET", "/v1/conformance", "", 200, br#"{"conformance_level":"L1"}"#)]
                .into(),
        },
        FeatureRecord {
            feature: "transition".to_owned(),
            about: "Moves a package from one status to the next.".to_owned(),
            state: FeatureState::Unclear,
            advice: "Name the route in the target file: routes.transition.".to_owned(),
            blocks: 0,
            explained_by: Vec::new(),
            exchanges: vec![exchange("transition", "PATCH", "/v1/packages/p/status", "{}", 404, HOSTILE.as_bytes())]
                .into(),
        },
    ]
}

fn requirements(cases: &[CaseRecord]) -> Vec<RequirementRecord> {
    let rows = [
        ("AGENTIC-5-03", "5", "SHOULD", "L0", "An answer names the version of the protocol.", None),
        (
            "AGENTIC-6.1-01",
            "6.1",
            "MUST",
            "L1",
            "A deposit without a title is refused with status 400, and nothing of it is stored.",
            None,
        ),
        ("AGENTIC-7-01", "7", "MUST", "L2", "A fact that was asserted is returned until it ends.", None),
        ("AGENTIC-8.1-01", "8.1", "MUST", "L0", "The latest packages come newest first.", None),
        ("AGENTIC-8.1-04", "8.1", "MUST NOT", "L1", "An error does not show the internals of the server.", None),
        ("AGENTIC-8.3-02", "8.3", "MUST", "L1", "A transition from published to draft is refused.", None),
        ("AGENTIC-8.5-01", "8.5", "SHAPE", "L1", "An export is complete.", None),
        (
            "AGENTIC-11-01",
            "11",
            "MAY",
            "L0",
            "An implementation may say what it cannot do.",
            Some("untestable: it is a freedom of implementers, which no exchange can show"),
        ),
        ("AGENTIC-11-09", "11", "MUST", "L2", "The level that is declared is the level that is kept.", Some("gap")),
    ];
    rows.into_iter()
        .map(|(id, section, keyword, level, summary, uncovered)| {
            let covering: Vec<_> =
                cases.iter().filter(|case| case.covers.iter().any(|covered| covered == id)).collect();
            RequirementRecord {
                id: id.to_owned(),
                section: section.to_owned(),
                keyword: keyword.to_owned(),
                level: level.to_owned(),
                summary: summary.to_owned(),
                verdict: covering
                    .iter()
                    .map(|case| case.outcomes.get(id).copied().unwrap_or(case.verdict))
                    .max()
                    .unwrap_or(Verdict::NotRun),
                reason: covering.iter().find_map(|case| case.reason),
                uncovered: uncovered.map(str::to_owned),
                errata: if id == "AGENTIC-8.1-04" { vec!["E12".to_owned()] } else { Vec::new() },
                cases: covering.iter().map(|case| case.id.clone()).collect(),
            }
        })
        .collect()
}

fn waiver(what: &str, stale: Option<&str>) -> WaiverRecord {
    WaiverRecord {
        what: what.to_owned(),
        reason: "the store is emptied every night; see issue 12".to_owned(),
        at: "target.yaml:14:5".to_owned(),
        stale: stale.map(str::to_owned),
    }
}

fn exploration() -> proofmark::record::ExplorationRecord {
    let transitions = [("assert: the first value", 41), ("assert: another value", 3), ("flag: a draft", 0)];
    proofmark::record::ExplorationRecord {
        sequences: 120,
        judged: 118,
        steps: 2_410,
        elapsed_ms: 10_020,
        end: "the time was up".to_owned(),
        transitions: transitions.map(|(name, times)| (name.to_owned(), times)).into_iter().collect(),
    }
}
