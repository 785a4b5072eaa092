//! Any answer of a target, as observed by agentic.
//!
//! The input is text: a line with the name of an operation, `adapter` after it if a library answers; a status; header
//! lines up to an empty line; and the body. Input of another form is an answer too.

use proofmark::exchange::{Body, Ended, Exchange, Incoming, Outgoing, Transport};
use proofmark::matcher::Compiler;
use proofmark::protocol::{self, Known, ObservationContext};
use proofmark::target::Target;
use proofmark::template::Clock;
use proofmark::wire::json;

/// Expectations of every matcher that agentic brings.
const EXPECTATIONS: &[&str] = &[
    r#"{"at":"/package","same-package":{"package_id":"pkg_1","title":"t","tags":["a"],"created_by":{"id":"a","type":"agent"}}}"#,
    r#"{"content-hash":{"package_id":"pkg_1","title":"t","significance":1.0}}"#,
    r#"{"content-hash":{"of":{"package_id":"pkg_1"},"if-there":true}}"#,
    r#"{"at":"/package","valid-package":true}"#,
    r#"{"at":"/packages","each":{"valid-package":true}}"#,
    r#"{"at":"/facts","each":{"valid-fact":true}}"#,
];

/// Checks one input.
///
/// # Panics
///
/// Never: that is the property.
pub fn run(data: &[u8]) {
    let exchange = exchange(data);
    let agentic = protocol::find("agentic").expect("agentic is implemented");
    let url = url::Url::parse("http://127.0.0.1:1").expect("it is a URL");
    let mut target = Target::endpoint(url);
    for configured in [false, true] {
        if configured {
            // Places configured for the target, also wrong ones.
            for what in ["package", "packages", "facts", "content_hash", "metadata"] {
                target.places.insert(what.to_owned(), vec!["/data".to_owned(), "/0".to_owned(), "no place".to_owned()]);
            }
        }
        let (transport, known) = (exchange.sent.transport, Known::new());
        let clock = Clock(1_767_323_045_000_000_000);
        let seen = agentic.observe(&exchange, &ObservationContext { target: &target, transport, clock, known: &known });
        for written in EXPECTATIONS {
            let written = json::parse(written.as_bytes()).expect("it is JSON");
            let expectation = Compiler::new(agentic.matchers()).expectation(&written, &[]);
            let _ = expectation.expect("it is an expectation").check(&seen);
        }
    }
}

fn exchange(data: &[u8]) -> Exchange {
    let mut rest = data;
    let mut line = || {
        let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
        let line = String::from_utf8_lossy(&rest[..end]).trim_end_matches('\r').to_owned();
        rest = rest.get(end + 1..).unwrap_or_default();
        line
    };
    let first = line();
    let mut words = first.split_whitespace();
    let operation = words.next().unwrap_or("describe").to_owned();
    let transport = if words.next() == Some("adapter") { Transport::Adapter } else { Transport::Http };
    let status = line().trim().parse().ok();
    let mut headers = Vec::new();
    loop {
        let header = line();
        let Some((name, value)) = header.split_once(':') else { break };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
    Exchange {
        step: 0,
        round: 0,
        actor: "a".to_owned(),
        operation,
        sent: Outgoing {
            transport,
            method: "GET".to_owned(),
            url: "http://127.0.0.1:1/v1/packages/pkg_1".to_owned(),
            headers: Vec::new(),
            body: Body::default(),
        },
        received: Incoming { status, headers, body: Body::from(rest.to_vec()), ..Incoming::nothing(Ended::Complete) },
        started_ms: 0,
        elapsed_ms: 1,
        hosted: None,
        clock_ms: 0,
    }
}
