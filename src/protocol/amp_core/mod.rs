//! Agent Messaging Protocol, RFC 001 v0.30 and the binding of RFC 002 v0.15.
//!
//! Signed CBOR over HTTP, WebSocket and TCP, or a library behind the adapter. `protect` signs and seals what is sent,
//! `message` reads and verifies what comes, `view` puts an exchange together for expectations; what they stand on (keys,
//! documents, Sig_Input, boxes, ids, frames, codes) has a file each and knows no exchange.

pub mod alternatives;
pub mod codes;
mod defect;
pub mod did;
pub mod document;
pub mod explain;
pub mod fixtures;
pub mod frame;
mod functions;
pub mod identity;
pub mod key_selection;
mod matchers;
mod memo;
pub mod message;
pub mod message_id;
pub mod multikey;
mod operations;
mod party;
mod protect;
mod reading;
mod receipt;
pub mod seal;
mod settings;
pub mod sig_input;
pub mod sign;
mod tweaks;
#[cfg(test)]
mod vector_tests;
mod view;

use super::{Defect, Inputs, Known, Operation, Protocol, Setting, Sight};
use crate::exchange::{Arrival, Encoded, Exchange, Move, Transport};
use crate::matcher::Matcher;
use crate::target::{RouteOverride, Target};
use crate::template::Function;
use crate::value::Value;
use crate::wire::cbor::{self, Layout};

/// The Agent Messaging Protocol.
pub struct AmpCore;

/// The layouts of a message, by the name that suites use.
const LAYOUTS: &[(&str, Layout)] = &[
    ("deterministic", Layout::Deterministic),
    ("as-written", Layout::AsWritten),
    ("wide-integers", Layout::WideIntegers),
    ("wide-lengths", Layout::WideLengths),
    ("indefinite", Layout::Indefinite),
    ("length-first", Layout::LengthFirst),
    ("text-order", Layout::TextOrder),
];

impl Protocol for AmpCore {
    fn slug(&self) -> &'static str {
        "amp-core"
    }

    fn operations(&self) -> &'static [Operation] {
        operations::OPERATIONS
    }

    fn matchers(&self) -> &'static [&'static dyn Matcher] {
        matchers::ALL
    }

    fn transports(&self) -> &'static [Transport] {
        &Transport::ALL
    }

    fn functions(&self) -> &'static [Function] {
        functions::FUNCTIONS
    }

    fn settings(&self) -> &'static [Setting] {
        settings::SETTINGS
    }

    /// A URL that says nothing else has its WebSocket endpoint at the usual path (RFC 002 section 5.1).
    fn complete(&self, target: &mut Target) {
        // Who is not named in a step is alice.
        for (one, other) in [("alice", "a"), ("a", "alice")] {
            if let Some(credentials) = target.credentials.get(one).cloned() {
                target.credentials.entry(other.to_owned()).or_insert(credentials);
            }
        }
        let listed = |transport| target.transports.as_ref().is_some_and(|list| list.contains(&transport));
        // Who names an address says that messages are taken there: one that takes none is a finding, not a missing option.
        let named = [("websocket", target.ws.is_some() || listed(Transport::Ws)), ("tcp-frames", target.tcp.is_some())];
        for (feature, _) in named.iter().filter(|(_, named)| *named) {
            target.options.entry((*feature).to_owned()).or_insert(true);
        }
        if target.ws.is_some() {
            return;
        }
        let path = target.setting("ws_path").and_then(Value::as_text).unwrap_or("/amp/v1/ws").to_owned();
        target.ws = target.url.clone().and_then(|mut url| {
            let scheme = if url.scheme() == "https" { "wss" } else { "ws" };
            // The base of a URL may have a path of its own.
            let base = url.path().trim_end_matches('/').to_owned();
            url.set_scheme(scheme).ok()?;
            url.set_path(&format!("{base}{path}"));
            Some(url)
        });
    }

    /// Where tokens are bound to principals (RFC 002 section 7.1), who has no token is nobody; a case may want just that.
    fn is_heard(&self, target: &Target, actor: &str) -> bool {
        const NOBODY: &str = "without-token";
        let bound = target.options.get("principals") == Some(&true);
        !bound || actor == NOBODY || target.credentials.contains_key(actor)
    }

    fn known_names(&self) -> &'static [&'static str] {
        party::KNOWN
    }

    fn known(&self, target: &Target, transport: Transport, captured: &Known) -> Known {
        party::known(target, transport, captured)
    }

    fn protect(&self, operation: &Operation, body: Value, inputs: &Inputs, sight: &Sight<'_>) -> Result<Value, String> {
        if operation.input(operations::WHO.name).is_some() {
            return Ok(protect::with_token(body, inputs, sight.target));
        }
        if operation.input("key").is_some() { protect::protected(body, inputs, sight) } else { Ok(body) }
    }

    fn protect_again(&self, message: &mut Value, changed: &str) {
        if changed != "sig" {
            protect::again(message);
        }
    }

    fn layouts(&self) -> &'static [&'static str] {
        const NAMES: &[&str] = &[
            "deterministic",
            "as-written",
            "wide-integers",
            "wide-lengths",
            "indefinite",
            "length-first",
            "text-order",
        ];
        NAMES
    }

    /// CBOR. Bytes in the place of a message stand for themselves.
    fn encode(&self, body: &Value, layout: &str) -> Vec<u8> {
        if let Value::Bytes(bytes) = body {
            return bytes.clone();
        }
        let layout = LAYOUTS.iter().find(|(name, _)| *name == layout).map(|(_, layout)| *layout);
        cbor::write_as(body, layout.unwrap_or_default())
    }

    fn decode(&self, bytes: &[u8]) -> Option<Value> {
        cbor::parse(bytes).ok()
    }

    fn defect(&self, exchange: &Exchange, sight: &Sight<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        let carries = matches!(operation.name, "submit" | "deliver");
        let bytes = super::payload(operation, exchange).filter(|_| carries)?;
        defect::of(&bytes, sight)
    }

    fn observe(&self, exchange: &Exchange, sight: &Sight<'_>) -> Value {
        view::observe(exchange, sight)
    }

    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        let outcome = seen.member("outcome").and_then(Value::as_text);
        if matches!(operation.name, "submit" | "deliver") {
            return matches!(outcome, Some("accepted" | "cached" | "quiet"));
        }
        if operation.channel.is_some() {
            return seen.member("ended").and_then(Value::as_text) == Some("complete");
        }
        let status = seen.member("status").and_then(Value::as_integer).and_then(|status| u16::try_from(status).ok());
        status.is_some_and(|status| operation.accepts(status)) && seen.member("code").is_none()
    }

    fn is_beside(&self, message: &[u8], arrival: &Arrival) -> bool {
        arrival.is_keep_alive() || view::answers_another(message, arrival)
    }

    fn fetch(&self, exchange: &Exchange, sight: &Sight<'_>, behind: Option<&str>) -> Option<Encoded> {
        let configured = sight.target.setting("reply").and_then(Value::as_text).unwrap_or("auto");
        // A status that says that it was taken, whichever. What came with it may be the first answer of several (E70).
        let taken = exchange.received.status.is_some_and(|status| (200..300).contains(&status));
        if configured == "response" || !taken {
            return None;
        }
        let sender = self.mailbox(exchange, sight)?;
        Some(Encoded {
            transport: Transport::Http,
            action: Move::Message,
            operation: "poll".to_owned(),
            method: "GET".to_owned(),
            path: match behind {
                Some(cursor) => format!("/amp/v1/messages?cursor={}&limit=50", crate::protocol::build::percent(cursor)),
                None => "/amp/v1/messages?limit=50".to_owned(),
            },
            headers: vec![
                ("accept".to_owned(), "application/cbor".to_owned()),
                ("x-amp-transport-version".to_owned(), "1".to_owned()),
                ("x-principal-did".to_owned(), sender),
            ],
            body: Vec::new(),
            params: Vec::new(),
            payload: None,
        })
    }

    /// The cursor of a page (RFC 002 section 6.2).
    fn next(&self, fetched: &[u8]) -> Option<(String, bool)> {
        let page = cbor::parse(fetched).ok()?;
        let cursor = page.member("next_cursor")?.as_text()?.to_owned();
        Some((cursor, page.member("has_more") == Some(&Value::Bool(true))))
    }

    fn expires_ms(&self, exchange: &Exchange) -> Option<i128> {
        view::expires_ms(exchange)
    }

    fn route(&self, operation: &str, target: &Target) -> Option<RouteOverride> {
        // The document of a did:web is where the method puts it, under a path too.
        let named = target.setting("did").and_then(Value::as_text).filter(|_| operation == "document")?;
        let url = url::Url::parse(&did::web_url(did::without_fragment(named)).ok()?).ok()?;
        Some(RouteOverride { path: Some(url.path().to_owned()), ..RouteOverride::default() })
    }

    fn mailbox(&self, message: &Exchange, sight: &Sight<'_>) -> Option<String> {
        let actor = || party::identity(&message.actor, sight.target).did().to_owned();
        match message.operation.as_str() {
            "submit" | "deliver" => Some(view::sender(message).unwrap_or_else(actor)),
            // Bytes that were put together by hand may be a message too.
            "request" => view::sender(message),
            _ => None,
        }
    }

    fn emitted(&self, exchange: &Exchange, sight: &Sight<'_>) -> Vec<Value> {
        view::emitted(exchange, sight)
    }
}
