//! Whether a target can be judged at all, from what its probes received.
//!
//! Where every answer says the same about the address, the credentials or the connection, no case can show anything about the
//! implementation, and a verdict would be a false accusation.

use std::collections::BTreeSet;
use std::time::Duration;

use super::context::Transcript;
use crate::exchange::{Ended, Exchange, Transport};
use crate::protocol::{Protocol, Readiness};

/// Answers below which a common status says nothing: the one path that was probed may be an optional one.
const FEWEST: usize = 3;

/// What it means that credentials are refused, and what to do.
const NEEDS_CREDENTIALS: (&str, &str) = (
    "the target accepts only requests with credentials, and these had none that it accepts",
    "give credentials: `--bearer-env VARIABLE` or `--header 'NAME: VALUE'` for a first try, `credentials` in a target file for \
     each party",
);

/// Why a target cannot be judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotReady {
    /// What was observed.
    pub observed: String,
    /// What it means.
    pub meaning: String,
    /// What to do.
    pub hint: String,
}

impl NotReady {
    fn new(observed: impl Into<String>, meaning: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { observed: observed.into(), meaning: meaning.into(), hint: hint.into() }
    }

    /// The three sentences, one a line.
    pub fn lines(&self) -> [&str; 3] {
        [&self.observed, &self.meaning, &self.hint]
    }
}

/// Why no case can be judged after these probes, if that is so.
///
/// `limit` is the time limit of an answer. A single answer of another kind, over any transport, makes the target ready: then every case is judged by itself.
pub fn not_ready(protocol: &dyn Protocol, transcript: &Transcript, limit: Duration) -> Option<NotReady> {
    let all = transcript.probes.iter().flat_map(|(_, exchanges)| exchanges);
    let exchanges: Vec<&Exchange> = all.filter(|exchange| protocol.readiness(exchange) != Readiness::Silent).collect();
    let refused = |exchange: &&Exchange| protocol.readiness(exchange) == Readiness::NeedsCredentials;
    if exchanges.len() >= FEWEST && exchanges.iter().all(refused) {
        let statuses: BTreeSet<u16> = exchanges.iter().filter_map(|exchange| exchange.received.status).collect();
        let shown: Vec<String> = statuses.iter().map(|status| format!("have status {status}")).collect();
        let observed = match &shown[..] {
            [] => format!("all {} messages to the target are answered by a refusal of credentials", exchanges.len()),
            _ => format!("{0} of {0} answers refuse the credentials: they {1}", exchanges.len(), shown.join(" or ")),
        };
        return Some(NotReady::new(observed, NEEDS_CREDENTIALS.0, NEEDS_CREDENTIALS.1));
    }
    let answered = exchanges.iter().any(|exchange| is_message(exchange));
    if exchanges.is_empty() || answered {
        return None;
    }
    let statuses: BTreeSet<u16> = exchanges.iter().filter_map(|exchange| exchange.received.status).collect();
    if statuses.is_empty() {
        return exchanges.first().map(|exchange| no_answer(exchange, limit));
    }
    let url = exchanges.iter().find(|exchange| exchange.received.status.is_some()).map(|exchange| &exchange.sent.url);
    let base = url.and_then(|url| url::Url::parse(url).ok()).map(|url| url.origin().ascii_serialization());
    let base = base.unwrap_or_else(|| "the target".to_owned());
    let count = exchanges.iter().filter(|exchange| exchange.received.status.is_some()).count();
    if count < FEWEST {
        return None;
    }
    let shown: Vec<String> = statuses.iter().map(u16::to_string).collect();
    let observed = format!("{count} of {count} answers of {base} have status {}", shown.join(" or "));
    if statuses.iter().all(|status| matches!(status, 401 | 403 | 407)) {
        return Some(NotReady::new(observed, NEEDS_CREDENTIALS.0, NEEDS_CREDENTIALS.1));
    }
    if statuses.iter().all(|status| matches!(status, 404 | 410)) {
        return Some(NotReady::new(
            observed,
            "no path of the protocol exists below this URL",
            "check the base path of the URL: proofmark appends the paths of the protocol to it; other paths go under `routes` in \
             a target file",
        ));
    }
    if statuses.iter().all(|status| (300..400).contains(status)) {
        let location =
            exchanges.iter().find_map(|exchange| exchange.received.header("location")).unwrap_or("another place");
        return Some(NotReady::new(
            observed,
            format!(
                "every request is redirected, to {}",
                location.chars().filter(|c| !c.is_control()).take(200).collect::<String>()
            ),
            "give the URL that the target redirects to; proofmark follows no redirect",
        ));
    }
    None
}

/// Whether something arrived that an implementation of the protocol may have sent.
fn is_message(exchange: &Exchange) -> bool {
    let received = &exchange.received;
    let refused = |status: u16| matches!(status, 401 | 403 | 404 | 407 | 410) || (300..400).contains(&status);
    !received.arrived.is_empty()
        || received.status.is_some_and(|status| !refused(status))
        || exchange.sent.transport == Transport::Adapter && received.ended == Ended::Complete
}

/// What it means that nothing was answered, by how the first attempt ended.
fn no_answer(exchange: &Exchange, limit: Duration) -> NotReady {
    if exchange.sent.transport == Transport::Adapter {
        return no_answer_of_adapter(&exchange.received.ended, limit);
    }
    let url = url::Url::parse(&exchange.sent.url).ok();
    let host = url.as_ref().and_then(url::Url::host_str).unwrap_or("the target").to_owned();
    let address = match url.as_ref().and_then(url::Url::port_or_known_default) {
        Some(port) => format!("{host}:{port}"),
        None => host.clone(),
    };
    let scheme = url.as_ref().map_or("", url::Url::scheme);
    match &exchange.received.ended {
        Ended::Unreachable(why) => unreachable(why, &host, &address),
        Ended::TimedOut => NotReady::new(
            format!("the target did not answer within {limit:?}: {address} accepts the connection and sends nothing"),
            "another protocol may be spoken there, or the target waits for something else",
            match scheme {
                "https" => {
                    "if the port does not speak TLS, use http:// in the URL; a slow target needs a longer `--timeout`"
                }
                _ => "check port, scheme and framing; a slow target needs a longer `--timeout`",
            },
        ),
        Ended::Closed(why) | Ended::NotSent(why) => NotReady::new(
            format!("the target closes every connection without an answer: {why}"),
            "another protocol may be spoken there",
            match scheme {
                "http" => "if the port speaks TLS, use https:// in the URL",
                _ => "check port, scheme and framing of the URL",
            },
        ),
        Ended::Complete | Ended::TooLong => NotReady::new(
            "no answer has a status or a message",
            "another protocol may be spoken there",
            "check port, scheme and framing of the URL",
        ),
    }
}

/// What it means that an adapter answered nothing.
fn no_answer_of_adapter(ended: &Ended, limit: Duration) -> NotReady {
    let observed = match ended {
        Ended::Unreachable(why) => {
            return NotReady::new(
                format!("the target is unreachable: {why}"),
                "the command of the adapter cannot be started",
                "check its spelling, its path from this folder, and that the file may be executed",
            );
        }
        Ended::TimedOut => format!("the target did not answer within {limit:?}"),
        Ended::Closed(why) | Ended::NotSent(why) => format!("the adapter answered no call: {why}"),
        Ended::Complete | Ended::TooLong => "the adapter answered no call".to_owned(),
    };
    let hint = "run `proofmark adapter check COMMAND`, which says what each call was answered";
    NotReady::new(
        observed,
        "the command does not run an adapter, or the adapter ends or hangs at the first calls",
        hint,
    )
}

/// What a failed connection means, from the words of the system and of TLS.
fn unreachable(why: &str, host: &str, address: &str) -> NotReady {
    let has = |words: &[&str]| words.iter().any(|word| why.contains(word));
    let observed = format!("the target is unreachable: {why}");
    if has(&["lookup", "not known", "No address"]) {
        return NotReady::new(observed, format!("the name `{host}` has no address"), "check the host name in the URL");
    }
    if has(&["InvalidContentType", "corrupt message", "WRONG_VERSION"]) {
        let hint = "use the scheme without TLS in the URL, such as http:// in the place of https://";
        return NotReady::new(observed, format!("{address} does not speak TLS"), hint);
    }
    if has(&["certificate", "UnknownIssuer", "CaUsedAsEndEntity", "NotValidForName"]) {
        let hint = "name the authority that signed it under `ca` in a target file, or in SSL_CERT_FILE";
        return NotReady::new(observed, format!("the certificate of {address} cannot be verified"), hint);
    }
    if has(&["refused"]) {
        let hint = "start the target, or check the port in the URL";
        return NotReady::new(observed, format!("nothing listens at {address}"), hint);
    }
    NotReady::new(observed, format!("no connection to {address} can be made"), "check host, port and network")
}
