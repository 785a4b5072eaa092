//! The definition of a protocol: its tables, how its answers are read, and its optional concerns.

use std::time::Duration;

use super::channel::Channel;
use super::codec::{Codec, Json};
use super::context::ObservationContext;
use super::diagnosis::Diagnosis;
use super::hosting::Hosting;
use super::library::Library;
use super::mailbox::Mailbox;
use super::model::Model;
use super::operation::Operation;
use super::oracle::Oracle;
use super::security::Security;
use super::target_knowledge::TargetKnowledge;
use crate::exchange::{Exchange, Transport};
use crate::matcher::Matcher;
use crate::report::Format;
use crate::spelling;
use crate::target::{NamedObject, Target, UrlScheme};
use crate::template::Function;
use crate::value::Value;
use crate::vector::Kind;

/// A protocol under test.
///
/// Required are its name, its operations and its reading of answers. Every other table is empty by default, and every
/// concern is absent by default. The accessors are pure: they return the same for every call.
pub trait Protocol: Sync {
    /// Its name in data, folders and commands. Required; lower-case words with hyphens, unique in [`ALL`](super::ALL).
    fn slug(&self) -> &'static str;

    /// The operations. Required; names are unique.
    fn operations(&self) -> &'static [Operation];

    /// The methods of its adapters with their types, for authors of adapters. Default: `None`; required of a protocol whose
    /// operations have methods.
    fn library(&self) -> Option<&'static Library> {
        None
    }

    /// Additional matchers of this protocol. Default: none. A name must not be that of a general
    /// matcher.
    fn matchers(&self) -> &'static [&'static dyn Matcher] {
        &[]
    }

    /// Additional template functions of this protocol. Default: none.
    fn functions(&self) -> &'static [Function] {
        &[]
    }

    /// Keys that a target file may have under `settings`. Default: none.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Places in answers that a target file may configure under `places`. Default: none.
    fn places(&self) -> &'static [Setting] {
        &[]
    }

    /// The template of a new case. Default: `None`, a case with only the inputs of its operation.
    fn starter(&self) -> Option<Starter> {
        None
    }

    /// Its transports, in the order in which they are tried. Default: HTTP and the adapter. A
    /// transport that is not listed is never used, even if the target file has an address for it.
    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Adapter]
    }

    /// Additional kinds of vectors of this protocol. Default: none. A name must not be that of another
    /// kind.
    fn vector_kinds(&self) -> &'static [&'static dyn Kind] {
        &[]
    }

    /// Additional report formats of this protocol. Default: none. Each is written of every
    /// record for which it is requested, also of one without this protocol.
    fn reports(&self) -> &'static [Format] {
        &[]
    }

    /// Additional URL schemes of this protocol, for addresses in target files. Default: none. A scheme belongs to one
    /// protocol.
    fn url_schemes(&self) -> &'static [UrlScheme] {
        &[]
    }

    /// The kinds of objects whose members may have other names at a target (`names` of a target file). Default: none.
    fn named_objects(&self) -> &'static [NamedObject] {
        &[]
    }

    /// Reads an exchange as the value that expectations look at. Required. Never fails: unreadable data is omitted
    /// from the observation or described in it. [`base_view`](super::base_view) is the part common to all protocols.
    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value;

    /// Why no case can be judged at this target, from what its probes received: what was observed, what it means, and what to
    /// do. Default: `None`. What all protocols share (credentials, base path, connection) is recognised without it.
    fn not_ready(&self, _target: &Target, _probes: &[Probed]) -> Option<[String; 3]> {
        None
    }

    /// Whether an observation means that the target accepted the request. Default: `/status` is one of those that the
    /// operation accepts. Twins and set-up steps rest on it.
    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        let status = seen.member("status").and_then(Value::as_integer).and_then(|status| u16::try_from(status).ok());
        status.is_some_and(|status| operation.accepts(status))
    }

    /// What the answer to a probe says about the target as a whole, before any case is judged. Default: it is judged by its
    /// status. A protocol with requests that need no credentials, or that refuses credentials in a message, says so.
    fn readiness(&self, _exchange: &Exchange) -> Readiness {
        Readiness::ByStatus
    }

    /// Whether an answer says that the target is too busy now, so that the same message is sent again after a pause. Default:
    /// its status is 429 or 503 (RFC 6585 section 4, RFC 9110 section 15.6.4). A protocol in which such a status can be the
    /// decisive answer says so.
    fn is_busy(&self, exchange: &Exchange) -> bool {
        matches!(exchange.received.status, Some(429 | 503))
    }

    /// How long a busy target will be busy, if it says so. Default: the seconds of the header field Retry-After (RFC 9110 section
    /// 10.2.3).
    fn busy_for(&self, exchange: &Exchange, _target: &Target) -> Option<Duration> {
        exchange.received.header("retry-after")?.trim().parse().ok().map(Duration::from_secs)
    }

    /// The messages of the target in an exchange, each as a sweep checks it. Default: none, so that sweeps check no
    /// messages.
    fn emitted(&self, _exchange: &Exchange, _context: &ObservationContext<'_>) -> Vec<Value> {
        Vec::new()
    }

    /// How bodies are written and read. Default: JSON without a canonical form.
    fn codec(&self) -> &dyn Codec {
        &Json { canonical_form: None }
    }

    /// How messages are signed and encrypted. Default: `None`, they are sent as built.
    fn security(&self) -> Option<&dyn Security> {
        None
    }

    /// How arrivals on connections that stay open are handled. Default: `None`; required of a protocol whose
    /// [`transports`](Protocol::transports) list one.
    fn channel(&self) -> Option<&dyn Channel> {
        None
    }

    /// How to fetch answers that a target stores for the sender. Default: `None`, the response is the answer.
    fn mailbox(&self) -> Option<&dyn Mailbox> {
        None
    }

    /// Facts derived from a target file and the first probes. Default: `None`.
    fn target_knowledge(&self) -> Option<&dyn TargetKnowledge> {
        None
    }

    /// How peers that proofmark hosts take part. Default: `None`, it hosts none.
    fn hosting(&self) -> Option<&dyn Hosting> {
        None
    }

    /// Whether arbitrary messages are valid. Default: `None`, unknown.
    fn oracle(&self) -> Option<&dyn Oracle> {
        None
    }

    /// The mistakes of implementers that many failures come from. Default: `None`, failures are grouped by what they show.
    fn diagnosis(&self) -> Option<&dyn Diagnosis> {
        None
    }

    /// What a target may answer to a sequence of operations. Default: `None`, sequences cannot be explored.
    fn model(&self) -> Option<&dyn Model> {
        None
    }

    /// The spellings of a message that its specification leaves to a sender. Default: those that change no byte of a message
    /// and of its address, such as a signature may cover.
    fn spellings(&self) -> &'static [spelling::Kind] {
        spelling::Kind::OF_TRANSPORTS
    }

    /// The operation called `name`. Not to be overridden.
    fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations().iter().find(|operation| operation.name == name)
    }
}

/// What the probes of a run exchanged over one transport.
pub type Probed = (Transport, Vec<Exchange>);

/// The template of the case that `proofmark new` writes: a well-formed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Starter {
    /// The input that takes the message.
    pub input: &'static str,
    /// The name that the case gives it.
    pub name: &'static str,
    /// The object of the manifest that it uses.
    pub object: &'static str,
}

/// What the answer to a probe says about the target as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// Its status decides.
    ByStatus,
    /// Nothing, since anything may answer there.
    Silent,
    /// The target demands credentials, or others.
    NeedsCredentials,
}

/// A key that a target file may have under `settings` or `places`.
pub struct Setting {
    /// The key.
    pub name: &'static str,
    /// One sentence of documentation: its meaning, and the default.
    pub summary: &'static str,
    /// The permitted words; empty if any value is permitted.
    pub words: &'static [&'static str],
    /// An example value for a target file.
    pub example: &'static str,
}
