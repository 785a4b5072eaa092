//! The cases of the hand-written record: each verdict, and each way in which a target misbehaves.

use proofmark::exchange::{Body, Ended, Exchange, Exchanges, Incoming, Outgoing, Transport};
use proofmark::record::{CaseRecord, EditRecord, FindingRecord, ReadingRecord};
use proofmark::verdict::{NotRun, Verdict};
use serde_json::json;

use super::HOSTILE;

pub(super) fn exchange(
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
            body: Body::from(sent.as_bytes().to_vec()),
        },
        received: Incoming {
            status: Some(status),
            headers: vec![
                ("content-type".to_owned(), "application/json".to_owned()),
                ("server".to_owned(), HOSTILE.to_owned()),
            ],
            body: Body::from(received.to_vec()),
            arrived: Vec::new(),
            ended: Ended::Complete,
        },
        started_ms: 12,
        elapsed_ms: 3,
        hosted: None,
        clock_ms: 0,
    }
}

fn case(id: &str, verdict: Verdict, covers: &[&str]) -> CaseRecord {
    CaseRecord {
        id: id.to_owned(),
        transport: Transport::Http,
        started_ms: 0,
        twin_started_ms: 0,
        retry: 0,
        about: String::new(),
        verdict,
        reason: None,
        because: String::new(),
        covers: covers.iter().map(|id| (*id).to_owned()).collect(),
        outcomes: covers.iter().map(|id| ((*id).to_owned(), verdict)).collect(),
        elapsed_ms: 6,
        at: "suites/agentic/deposit.yaml:31:5".to_owned(),
        findings: Vec::new(),
        readings: Vec::new(),
        exchanges: Exchanges::default(),
        twin: Exchanges::default(),
        twin_of: String::new(),
        swept_from: Vec::new(),
        edits: Vec::new(),
        replay: format!("proofmark check http://127.0.0.1:8787 --protocol agentic --only '{id}' --seed 42"),
    }
}

fn finding(requirement: &str, verdict: Verdict, expected: &str, observed: &str, path: &str) -> FindingRecord {
    FindingRecord {
        requirement: requirement.to_owned(),
        verdict,
        expected: expected.to_owned(),
        observed: observed.to_owned(),
        path: path.to_owned(),
        exchange: Some(0),
        at: "suites/agentic/deposit.yaml:38:11".to_owned(),
        strict_only: false,
        mistake: None,
        note: String::new(),
    }
}

pub(super) fn cases() -> Vec<CaseRecord> {
    let url = "/v1/projects/p-3f2a/packages";
    let well_built = r#"{"package_id":"pk-1","title":"A title","created_at":"2026-11-20T12:00:00Z","nothing":null,"decisions":[{"text":"one"}]}"#;
    let without_title =
        r#"{"package_id":"pk-2","created_at":"2026-11-20T12:00:00Z","nothing":null,"decisions":[{"text":"one"}]}"#;
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
            exchange("deposit", "POST", url, well_built, 201, br#"{"package_id":"pk-1"}"#),
            Exchange { step: 1, ..newest },
        ]
        .into(),
        readings: vec![ReadingRecord {
            reading: "a list under /packages".to_owned(),
            tolerated: true,
            at: "suites/agentic/pull.yaml:20:9".to_owned(),
        }],
        ..case("agentic/pull#returns-the-newest-first", Verdict::Pass, &["AGENTIC-8.1-01"])
    }];
    for row in 0..7 {
        cases.push(CaseRecord {
            about: "A title is required.".to_owned(),
            findings: vec![
                finding("AGENTIC-6.1-01", Verdict::Fail, "/status one of 400, 422", "201", "/status"),
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
            )]
            .into(),
            twin: vec![exchange("deposit", "POST", url, well_built, 201, br#"{"package_id":"pk-1","stored":true}"#)]
                .into(),
            edits: vec![EditRecord { step: 0, edit: "remove /title".to_owned() }],
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
        exchanges: vec![answered].into(),
        ..case("agentic/errors#keeps-its-internals-to-itself", Verdict::Fail, &["AGENTIC-8.1-04"])
    });
    let mut silent = exchange("deposit", "POST", url, well_built, 200, b"\x00\xff\xfe\x1b[31mbinary\x00");
    silent.received.ended = Ended::Closed(format!("reset after 21 bytes {HOSTILE}"));
    cases.push(CaseRecord {
        because: format!("the connection broke: {HOSTILE}"),
        exchanges: vec![silent].into(),
        ..case("agentic/export#is-complete", Verdict::Error, &["AGENTIC-8.5-01"])
    });
    for row in ["published", "archived", "flagged", "draft"] {
        cases.push(CaseRecord {
            because: "the target rejected the twin (the same message without the edits): status 404".to_owned(),
            twin: vec![exchange(
                "transition",
                "PATCH",
                "/v1/packages/pk-1/status",
                r#"{"status":"published"}"#,
                404,
                b"null",
            )]
            .into(),
            edits: vec![EditRecord { step: 0, edit: "set /status to \"draft\"".to_owned() }],
            ..case(&format!("agentic/review#refuses-a-step-back[{row}]"), Verdict::Inconclusive, &["AGENTIC-8.3-02"])
        });
    }
    cases.push(CaseRecord {
        findings: vec![FindingRecord {
            strict_only: true,
            ..finding(
                "AGENTIC-5-03",
                Verdict::Warn,
                "a value at /headers/protocol-version",
                "nothing",
                "/headers/protocol-version",
            )
        }],
        exchanges: vec![exchange("describe", "GET", "/v1/conformance", "", 200, b"[]")].into(),
        ..case("agentic/describe#names-the-version", Verdict::Warn, &["AGENTIC-5-03"])
    });
    cases.push(CaseRecord {
        reason: Some(NotRun::NotClaimed),
        because: "the case needs level L2; the target claims L1".to_owned(),
        ..case("agentic/facts#returns-a-fact-until-it-ends", Verdict::NotRun, &["AGENTIC-7-01"])
    });
    cases.push(CaseRecord {
        reason: Some(NotRun::Waived),
        because: HOSTILE.to_owned(),
        ..case("agentic/deposit#keeps-a-package-for-a-year", Verdict::NotRun, &["AGENTIC-6.1-01"])
    });
    cases
}
