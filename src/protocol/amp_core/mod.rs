//! Agent Messaging Protocol, RFC 001 v0.30 and the binding of RFC 002 v0.15.
//!
//! Signed CBOR over HTTP, WebSocket and TCP, or a library behind the adapter. `protect` signs and seals outgoing
//! messages, `message` reads and verifies incoming ones, `view` builds the observation of an exchange; their
//! foundations (keys, documents, Sig_Input, boxes, ids, frames, codes) have a file each and are independent of
//! exchanges.

pub mod alternatives;
pub mod codes;
mod defect;
mod diagnosis;
pub mod did;
pub mod document;
pub mod explain;
pub mod fixtures;
pub mod frame;
mod functions;
pub mod identity;
mod interop;
pub mod key_selection;
mod matchers;
mod memo;
pub mod message;
pub mod message_id;
mod methods;
mod model;
pub mod multikey;
mod operations;
mod party;
mod protect;
mod readiness;
mod reading;
mod receipt;
pub mod seal;
mod settings;
pub mod sig_input;
pub mod sign;
mod tweaks;
#[cfg(test)]
mod vector_tests;
mod vectors;
mod view;

use super::{
    Channel, Codec, Defect, Diagnosis, Inputs, Kin, Known, Library, Mailbox, Model, ObservationContext, Operation,
    Oracle, Page, Probed, Protocol, Security, Setting, TargetKnowledge,
};
use crate::exchange::{Arrival, ChannelAction, Encoded, Exchange, Transport};
use crate::matcher::Matcher;
use crate::report::Format;
use crate::spelling;
use crate::target::{ChannelProfile, HttpProfile, RouteOverride, Target, TcpProfile, UrlScheme, WsMessages, WsProfile};
use crate::template::Function;
use crate::value::Value;
use crate::vector::Kind;
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

const LAYOUT_NAMES: [&str; LAYOUTS.len()] = {
    let mut names = [""; LAYOUTS.len()];
    let mut index = 0;
    while index < LAYOUTS.len() {
        names[index] = LAYOUTS[index].0;
        index += 1;
    }
    names
};

/// Every legal spelling that leaves the bytes of messages as they are, since messages are signed.
const SPELLINGS: &[spelling::Kind] = &[
    spelling::Kind::Chunked,
    spelling::Kind::ChunkExtensions,
    spelling::Kind::HeaderCase,
    spelling::Kind::HeaderOrder,
    spelling::Kind::HeaderSpace,
    spelling::Kind::HexCase,
    spelling::Kind::PercentEncoding,
    spelling::Kind::Close,
    spelling::Kind::Expect,
    spelling::Kind::Fragments,
    spelling::Kind::Writes,
];

impl Protocol for AmpCore {
    fn slug(&self) -> &'static str {
        "amp-core"
    }

    fn operations(&self) -> &'static [Operation] {
        operations::OPERATIONS
    }

    fn library(&self) -> Option<&'static Library> {
        Some(&methods::LIBRARY)
    }

    fn matchers(&self) -> &'static [&'static dyn Matcher] {
        matchers::ALL
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Ws, Transport::Tcp, Transport::Adapter]
    }

    fn functions(&self) -> &'static [Function] {
        functions::FUNCTIONS
    }

    fn settings(&self) -> &'static [Setting] {
        settings::SETTINGS
    }

    fn vector_kinds(&self) -> &'static [&'static dyn Kind] {
        vectors::ALL
    }

    fn reports(&self) -> &'static [Format] {
        &[interop::FORMAT]
    }

    fn spellings(&self) -> &'static [spelling::Kind] {
        SPELLINGS
    }

    fn url_schemes(&self) -> &'static [UrlScheme] {
        &[
            UrlScheme { name: "amp", transport: Transport::Tcp, tls: false },
            UrlScheme { name: "amps", transport: Transport::Tcp, tls: true },
        ]
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        view::observe(exchange, context)
    }

    fn not_ready(&self, target: &Target, probes: &[Probed]) -> Option<[String; 3]> {
        readiness::not_ready(target, probes)
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

    fn emitted(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
        view::emitted(exchange, context)
    }

    fn codec(&self) -> &dyn Codec {
        self
    }

    fn security(&self) -> Option<&dyn Security> {
        Some(self)
    }

    fn channel(&self) -> Option<&dyn Channel> {
        Some(self)
    }

    fn mailbox(&self) -> Option<&dyn Mailbox> {
        Some(self)
    }

    fn target_knowledge(&self) -> Option<&dyn TargetKnowledge> {
        Some(self)
    }

    fn diagnosis(&self) -> Option<&dyn Diagnosis> {
        Some(&diagnosis::SigInputs)
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self)
    }

    fn model(&self) -> Option<&dyn Model> {
        Some(&model::Sequences)
    }
}

impl Codec for AmpCore {
    fn layouts(&self) -> &'static [&'static str] {
        &LAYOUT_NAMES
    }

    /// CBOR. Bytes in place of a message are sent unchanged.
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

    fn is_beyond_limits(&self, bytes: &[u8]) -> bool {
        use cbor::CborErrorKind::{TooDeep, TooManyItems};
        cbor::parse(bytes).is_err_and(|error| matches!(error.kind, TooDeep(_) | TooManyItems(_)))
    }
}

impl Security for AmpCore {
    fn protect(
        &self,
        operation: &Operation,
        body: Value,
        inputs: &Inputs,
        context: &ObservationContext<'_>,
    ) -> Result<Value, String> {
        if operation.input(operations::WHO.name).is_some() {
            return Ok(protect::with_token(body, inputs, context.target));
        }
        if operation.input("key").is_some() { protect::protected(body, inputs, context) } else { Ok(body) }
    }

    fn protect_again(&self, message: &mut Value, changed: &str) {
        if changed != "sig" {
            protect::again(message);
        }
    }
}

impl Channel for AmpCore {
    fn profile(&self, target: &Target) -> ChannelProfile {
        let word = |name: &str| target.setting(name).and_then(Value::as_text);
        ChannelProfile {
            ws: WsProfile {
                path: Some(word("ws_path").unwrap_or(operations::WEBSOCKET).to_owned()),
                subprotocol: Some(operations::SUBPROTOCOL.to_owned()),
                messages: WsMessages::Binary,
            },
            tcp: TcpProfile {
                types: (word("frames") != Some("bare")).then_some(frame::TYPES),
                longest: Some(frame::LONGEST),
            },
            http: HttpProfile { path: operations::MESSAGES.to_owned(), media_type: operations::CBOR.to_owned() },
            ..ChannelProfile::default()
        }
    }

    fn is_unrelated(&self, message: &[u8], arrival: &Arrival) -> bool {
        view::answers_another(message, arrival)
    }

    fn id_of(&self, message: &[u8]) -> Option<Vec<u8>> {
        view::id_of(message)
    }

    fn refers_to(&self, arrival: &Arrival) -> Vec<Vec<u8>> {
        view::refers_to(arrival)
    }
}

impl Mailbox for AmpCore {
    fn owner(&self, message: &Exchange, context: &ObservationContext<'_>) -> Option<String> {
        let actor = || party::identity(&message.actor, context.target).did().to_owned();
        match message.operation.as_str() {
            "submit" | "deliver" => Some(view::sender(message).unwrap_or_else(actor)),
            // Bytes assembled by a case may be a message too.
            "request" => view::sender(message),
            _ => None,
        }
    }

    fn fetch(&self, exchange: &Exchange, context: &ObservationContext<'_>, behind: Option<&str>) -> Option<Encoded> {
        let configured = context.target.setting("reply").and_then(Value::as_text).unwrap_or("auto");
        // Any status of acceptance. The response may contain the first of several answers (E70).
        let taken = exchange.received.status.is_some_and(|status| (200..300).contains(&status));
        if configured == "response" || !taken {
            return None;
        }
        let sender = self.owner(exchange, context)?;
        Some(Encoded {
            transport: Transport::Http,
            action: ChannelAction::Message,
            base: None,
            operation: "poll".to_owned(),
            method: "GET".to_owned(),
            path: match behind {
                Some(cursor) => {
                    let cursor = crate::protocol::build::percent(cursor);
                    format!("{}?cursor={cursor}&limit=50", operations::MESSAGES)
                }
                None => format!("{}?limit=50", operations::MESSAGES),
            },
            headers: vec![
                ("accept".to_owned(), operations::CBOR.to_owned()),
                ("x-amp-transport-version".to_owned(), "1".to_owned()),
                ("x-principal-did".to_owned(), sender),
            ],
            body: Vec::new(),
            params: Vec::new(),
            payload: None,
            spelling: None,
        })
    }

    /// The cursor of a page (RFC 002 section 6.2).
    fn page(&self, fetched: &[u8]) -> Option<Page> {
        let page = cbor::parse(fetched).ok()?;
        let cursor = page.member("next_cursor")?.as_text()?.to_owned();
        Some(Page { cursor, more: page.member("has_more") == Some(&Value::Bool(true)) })
    }

    fn without_refusals(&self, fetched: &[u8], is_stale: &mut dyn FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        let mut page = cbor::parse(fetched).ok()?;
        let messages = page.member("messages").and_then(Value::as_array)?;
        let mut stale = |one: &Value| matches!(one, Value::Bytes(bytes) if view::is_error(bytes) && is_stale(bytes));
        let rest: Vec<Value> = messages.iter().filter(|one| !stale(one)).cloned().collect();
        if rest.len() == messages.len() {
            return None;
        }
        page.set_member("messages", Value::Array(rest.into()));
        Some(cbor::write(&page))
    }
}

impl TargetKnowledge for AmpCore {
    fn complete(&self, target: &mut Target) {
        // The default actor of a step is alice.
        for (one, other) in [("alice", "a"), ("a", "alice")] {
            if let Some(credentials) = target.credentials.get(one).cloned() {
                target.credentials.entry(other.to_owned()).or_insert(credentials);
            }
        }
        let listed = |transport| target.transports.as_ref().is_some_and(|list| list.contains(&transport));
        // A configured address claims to accept messages: if it does not, that is a finding, not a missing option.
        let named = [("websocket", target.ws.is_some() || listed(Transport::Ws)), ("tcp-frames", target.tcp.is_some())];
        for (feature, _) in named.iter().filter(|(_, named)| *named) {
            target.options.entry((*feature).to_owned()).or_insert(true);
        }
    }

    /// Where tokens are bound to principals (RFC 002 section 7.1), an actor without a token is not authenticated. A case may
    /// use one on purpose.
    fn accepts_actor(&self, target: &Target, actor: &str) -> bool {
        const WITHOUT_CREDENTIALS: &str = "without-token";
        let bound = target.options.get("principals") == Some(&true);
        !bound || actor == WITHOUT_CREDENTIALS || !target.credentials_of(actor).is_empty()
    }

    fn known_names(&self) -> &'static [&'static str] {
        party::KNOWN
    }

    fn known(&self, target: &Target, transport: Transport, captured: &Known) -> Known {
        party::known(target, transport, captured)
    }

    fn route(&self, operation: &str, target: &Target) -> Option<RouteOverride> {
        // The URL of the document of a did:web, also with a path.
        let named = target.setting("did").and_then(Value::as_text).filter(|_| operation == "document")?;
        let url = url::Url::parse(&did::web_url(did::without_fragment(named)).ok()?).ok()?;
        Some(RouteOverride { path: Some(url.path().to_owned()), ..RouteOverride::default() })
    }
}

impl Oracle for AmpCore {
    fn kin(&self) -> &'static [Kin] {
        &[("did:", did::BROKEN)]
    }

    fn defect(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        let carries = matches!(operation.name, "submit" | "deliver");
        let bytes = super::payload(operation, exchange).filter(|_| carries)?;
        defect::of(&bytes, context)
    }

    fn expires_ms(&self, exchange: &Exchange) -> Option<i128> {
        view::expires_ms(exchange)
    }
}
