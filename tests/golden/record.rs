//! A record made by hand, with every verdict in it and a target that fights back.

use std::collections::BTreeMap;

use proofmark::exchange::{Body, Ended, Exchange, Incoming, Outgoing, Transport};
use proofmark::record::*;
use proofmark::verdict::{Grant, NotRun, Profile, Verdict};
use serde_json::json;

/// Markup, terminal escapes, a reordered line, invisible characters, what Markdown and XML take for their own.
pub(crate) const HOSTILE: &str = "</script><img src=x onerror=alert(1)>\u{1b}[2J\u{1b}]0;owned\u{7}\r\u{202e}gnp\u{2066}\u{200b}\u{feff}\u{0}\u{9b}31m\u{ffff} ]]> | `` \\| [x](javascript:alert(1)) @everyone <!-- {{ 7*7 }}";

pub(crate) fn record() -> RunRecord {
    let cases = cases();
    let mut totals = CaseTotals::default();
    cases.iter().for_each(|case| totals.count(case.verdict));
    RunRecord {
        schema: SCHEMA.to_owned(),
        proofmark: "0.1.0".to_owned(),
        seed: 42,
        identity_seed: 42,
        profile: Profile::Lenient,
        started_at: "2026-11-20T12:00:00.000Z".to_owned(),
        asked: Asked {
            level: Some("L1".to_owned()),
            ..Asked::default()
        },
        target: TargetRecord {
            kind: "endpoint".to_owned(),
            name: "http://127.0.0.1:8787".to_owned(),
            declared: BTreeMap::from([(
                "agentic".to_owned(),
                json!({"conformance_level": "L1", "implementation": {"name": HOSTILE, "version": "2.1"}, "capabilities": {"hybrid_search": false}}),
            )]),
        },
        protocols: vec![ProtocolRecord {
            protocol: "agentic".to_owned(),
            spec: "The Agentic Protocol, version 0.1 (draft)".to_owned(),
            suite_hash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
                .to_owned(),
            levels: levels(),
            features: features(),
            requirements: requirements(&cases),
            cases,
            waivers: vec![
                waiver("agentic/deposit#keeps-a-package-for-a-year", None),
                waiver(
                    "AGENTIC-11-09",
                    Some("every case that it covers passes now"),
                ),
            ],
        }],
        summary: Summary {
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
    let large = json!({"first": HOSTILE, "filler": vec!["x".repeat(1000); 1000], "last": HOSTILE})
        .to_string();
    let case = &mut record.protocols[0].cases[1];
    case.exchanges[0].received.body = Body(large.into_bytes());
    case.findings[0].path = "/body/last".to_owned();
    case.findings[0].observed = HOSTILE.repeat(1000);
    case.exchanges[0].received.headers = vec![("x-many".to_owned(), "y".repeat(9000)); 5000];
    let mut exchange = case.exchanges[0].clone();
    exchange.received.body.0.truncate(50_000);
    exchange.received.headers.truncate(50);
    let copies = (0..80).map(|n| CaseRecord {
        id: format!("{}[{n}]", case.id),
        exchanges: vec![exchange.clone(), exchange.clone()],
        twin: Vec::new(),
        ..case.clone()
    });
    let copies: Vec<_> = copies.collect();
    case.exchanges.extend(vec![exchange; 70]);
    record.protocols[0].cases.extend(copies);
    record
}

fn levels() -> Vec<LevelRecord> {
    let because = |id: &str, verdict, reason| Because {
        requirement: id.to_owned(),
        verdict,
        reason,
    };
    let level = |level: &str, outcome, claimed, because| LevelRecord {
        level: level.to_owned(),
        outcome,
        claimed,
        because,
        uncovered: Vec::new(),
    };
    vec![
        level("L0", Grant::Granted, true, Vec::new()),
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
                false,
                vec![because(
                    "AGENTIC-7-01",
                    Verdict::NotRun,
                    Some(NotRun::NotClaimed),
                )],
            )
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
            exchanges: vec![exchange(
                "describe",
                "GET",
                "/v1/conformance",
                "",
                200,
                br#"{"conformance_level":"L1"}"#,
            )],
        },
        FeatureRecord {
            feature: "transition".to_owned(),
            about: "Moves a package from one status to the next.".to_owned(),
            state: FeatureState::Unclear,
            advice: "Name the route in the target file: routes.transition.".to_owned(),
            exchanges: vec![exchange(
                "transition",
                "PATCH",
                "/v1/packages/p/status",
                "{}",
                404,
                HOSTILE.as_bytes(),
            )],
        },
    ]
}

fn requirements(cases: &[CaseRecord]) -> Vec<RequirementRecord> {
    let rows: [(&str, &str, &str, &str, &str, Option<&str>); 9] = [
        (
            "AGENTIC-5-03",
            "5",
            "SHOULD",
            "L0",
            "An answer names the version of the protocol.",
            None,
        ),
        (
            "AGENTIC-6.1-01",
            "6.1",
            "MUST",
            "L1",
            "A deposit without a title is refused with status 400, and nothing of it is stored.",
            None,
        ),
        (
            "AGENTIC-7-01",
            "7",
            "MUST",
            "L2",
            "A fact that was asserted is returned until it ends.",
            None,
        ),
        (
            "AGENTIC-8.1-01",
            "8.1",
            "MUST",
            "L0",
            "The latest packages come newest first.",
            None,
        ),
        (
            "AGENTIC-8.1-04",
            "8.1",
            "MUST NOT",
            "L1",
            "An error does not show the internals of the server.",
            None,
        ),
        (
            "AGENTIC-8.3-02",
            "8.3",
            "MUST",
            "L1",
            "A transition from published to draft is refused.",
            None,
        ),
        (
            "AGENTIC-8.5-01",
            "8.5",
            "SHAPE",
            "L1",
            "An export is complete.",
            None,
        ),
        (
            "AGENTIC-11-01",
            "11",
            "MAY",
            "L0",
            "An implementation may say what it cannot do.",
            Some("untestable: it is a freedom of implementers, which no exchange can show"),
        ),
        (
            "AGENTIC-11-09",
            "11",
            "MUST",
            "L2",
            "The level that is declared is the level that is kept.",
            Some("gap"),
        ),
    ];
    rows.into_iter()
        .map(|(id, section, keyword, level, summary, uncovered)| {
            let covering: Vec<_> = cases
                .iter()
                .filter(|case| case.covers.iter().any(|covered| covered == id))
                .collect();
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
                errata: if id == "AGENTIC-8.1-04" {
                    vec!["E12".to_owned()]
                } else {
                    Vec::new()
                },
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

fn exchange(
    operation: &str,
    method: &str,
    path: &str,
    sent: &str,
    status: u16,
    received: &[u8],
) -> Exchange {
    Exchange {
        step: 0,
        round: 0,
        actor: "author".to_owned(),
        operation: operation.to_owned(),
        sent: Outgoing {
            transport: Transport::Http,
            method: method.to_owned(),
            url: format!("http://127.0.0.1:8787{path}"),
            headers: vec![
                ("accept".to_owned(), "application/json".to_owned()),
                ("authorization".to_owned(), "<redacted>".to_owned()),
            ],
            body: Body(sent.as_bytes().to_vec()),
        },
        received: Incoming {
            status: Some(status),
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("server".to_owned(), HOSTILE.to_owned()),
            ],
            body: Body(received.to_vec()),
            ended: Ended::Complete,
        },
        started_ms: 12,
        elapsed_ms: 3,
    }
}

fn case(id: &str, verdict: Verdict, covers: &[&str]) -> CaseRecord {
    CaseRecord {
        id: id.to_owned(),
        about: String::new(),
        verdict,
        reason: None,
        because: String::new(),
        covers: covers.iter().map(|id| (*id).to_owned()).collect(),
        outcomes: covers
            .iter()
            .map(|id| ((*id).to_owned(), verdict))
            .collect(),
        elapsed_ms: 6,
        at: "suites/agentic/deposit.yaml:31:5".to_owned(),
        findings: Vec::new(),
        readings: Vec::new(),
        exchanges: Vec::new(),
        twin: Vec::new(),
        edits: Vec::new(),
        replay: format!(
            "proofmark check http://127.0.0.1:8787 --protocol agentic --only '{id}' --seed 42"
        ),
    }
}

fn finding(
    requirement: &str,
    verdict: Verdict,
    expected: &str,
    observed: &str,
    path: &str,
) -> FindingRecord {
    FindingRecord {
        requirement: requirement.to_owned(),
        verdict,
        expected: expected.to_owned(),
        observed: observed.to_owned(),
        path: path.to_owned(),
        exchange: Some(0),
        at: "suites/agentic/deposit.yaml:38:11".to_owned(),
        strict_only: false,
        note: String::new(),
    }
}

fn cases() -> Vec<CaseRecord> {
    let url = "/v1/projects/p-3f2a/packages";
    let well_built = r#"{"package_id":"pk-1","title":"A title","created_at":"2026-11-20T12:00:00Z","nothing":null,"decisions":[{"text":"one"}]}"#;
    let without_title = r#"{"package_id":"pk-2","created_at":"2026-11-20T12:00:00Z","nothing":null,"decisions":[{"text":"one"}]}"#;
    let newest = exchange(
        "pull-latest",
        "GET",
        &format!("{url}?mode=latest&limit=2"),
        "",
        200,
        br#"{"packages":[{"package_id":"pk-2"},{"package_id":"pk-1"}]}"#,
    );
    let mut cases = vec![CaseRecord {
        about: "Two deposits, then the latest two.".to_owned(),
        exchanges: vec![
            exchange(
                "deposit",
                "POST",
                url,
                well_built,
                201,
                br#"{"package_id":"pk-1"}"#,
            ),
            Exchange { step: 1, ..newest },
        ],
        readings: vec![ReadingRecord {
            reading: "a list under /packages".to_owned(),
            tolerated: true,
            at: "suites/agentic/pull.yaml:20:9".to_owned(),
        }],
        ..case(
            "agentic/pull#returns-the-newest-first",
            Verdict::Pass,
            &["AGENTIC-8.1-01"],
        )
    }];
    for row in 0..7 {
        cases.push(CaseRecord {
            about: "A title is required.".to_owned(),
            findings: vec![
                finding(
                    "AGENTIC-6.1-01",
                    Verdict::Fail,
                    "/status one of 400, 422",
                    "201",
                    "/status",
                ),
                finding(
                    "AGENTIC-6.1-01",
                    Verdict::Fail,
                    "/body/error/code to be \"title_missing\"",
                    "no such member",
                    "/body/error/code",
                ),
            ],
            exchanges: vec![exchange(
                "deposit",
                "POST",
                url,
                without_title,
                201,
                br#"{"package_id":"pk-2","stored":true,"error":{}}"#,
            )],
            twin: vec![exchange(
                "deposit",
                "POST",
                url,
                well_built,
                201,
                br#"{"package_id":"pk-1","stored":true}"#,
            )],
            edits: vec![EditRecord {
                step: 0,
                edit: "remove /title".to_owned(),
            }],
            ..case(
                &format!("agentic/deposit#refuses-a-package-without-a-title[{row}]"),
                Verdict::Fail,
                &["AGENTIC-6.1-01", "AGENTIC-8.1-04"],
            )
        });
    }
    let answered = exchange(
        "deposit",
        "POST",
        url,
        "{",
        500,
        format!("{{\"error\":{},\"trace\":[1,2]}}", json!(HOSTILE)).as_bytes(),
    );
    cases.push(CaseRecord {
        findings: vec![FindingRecord {
            note: "A stack trace names files and versions.".to_owned(),
            ..finding(
                "AGENTIC-8.1-04",
                Verdict::Fail,
                "/body/error without a path of the file system",
                HOSTILE,
                "/body/error",
            )
        }],
        exchanges: vec![answered],
        ..case(
            "agentic/errors#keeps-its-internals-to-itself",
            Verdict::Fail,
            &["AGENTIC-8.1-04"],
        )
    });
    let mut silent = exchange(
        "deposit",
        "POST",
        url,
        well_built,
        200,
        b"\x00\xff\xfe\x1b[31mbinary\x00",
    );
    silent.received.ended = Ended::Closed(format!("reset after 21 bytes {HOSTILE}"));
    cases.push(CaseRecord {
        because: format!("the connection broke: {HOSTILE}"),
        exchanges: vec![silent],
        ..case(
            "agentic/export#is-complete",
            Verdict::Error,
            &["AGENTIC-8.5-01"],
        )
    });
    for row in ["published", "archived", "flagged", "draft"] {
        cases.push(CaseRecord {
            because: "the twin was refused with 404: transition is not there".to_owned(),
            twin: vec![exchange(
                "transition",
                "PATCH",
                "/v1/packages/pk-1/status",
                r#"{"status":"published"}"#,
                404,
                b"null",
            )],
            edits: vec![EditRecord {
                step: 0,
                edit: "set /status to \"draft\"".to_owned(),
            }],
            ..case(
                &format!("agentic/review#refuses-a-step-back[{row}]"),
                Verdict::Inconclusive,
                &["AGENTIC-8.3-02"],
            )
        });
    }
    cases.push(CaseRecord {
        findings: vec![FindingRecord {
            strict_only: true,
            ..finding(
                "AGENTIC-5-03",
                Verdict::Warn,
                "/headers/protocol-version to be there",
                "not there",
                "/headers/protocol-version",
            )
        }],
        exchanges: vec![exchange(
            "describe",
            "GET",
            "/v1/conformance",
            "",
            200,
            b"[]",
        )],
        ..case(
            "agentic/describe#names-the-version",
            Verdict::Warn,
            &["AGENTIC-5-03"],
        )
    });
    cases.push(CaseRecord {
        reason: Some(NotRun::NotClaimed),
        because: "level L2 is not claimed".to_owned(),
        ..case(
            "agentic/facts#returns-a-fact-until-it-ends",
            Verdict::NotRun,
            &["AGENTIC-7-01"],
        )
    });
    cases.push(CaseRecord {
        reason: Some(NotRun::Waived),
        because: HOSTILE.to_owned(),
        ..case(
            "agentic/deposit#keeps-a-package-for-a-year",
            Verdict::NotRun,
            &["AGENTIC-6.1-01"],
        )
    });
    cases
}
