//! Whether a target can be judged at all.

use std::time::Duration;

use super::super::Transcript;
use super::super::readiness::not_ready;
use super::*;
use crate::protocol::Readiness;

/// A protocol whose answers all say this of the target.
struct Saying(Readiness);

impl Protocol for Saying {
    fn slug(&self) -> &'static str {
        "saying"
    }

    fn operations(&self) -> &'static [Operation] {
        &[]
    }

    fn observe(&self, _: &Exchange, _: &ObservationContext<'_>) -> Value {
        Value::Null
    }

    fn readiness(&self, _: &Exchange) -> Readiness {
        self.0
    }
}

/// The three sentences on a target whose probes had these exchanges, in one line.
fn said_of(says: Readiness, exchanges: Vec<Exchange>) -> Option<String> {
    let transcript = Transcript { probes: vec![(Transport::Http, exchanges)], ..Transcript::default() };
    not_ready(&Saying(says), &transcript, Duration::from_secs(5)).map(|found| found.lines().join(" | "))
}

/// The same for a protocol whose answers say it by their status.
fn said(exchanges: Vec<Exchange>) -> Option<String> {
    said_of(Readiness::ByStatus, exchanges)
}

fn statuses(statuses: &[u16]) -> Vec<Exchange> {
    statuses.iter().map(|status| answer(0, *status, "")).collect()
}

#[test]
fn a_target_whose_answers_all_say_the_same_about_address_or_credentials_is_not_ready() {
    let credentials = "the target accepts only requests with credentials";
    for (found, words) in [
        (
            statuses(&[401, 401, 401]),
            vec!["3 of 3 answers of http://127.0.0.1:1 have status 401 |", credentials, "--bearer-env"],
        ),
        (statuses(&[401, 403, 407, 401]), vec!["4 of 4 answers", "status 401 or 403 or 407 |", credentials]),
        (statuses(&[404, 404, 404]), vec!["have status 404 |", "no path of the protocol exists below this URL"]),
        (statuses(&[404, 410, 404]), vec!["have status 404 or 410 |", "check the base path"]),
        (statuses(&[302, 307, 302]), vec!["every request is redirected, to another place"]),
    ] {
        let said = said(found).expect("not ready");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
    for found in [
        vec![],
        statuses(&[401, 401]),
        statuses(&[404, 404]),
        statuses(&[404, 401, 404]),
        statuses(&[404, 302, 404]),
        statuses(&[404, 404, 200]),
        statuses(&[401, 401, 500]),
        statuses(&[401, 401, 401, 405]),
    ] {
        assert_eq!(said(found.clone()), None, "{found:?}");
    }
    let mut moved = statuses(&[302, 302, 302]);
    moved[1].received.headers.push(("Location".to_owned(), "http://other/\u{1b}[31m".to_owned()));
    let said = said(moved).expect("not ready");
    assert!(said.contains("redirected, to http://other/[31m |"), "control characters are left out: {said}");
}

#[test]
fn a_refusal_of_credentials_in_words_of_the_protocol_counts_from_three_answers_on() {
    let refusals = |exchanges: Vec<Exchange>| said_of(Readiness::NeedsCredentials, exchanges);
    let said = refusals(statuses(&[200, 200, 400])).expect("not ready");
    assert!(
        said.starts_with("3 of 3 answers refuse the credentials: they have status 200 or have status 400 | "),
        "{said}"
    );
    let in_messages = vec![over_ws(0, Ended::Complete, vec![arrival(1)]); 3];
    let said = refusals(in_messages).expect("not ready");
    assert!(said.starts_with("all 3 messages to the target are answered by a refusal of credentials | "), "{said}");
    assert_eq!(refusals(statuses(&[200, 200])), None);
    // What says nothing of the target does not count.
    assert_eq!(said_of(Readiness::Silent, statuses(&[404, 404, 404])), None);
}

#[test]
fn a_target_that_answers_nothing_is_not_ready_and_one_message_makes_it_ready() {
    let at = |url: &str, ended: Ended| {
        let mut exchange = super::ended(0, ended);
        exchange.sent.url = url.to_owned();
        vec![exchange]
    };
    let closed = || Ended::Closed("gone".to_owned());
    let adapter = |ended: Ended| vec![exchange(0, Transport::Adapter, Incoming::nothing(ended))];
    let (http, https) = ("http://127.0.0.1:9/", "https://127.0.0.1:9/");
    for (exchanges, words) in [
        (
            at(http, Ended::TimedOut),
            vec!["did not answer within 5s: 127.0.0.1:9 accepts", "| check port, scheme and framing;"],
        ),
        (at(https, Ended::TimedOut), vec!["| if the port does not speak TLS, use http://"]),
        (
            at(http, closed()),
            vec!["closes every connection without an answer: gone", "| if the port speaks TLS, use https://"],
        ),
        (at(https, closed()), vec!["| check port, scheme and framing of the URL"]),
        (at(http, Ended::Complete), vec!["no answer has a status or a message"]),
        (at(http, Ended::Unreachable("connection refused".to_owned())), vec!["nothing listens at 127.0.0.1:9"]),
        (at(http, Ended::Unreachable("InvalidContentType".to_owned())), vec!["127.0.0.1:9 does not speak TLS"]),
        (at(http, Ended::Unreachable("UnknownIssuer".to_owned())), vec!["the certificate of 127.0.0.1:9 cannot"]),
        (
            at(http, Ended::Unreachable("failed to lookup address".to_owned())),
            vec!["the name `127.0.0.1` has no address"],
        ),
        (at(http, Ended::Unreachable("no route".to_owned())), vec!["no connection to 127.0.0.1:9 can be made"]),
        (adapter(Ended::TimedOut), vec!["did not answer within 5s", "proofmark adapter check"]),
        (adapter(closed()), vec!["the adapter answered no call: gone"]),
        (adapter(Ended::Unreachable("no such file".to_owned())), vec!["the command of the adapter cannot be started"]),
    ] {
        let said = said(exchanges).expect("not ready");
        assert!(words.iter().all(|word| said.contains(word)), "{said}");
    }
    assert_eq!(said(adapter(Ended::Complete)), None);
    let mut spoke = vec![over_ws(0, closed(), Vec::new())];
    assert!(said(spoke.clone()).is_some());
    spoke.push(over_ws(0, closed(), vec![arrival(1)]));
    assert_eq!(said(spoke), None);
}
