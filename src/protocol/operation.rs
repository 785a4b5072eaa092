//! Operations: the requests of a protocol, as rows of a table.

use std::collections::BTreeMap;

use crate::exchange::{RepositoryAction, Transport, TreeAction};
use crate::target::Target;
use crate::value::Value;

/// The inputs of an operation, by name.
pub type Inputs = BTreeMap<String, Value>;

/// A named thing that the protocol lets a party do.
pub struct Operation {
    /// Its name in suites.
    pub name: &'static str,
    /// One sentence for the manual.
    pub summary: &'static str,
    /// The lowest level that offers it; empty if it does not belong to a level.
    pub level: &'static str,
    /// Its inputs, given in `with`.
    pub inputs: &'static [Input],
    /// Its HTTP request at an endpoint.
    pub route: Option<Route>,
    /// Its use of a connection that stays open.
    pub channel: Option<ChannelPlan>,
    /// Its use of files.
    pub tree: Option<TreePlan>,
    /// Its method at a library.
    pub method: Option<Method>,
    /// Status codes that mean acceptance, from first to last of each pair. Twins and set-up rest on it.
    pub accepted: &'static [(u16, u16)],
}

/// An input of an operation.
pub struct Input {
    /// Its name.
    pub name: &'static str,
    /// Whether the operation cannot be built without it.
    pub required: bool,
    /// The binding that is used if a step does not give the input.
    pub default: Option<&'static str>,
}

/// An HTTP route. `{name}` is replaced by an input, percent-encoded.
pub struct Route {
    /// Name of the base URL, if a target may have several; `None` for the base URL of the target.
    pub base: Option<&'static str>,
    /// HTTP method.
    pub method: &'static str,
    /// Path.
    pub path: &'static str,
    /// Query parameters; a parameter whose input is not given is omitted.
    pub query: &'static [(&'static str, &'static str)],
    /// Header fields that replace or extend those of every request; one without its input is omitted.
    pub headers: &'static [(&'static str, &'static str)],
    /// The body.
    pub body: BodyPlan,
    /// Whether it makes the target send a message, which is then received: over the transport in the input `via`, by
    /// a peer with the behaviour in the input `peer`.
    pub summons: bool,
}

/// The source of the body of an HTTP request.
pub enum BodyPlan {
    /// No body.
    None,
    /// The value of an input.
    Input(&'static str),
    /// An object with a member for each input that is given: member name, input name.
    Object(&'static [(&'static str, &'static str)]),
    /// The text of an input, as this media type.
    Text(&'static str, &'static str),
}

/// An action on a connection that stays open.
pub enum ChannelPlan {
    /// The value of an input is sent as one message.
    Message(&'static str),
    /// A connection is opened. The inputs `path`, `protocols` and the header fields of the step bear on WebSocket.
    Open,
    /// Bytes, or a value that is encoded, as the payload of a frame: the input with the type byte or opcode, and the payload.
    Frame(&'static str, &'static str),
    /// The bytes of an input are sent as they are.
    Raw(&'static str),
    /// Waits for messages.
    Listen,
    /// The connection is closed; the input `how` is a close code, `half` or `reset`.
    Close,
    /// Something is done with a repository of the run; the input is its name. It needs no connection: it is possible over HTTP
    /// and over a tree.
    Repository(RepositoryAction, &'static str),
}

/// An action on files. `{name}` in the path is replaced by an input, which is a name of a file or folder, or part of
/// one.
///
/// | observation | holds |
/// |---|---|
/// | `/status` | 201 for a written file, 409 if it already existed; 200 for files that were read, 404 if no file matched |
/// | `/files` | what was read: `path`, `modified_ms`, `size`, `text` or `hex`, `json` if it is JSON, `author` with git |
/// | `/skipped` | the number of matching entries that are not regular files |
pub struct TreePlan {
    /// The action.
    pub action: TreeAction,
    /// The path from the root. For reads, `*` matches any part of a name, and so does a missing input.
    pub path: &'static str,
    /// The input whose value is written.
    pub content: Option<&'static str>,
    /// The input that names the author of the commit [default: the party].
    pub author: Option<&'static str>,
}

/// A method of the adapter protocol.
pub struct Method {
    /// Its name.
    pub name: &'static str,
    /// Its parameters; one without its input is omitted.
    pub params: &'static [(&'static str, Param)],
}

/// The source of a parameter of an adapter method.
#[derive(Clone, Copy)]
pub enum Param {
    /// The value of an input.
    Input(&'static str),
    /// The JSON text of an input, in hex.
    JsonHex(&'static str),
    /// The same, with a member that an endpoint gets in the path instead. A member that the input already has stays.
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
    /// An input in the encoding of the protocol, in hex. Bytes and text are not encoded.
    Encoded(&'static str),
}

impl Operation {
    /// Whether it can be requested over a transport. With a connection it uses HTTP if it has no channel plan and the
    /// target has a URL.
    pub fn is_offered(&self, transport: Transport, target: &Target) -> bool {
        let at_url = || {
            self.route.as_ref().is_some_and(|route| {
                let own = target.routes.get(self.name).and_then(|own| own.base.as_deref());
                target.base(own.or(route.base)).is_some()
            })
        };
        if self.is_about_a_repository() {
            return matches!(transport, Transport::Http | Transport::Tree);
        }
        match transport {
            Transport::Http => at_url(),
            Transport::Ws | Transport::Tcp => self.channel.is_some() || at_url(),
            Transport::Tree => self.tree.is_some() || at_url(),
            Transport::Adapter => self.method.is_some(),
        }
    }

    /// Whether it is done with a repository of the run, not with the target.
    pub fn is_about_a_repository(&self) -> bool {
        matches!(self.channel, Some(ChannelPlan::Repository(..)))
    }

    /// Whether a status means that the target accepted the request.
    pub fn accepts(&self, status: u16) -> bool {
        self.accepted.iter().any(|(first, last)| (*first..=*last).contains(&status))
    }

    /// The input called `name`.
    pub fn input(&self, name: &str) -> Option<&'static Input> {
        self.inputs.iter().find(|input| input.name == name)
    }
}
