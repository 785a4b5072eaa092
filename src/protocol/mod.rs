//! Protocols: what is said to a target, and how its answers are read.
//!
//! Pure: values and bytes, no sockets. A protocol is a folder here, a row in [`ALL`], and data in `suites/<slug>/`. Most
//! of a protocol is its table of [`Operation`]s, which says how each is asked for at an endpoint and at a library; the
//! rest turns an answer into an observation, the value that expectations look at. Start with [`Protocol`].

pub mod agentic;
pub mod amp_core;
mod build;
mod view;

use std::collections::BTreeMap;

use crate::exchange::{Arrival, Encoded, Exchange, Transport};
use crate::matcher::Matcher;
use crate::target::{RouteOverride, Target};
use crate::template::{Clock, Function};
use crate::value::Value;
use crate::wire::canonical::Form;
use crate::wire::json::{self, Layout};

pub use build::{BuildError, Inputs, Message, MessageBody, build, payload, places};
pub use view::base as base_view;

/// Every protocol that proofmark knows.
pub const ALL: &[&dyn Protocol] = &[&agentic::Agentic, &amp_core::AmpCore];

/// The protocol with this slug.
pub fn find(slug: &str) -> Option<&'static dyn Protocol> {
    ALL.iter().copied().find(|protocol| protocol.slug() == slug)
}

/// A protocol under test.
pub trait Protocol: Sync {
    /// Its name in data, folders and commands.
    fn slug(&self) -> &'static str;

    /// What a party may ask of another.
    fn operations(&self) -> &'static [Operation];

    /// Matchers that only this protocol has.
    fn matchers(&self) -> &'static [&'static dyn Matcher] {
        &[]
    }

    /// The canonical form that its content hashes are over, if it has any.
    fn canonical_form(&self) -> Option<Form> {
        None
    }

    /// The transports that it is spoken over, in the order in which they are tried.
    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Adapter]
    }

    /// Functions of templates that only this protocol has.
    fn functions(&self) -> &'static [Function] {
        &[]
    }

    /// What the owner of a target may say about it under `settings` of the target file.
    fn settings(&self) -> &'static [Setting] {
        &[]
    }

    /// Fills in what follows from what the owner of a target said: addresses at the usual places.
    fn complete(&self, _target: &mut Target) {}

    /// Whether a target listens to a party at all, as far as its owner has said. Where it takes messages of a party only with
    /// credentials of that party, it does not listen to one that has none.
    fn is_heard(&self, _target: &Target, _actor: &str) -> bool {
        true
    }

    /// The names that [`Protocol::known`] gives values to.
    fn known_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// What is known of a target once it has been met: from its file, and from what the features marked `first` captured.
    fn known(&self, _target: &Target, _transport: Transport, _captured: &Known) -> Known {
        Known::new()
    }

    /// Signs or seals a message. Protocols without message security keep this default.
    ///
    /// # Errors
    ///
    /// In words, where the inputs ask for what cannot be done: a mistake of the suite.
    fn protect(
        &self,
        _operation: &Operation,
        body: Value,
        _inputs: &Inputs,
        _sight: &Sight<'_>,
    ) -> Result<Value, String> {
        Ok(body)
    }

    /// The ways in which a body may be laid out, the usual one first.
    fn layouts(&self) -> &'static [&'static str] {
        &["compact", "pretty", "reversed"]
    }

    /// Writes the body of a message in one of [`Protocol::layouts`]. JSON unless the protocol says otherwise.
    fn encode(&self, body: &Value, layout: &str) -> Vec<u8> {
        let layout = match layout {
            "pretty" => Layout::Pretty,
            "reversed" => Layout::Reversed,
            _ => Layout::Compact,
        };
        json::write(body, layout).into_bytes()
    }

    /// Reads an exchange as the value that expectations look at. Never fails: what cannot be read is seen as such.
    fn observe(&self, exchange: &Exchange, sight: &Sight<'_>) -> Value;

    /// Whether an answer means that the target did what it was asked, where the operation itself cannot tell by a status.
    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        let status = seen.member("status").and_then(Value::as_integer).and_then(|status| u16::try_from(status).ok());
        status.is_some_and(|status| operation.accepts(status))
    }

    /// Signs a message of the target again after a change, where proofmark has the keys of the target because they are its
    /// own, as those of the reference implementation are; `changed` is the member that was changed. Anything else stays.
    fn protect_again(&self, _message: &mut Value, _changed: &str) {}

    /// Reads the body of a message, or a value of an adapter's parameters, that may be malformed: what [`Protocol::encode`]
    /// writes. JSON unless the protocol says otherwise.
    fn decode(&self, bytes: &[u8]) -> Option<Value> {
        json::parse(bytes).ok()
    }

    /// Why no target may take the message of an exchange, if that is beyond doubt under every reading: for messages that
    /// nobody has thought of, such as those of a fuzzer. `None` where it is sound, and where it cannot be told.
    fn defect(&self, _exchange: &Exchange, _sight: &Sight<'_>) -> Option<Defect> {
        None
    }

    /// Whether answers to a message can still come after those that are there, so that it is worth while to wait.
    fn may_follow(&self, _exchange: &Exchange, _sight: &Sight<'_>) -> bool {
        false
    }

    /// Whether something that arrived over a connection has nothing to do with the message whose bytes were sent last: it keeps
    /// the connection alive, answers an earlier message, or comes by itself.
    fn is_beside(&self, _message: &[u8], arrival: &Arrival) -> bool {
        arrival.is_keep_alive()
    }

    /// The request that fetches answers which the target keeps for the sender, if it may keep some: those behind a place that
    /// [`Protocol::next`] has given, or the first.
    fn fetch(&self, _exchange: &Exchange, _sight: &Sight<'_>, _behind: Option<&str>) -> Option<Encoded> {
        None
    }

    /// The place behind what was fetched, if the target names one, and whether something lies behind it already.
    fn next(&self, _fetched: &[u8]) -> Option<(String, bool)> {
        None
    }

    /// The instant at which the message of an exchange stops being good, in milliseconds after 1970: whoever gets it later
    /// may refuse it for that alone. `None` where time does not matter, or is said in the call.
    fn expires_ms(&self, _exchange: &Exchange) -> Option<i128> {
        None
    }

    /// Where an operation is at this target, if what its owner says of it tells and no route of the target file does.
    fn route(&self, _operation: &str, _target: &Target) -> Option<RouteOverride> {
        None
    }

    /// Whose answers they are that [`Protocol::fetch`] would fetch for a message.
    fn mailbox(&self, _message: &Exchange, _sight: &Sight<'_>) -> Option<String> {
        None
    }

    /// The messages that the target made in an exchange, each as a sweep looks at it.
    fn emitted(&self, _exchange: &Exchange, _sight: &Sight<'_>) -> Vec<Value> {
        Vec::new()
    }

    /// The operation called `name`.
    fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations().iter().find(|operation| operation.name == name)
    }
}

/// Why no target may take a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The requirement that is broken by taking it.
    pub requirement: &'static str,
    /// What is wrong, fit to follow the words "the message has".
    pub because: String,
}

/// Names and values that are known of a target once it has been met.
pub type Known = BTreeMap<String, Value>;

/// What an answer is seen in the light of.
#[derive(Clone, Copy)]
pub struct Sight<'a> {
    /// The target.
    pub target: &'a Target,
    /// What carried the question.
    pub transport: Transport,
    /// Start of the run.
    pub clock: Clock,
    /// What is known of the target.
    pub known: &'a Known,
}

/// Something that the owner of a target may say about it.
pub struct Setting {
    /// Its key under `settings`.
    pub name: &'static str,
    /// One sentence for the manual: what it says, and what holds without it.
    pub summary: &'static str,
    /// The words that it may be, or none where it may be any value.
    pub words: &'static [&'static str],
    /// A value as it stands in a target file.
    pub example: &'static str,
}

/// A named thing that the protocol lets a party do.
pub struct Operation {
    /// Its name in suites.
    pub name: &'static str,
    /// One sentence for the manual.
    pub summary: &'static str,
    /// Lowest level that offers it; the empty string for what belongs to no level.
    pub level: &'static str,
    /// What may be said `with` it.
    pub inputs: &'static [Input],
    /// How an endpoint is asked.
    pub route: Option<Route>,
    /// How it is asked over a connection that stays open.
    pub channel: Option<ChannelPlan>,
    /// How a library is asked.
    pub method: Option<Method>,
    /// What acceptance looks like: the status codes, from first to last of each pair. Twins and set-up rest on it.
    pub accepted: &'static [(u16, u16)],
}

/// Something that an operation may be given.
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// Whether the operation cannot be built without it.
    pub required: bool,
    /// The binding that is used where a step does not say.
    pub default: Option<&'static str>,
}

/// An HTTP route. `{name}` stands for an input, percent-encoded.
pub struct Route {
    /// HTTP method.
    pub method: &'static str,
    /// Path.
    pub path: &'static str,
    /// Query parameters; one whose input is not given is left out.
    pub query: &'static [(&'static str, &'static str)],
    /// Header fields in the place of, or besides, those that every request has; one whose input is not given is left out.
    pub headers: &'static [(&'static str, &'static str)],
    /// The body.
    pub body: BodyPlan,
    /// Whether it tells the target to send something, which is then listened for: over what the input `via` says, by a peer
    /// that behaves as the input `peer` says.
    pub summons: bool,
}

/// What the body of an HTTP request is made of.
pub enum BodyPlan {
    /// There is none.
    None,
    /// The value of an input.
    Input(&'static str),
    /// An object with a member for each input that is given: member name, input name.
    Object(&'static [(&'static str, &'static str)]),
    /// The text of an input, as this media type.
    Text(&'static str, &'static str),
}

/// What is done with a connection that stays open.
pub enum ChannelPlan {
    /// The value of an input is sent as one message.
    Message(&'static str),
    /// A connection is opened. The inputs `path`, `protocols` and the header fields of the step bear on WebSocket.
    Open,
    /// Bytes, or a value that is encoded, as the payload of a frame: the input with the type byte or opcode, and the payload.
    Frame(&'static str, &'static str),
    /// The bytes of an input are sent as they are.
    Raw(&'static str),
    /// What comes is waited for.
    Listen,
    /// The connection is closed; the input `how` is a close code, `half` or `reset`.
    Close,
}

/// A method of the adapter protocol.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its parameters; one whose input is not given is left out.
    pub params: &'static [(&'static str, Param)],
}

/// Where a parameter of an adapter method comes from.
#[derive(Clone, Copy)]
pub enum Param {
    /// The value of an input.
    Input(&'static str),
    /// The JSON text of an input, in hex.
    JsonHex(&'static str),
    /// The same, with a member that an endpoint is told by the path instead; one that the input has stands.
    JsonHexWith {
        /// The input, an object.
        input: &'static str,
        /// The member.
        member: &'static str,
        /// The input that the member is taken from.
        value: &'static str,
    },
    /// The text of an input, in hex.
    TextHex(&'static str),
    /// An input as the protocol encodes values, in hex. Bytes and text stand for themselves.
    Encoded(&'static str),
}

impl Operation {
    /// Whether it can be asked over a transport. What is no message of a connection is asked over HTTP beside it, if the
    /// target has a URL.
    pub fn is_offered(&self, transport: Transport, has_url: bool) -> bool {
        match transport {
            Transport::Http => self.route.is_some(),
            Transport::Ws | Transport::Tcp => self.channel.is_some() || (has_url && self.route.is_some()),
            Transport::Adapter => self.method.is_some(),
        }
    }

    /// Whether a status means that the target did what it was asked.
    pub fn accepts(&self, status: u16) -> bool {
        self.accepted.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }

    /// The input called `name`.
    pub fn input(&self, name: &str) -> Option<&'static Input> {
        self.inputs.iter().find(|input| input.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sound() {
        for protocol in ALL {
            let mut names = std::collections::HashSet::new();
            for operation in protocol.operations() {
                assert!(names.insert(operation.name), "{} twice", operation.name);
                assert!(operation.summary.ends_with('.'), "{}", operation.name);
                let ways = [operation.route.is_some(), operation.channel.is_some(), operation.method.is_some()];
                assert!(ways.contains(&true), "{}", operation.name);
                let known = |name: &str| assert!(operation.input(name).is_some(), "{}: {name}", operation.name);
                if let Some(route) = &operation.route {
                    let texts = route.query.iter().map(|(_, text)| *text).chain([route.path]);
                    for text in texts {
                        build::places(text).into_iter().for_each(known);
                    }
                    match &route.body {
                        BodyPlan::None => {}
                        BodyPlan::Input(name) | BodyPlan::Text(name, _) => known(name),
                        BodyPlan::Object(members) => members.iter().for_each(|(_, name)| known(name)),
                    }
                }
                if let Some(method) = &operation.method {
                    for (_, param) in method.params {
                        match param {
                            Param::Input(name) | Param::JsonHex(name) | Param::TextHex(name) | Param::Encoded(name) => {
                                known(name);
                            }
                            Param::JsonHexWith { input, value, .. } => {
                                known(input);
                                known(value);
                            }
                        }
                    }
                }
            }
        }
    }
}
