//! Targets at which no verdict would mean anything: the run ends with 3, and says what was observed, what it means and what to
//! do.

use std::io::Write;
use std::net::TcpListener;

use super::*;

pub(super) fn trials() -> Vec<Trial> {
    crate::trials![
        a_target_that_requires_credentials_is_not_accused,
        a_wrong_base_path_is_no_violation,
        a_target_that_redirects_everything_is_not_judged,
        an_address_without_a_listener_is_named,
        an_adapter_that_cannot_be_started_is_named,
        a_name_without_an_address_is_named,
        a_port_without_tls_is_named,
        a_server_that_closes_is_asked_for_its_scheme,
        a_silent_server_is_said_to_be_silent,
        shared_credentials_are_sent_by_every_party_and_never_shown,
    ]
}

/// The run ends undecided without a failed case, and prints these words.
#[track_caller]
fn is_not_ready(words: &[&str], says: &[&str]) {
    is_not_ready_within("2s", words, says);
}

#[track_caller]
fn is_not_ready_within(timeout: &str, words: &[&str], says: &[&str]) {
    for protocol in ["agentic", "amp-core", "meshai"] {
        let here = Place::new();
        let mut all = vec!["check", "--protocol", protocol, "--out", "out", "--timeout", timeout];
        all.extend(words);
        let ran = here.ends(3, &all);
        // Long lines are wrapped.
        let printed = ran.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in says {
            assert!(printed.contains(word), "{protocol}: {word:?}: {}", ran.out);
        }
        assert!(ran.out.lines().count() <= 14, "{protocol}: what no case could show is said once: {}", ran.out);
        let record = here.json("out/report.json");
        assert_eq!(record["summary"]["cases"]["fail"], 0, "{protocol}");
        assert_eq!(record["summary"]["advice"].as_array().map(Vec::len), Some(2), "{protocol}: {record:#}");
        let advice = record["summary"]["advice"][1].as_str().expect("a text").to_owned();
        let first: String = advice.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == ' ').collect();
        for file in ["out/report.html", "out/junit.xml", "out/summary.md"] {
            assert!(here.read(file).contains(first.trim()), "{protocol}: {file} does not say {first:?}");
        }
        let summary = here.read("out/summary.md");
        assert!(summary.lines().count() <= 30, "{protocol}: what no case could show is said once: {summary}");
    }
}

fn a_target_that_requires_credentials_is_not_accused() {
    for status in [401, 403] {
        let server = Server::start(Trivial::Always(status, r#"{"error":"who are you?"}"#));
        let status = format!("have status {status}");
        is_not_ready(&[&server.url()], &[&status, "requests with credentials", "--bearer-env", "--header"]);
    }
}

fn a_wrong_base_path_is_no_violation() {
    let server = Server::start(Trivial::Always(404, r#"{"error":"not found"}"#));
    is_not_ready(&[&server.url()], &["have status 404", "no path of the protocol", "base path"]);
}

fn a_target_that_redirects_everything_is_not_judged() {
    let server = Server::start(Trivial::RedirectToSelf);
    is_not_ready(&[&server.url()], &["redirected", "give the URL that the target redirects to"]);
}

fn an_address_without_a_listener_is_named() {
    let address = format!("http://{}", unused_address());
    is_not_ready(&[&address], &["unreachable", "nothing listens at 127.0.0.1", "start the target"]);
}

fn an_adapter_that_cannot_be_started_is_named() {
    is_not_ready(
        &["--adapter", "./no-such-adapter"],
        &["`./no-such-adapter`", "cannot be started", "check its spelling"],
    );
}

fn a_name_without_an_address_is_named() {
    // A resolver may take its time to find out.
    is_not_ready_within(
        "20s",
        &["http://proofmark.invalid"],
        &["unreachable", "`proofmark.invalid` has no address", "check the host name"],
    );
}

fn a_port_without_tls_is_named() {
    // As servers do on a port for plain HTTP: they answer what they cannot read.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").ok();
        }
    });
    is_not_ready(&[&url], &["does not speak TLS", "without TLS"]);
    let silent = Server::start(Trivial::Silent).url().replace("http://", "https://");
    is_not_ready(&[&silent], &["sends nothing", "if the port does not speak TLS, use http://"]);
}

fn a_server_that_closes_is_asked_for_its_scheme() {
    let server = Server::start(Trivial::Closing);
    is_not_ready(&[&server.url()], &["closes every connection", "https://"]);
}

fn a_silent_server_is_said_to_be_silent() {
    let server = Server::start(Trivial::Silent);
    is_not_ready(&[&server.url()], &["sends nothing", "`--timeout`"]);
}

fn shared_credentials_are_sent_by_every_party_and_never_shown() {
    const SECRET: &str = "s3cret-of-this-test";
    let server = Server::start(Trivial::Echo);
    let here = Place::new();
    let header = format!("X-Api-Key: {SECRET}");
    let ran = here.run(&[
        "check",
        &server.url(),
        "--protocol",
        "agentic",
        "--only",
        "agentic/deposit#*",
        "--out",
        "out",
        "--header",
        &header,
    ]);
    let record = whole_record(&here.path("out/report.json"));
    for text in [&ran.out, &ran.err, &record, &here.read("out/report.html"), &here.read("out/junit.xml")] {
        assert!(!text.contains(SECRET), "{text}");
    }
    // The echo of the server had it in every answer.
    assert!(record.contains("x-api-key") || record.contains("X-Api-Key"), "the field was not sent");
    refused(&here, &["check", "http://127.0.0.1:1", "--header", "nonsense"], &["--header", "'X-Api-Key: k'"]);
    refused(
        &here,
        &["check", "http://127.0.0.1:1", "--bearer-env", "PROOFMARK_TEST_UNSET"],
        &["`PROOFMARK_TEST_UNSET` is not set"],
    );
}
