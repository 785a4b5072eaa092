//! The servers of the reference with requests of any kind: each is answered, none with a failure of the server, and
//! accepted data is returned unchanged.
//!
//! The input is a few choices (see `generate::halves`), and bytes: a body for the routes of agentic and amp-core, and once more
//! bytes on a connection that are not HTTP, or that follow the opening of a WebSocket.

use arbitrary::{Result, Unstructured};
use proofmark::exchange::{Body, Ended, Exchange, Incoming, Outgoing, Transport};
use proofmark::matcher::{Compiler, Outcome};
use proofmark::protocol::{self, Known, ObservationContext};
use proofmark::target::Target;
use proofmark::template::Clock;
use proofmark::value::Value;
use proofmark::wire::{cbor, json};

use crate::generate;
use crate::letter;
use crate::reference;
use crate::server::{Answer, Server};

/// Requests of agentic. `{}` becomes an id, or a text instead.
const ROUTES: &[(&str, &str)] = &[
    ("POST", "/v1/projects/p/packages"),
    ("POST", "/v1/projects/p/packages"),
    ("POST", "/v1/projects/p/facts"),
    ("POST", "/v1/projects"),
    ("POST", "/v1/import"),
    ("POST", "/v1/packages/{}/flag"),
    ("PATCH", "/v1/packages/{}/status"),
    ("DELETE", "/v1/projects/p/facts?{}"),
    ("GET", "/v1/projects/p/packages?{}"),
    ("GET", "/v1/projects/p/facts?{}"),
    ("GET", "/v1/projects/{}/orient?{}"),
    ("GET", "/v1/projects/{}/export"),
    ("GET", "/v1/orchestrate?{}"),
    ("GET", "/v1/packages/{}"),
    ("POST", "/v1/projects/{}/archive"),
    ("PUT", "/v1/{}"),
];

const WORDS: &[&str] = &[
    "p",
    "pkg_1",
    "",
    "a%2Fb",
    "%",
    "%00",
    "%ff",
    "%F0%9F%9A%80",
    "..",
    "limit=1",
    "limit=0",
    "limit=99999999999999999999",
    "cursor=x",
    "q=%22%27%3B--",
    "q=*&limit=2",
    "subject=s&predicate=p",
    "as_of=2026-01-02T03:04:05Z",
    "as_of=x",
    "a=1&a=2",
    "include_ended=true",
    "tags=a,b&since=x",
];

/// Checks one input.
///
/// # Panics
///
/// If a request is not answered, the server fails, an error has no name, or a package comes back changed.
pub fn run(data: &[u8]) {
    let (mut u, bytes) = generate::halves(data);
    let kind = u.int_in_range(0..=3).unwrap_or(0);
    // A stream that ends early gives fewer requests.
    let _ = match kind {
        0 | 1 => agentic(&mut u, bytes),
        2 => amp(&mut u, bytes),
        _ => raw(&mut u, bytes),
    };
}

fn agentic(u: &mut Unstructured<'_>, bytes: &[u8]) -> Result<()> {
    let server = Server::start(reference::implementation("agentic"));
    for _ in 0..u.int_in_range(1..=4)? {
        let (method, path) = *u.choose(ROUTES)?;
        let mut path = path.to_owned();
        while path.contains("{}") {
            path = path.replacen("{}", u.choose(WORDS)?, 1);
        }
        let answer = server.ask(method, &path, "content-type: application/json\r\n", bytes);
        let shown = || format!("{method} {path}: {answer:?} to {}", String::from_utf8_lossy(bytes));
        // 501 is the answer of an unsupported operation.
        assert!(answer.status < 500 || answer.status == 501, "{}", shown());
        let is_json = answer.header("content-type").is_some_and(|kind| kind == "application/json");
        assert!(is_json || answer.body.is_empty() || path.ends_with("/export"), "{}", shown());
        if answer.status >= 400 {
            let code =
                answer.json().member("error").and_then(|error| error.member("code")?.as_text().map(str::to_owned));
            assert!(code.is_some_and(|code| !code.is_empty()), "{}", shown());
        }
        if method == "POST" && path.ends_with("/packages") && answer.status == 201 {
            comes_back(&server, bytes);
        }
    }
    assert_eq!(server.ask("GET", "/v1/conformance", "", b"").status, 200);
    server.stop();
    Ok(())
}

/// An accepted package can be pulled by its id, and is the one that was sent.
fn comes_back(server: &Server, bytes: &[u8]) {
    let sent = json::parse(bytes).unwrap_or_else(|error| panic!("it was taken, and has {error}"));
    let id = sent.member("package_id").and_then(Value::as_text).expect("it was taken, and has an id");
    let escaped: String = id.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let answer = server.ask("GET", &format!("/v1/packages/{escaped}"), "", b"");
    assert_eq!(answer.status, 200, "{id:?}: {answer:?}");
    let seen = observed("agentic", "pull-specific", b"", &answer);
    let matchers = protocol::find("agentic").expect("it is implemented").matchers();
    let same = matchers.iter().find(|known| known.name() == "same-package").expect("agentic has it");
    let check = same.compile(&sent, &Compiler::new(matchers)).expect("it is a package");
    let outcome = check.check(seen.member("package"));
    assert!(
        matches!(outcome, Outcome::Holds(_)),
        "{outcome:?}: {} came back as {answer:?}",
        String::from_utf8_lossy(bytes)
    );
}

fn amp(u: &mut Unstructured<'_>, bytes: &[u8]) -> Result<()> {
    let server = Server::start(reference::implementation("amp-core"));
    let own = match u.arbitrary()? {
        true => {
            let (mut envelope, sender) = letter::unsigned(u)?;
            envelope.set_member(
                "to",
                Value::text(proofmark::protocol::amp_core::identity::Identity::named("target").did()),
            );
            proofmark::protocol::amp_core::message::sign_plain(&mut envelope, &sender);
            cbor::write(&envelope)
        }
        false => bytes.to_vec(),
    };
    for body in [&own[..], bytes] {
        let answer = server.ask("POST", "/amp/v1/messages", "content-type: application/cbor\r\n", body);
        assert!(answer.status < 500 || answer.status == 503, "{answer:?} to {body:02x?}");
        let seen = observed("amp-core", "submit", body, &answer);
        for reply in seen.member("replies").and_then(Value::as_array).unwrap_or_default() {
            let state = reply.member("signed").and_then(|signed| signed.member("state")).and_then(Value::as_text);
            assert_eq!(state, Some("valid"), "{reply:?} to {body:02x?}");
        }
        assert!(answer.body.is_empty() || seen.member("replies").is_some(), "{answer:?} to {body:02x?}");
    }
    assert_eq!(server.ask("GET", "/amp/v1/health", "", b"").status, 200);
    server.stop();
    Ok(())
}

/// Whatever is sent on a connection, the next one is served.
fn raw(u: &mut Unstructured<'_>, bytes: &[u8]) -> Result<()> {
    let (slug, alive) = match u.arbitrary()? {
        true => ("agentic", "/v1/conformance"),
        false => ("amp-core", "/amp/v1/health"),
    };
    let server = Server::start(reference::implementation(slug));
    let opening = "GET /amp/v1/ws HTTP/1.1\r\nhost: pipe\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\nsec-websocket-protocol: amp.v1\r\n\r\n";
    let said = if u.arbitrary()? { [opening.as_bytes(), bytes].concat() } else { bytes.to_vec() };
    server.say(&generate::pieces(u, &said));
    assert_eq!(server.ask("GET", alive, "", b"").status, 200, "after {said:02x?}");
    server.stop();
    Ok(())
}

/// An answer in the form for expectations.
fn observed(slug: &str, operation: &str, sent: &[u8], answer: &Answer) -> Value {
    let protocol = protocol::find(slug).expect("it is implemented");
    let target = Target::endpoint(url::Url::parse("http://127.0.0.1:1").expect("it is a URL"));
    let exchange = Exchange {
        step: 0,
        round: 0,
        actor: "alice".to_owned(),
        operation: operation.to_owned(),
        sent: Outgoing {
            transport: Transport::Http,
            method: "POST".to_owned(),
            url: "http://127.0.0.1:1/".to_owned(),
            headers: Vec::new(),
            body: Body::from(sent.to_vec()),
        },
        received: Incoming {
            status: Some(answer.status),
            headers: answer.headers.clone(),
            body: Body::from(answer.body.clone()),
            arrived: Vec::new(),
            ended: Ended::Complete,
        },
        started_ms: 0,
        elapsed_ms: 1,
        hosted: None,
        clock_ms: 0,
    };
    let clock = Clock(1_767_323_045_000_000_000);
    protocol.observe(
        &exchange,
        &ObservationContext { target: &target, transport: Transport::Http, clock, known: &Known::new() },
    )
}
