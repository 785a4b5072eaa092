//! Protocols: what is said to a target, and how its answers are read.
//!
//! Pure: values and bytes, no sockets. A protocol is a folder here, a row in [`ALL`], and data in `suites/<slug>/`. Most
//! of a protocol is its table of [`Operation`]s, which says how each is asked for at an endpoint and at a library; the
//! rest turns an answer into an observation, the value that expectations look at. Start with [`Protocol`].

pub mod agentic;
mod build;
mod view;

use crate::exchange::Exchange;
use crate::matcher::Matcher;
use crate::target::Target;
use crate::template::Clock;
use crate::value::Value;
use crate::wire::canonical::Form;
use crate::wire::json::{self, Layout};

pub use build::{BuildError, Inputs, Message, MessageBody, build, places};
pub use view::base as base_view;

/// Every protocol that proofmark knows.
pub const ALL: &[&dyn Protocol] = &[&agentic::Agentic];

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

    /// Signs or seals a message. Protocols without message security keep this default.
    fn protect(&self, body: Value) -> Value {
        body
    }

    /// Writes the body of a message. JSON unless the protocol says otherwise.
    fn encode(&self, body: &Value, layout: Layout) -> Vec<u8> {
        json::write(body, layout).into_bytes()
    }

    /// Reads an exchange as the value that expectations look at. Never fails: what cannot be read is seen as such.
    fn observe(&self, exchange: &Exchange, target: &Target, clock: Clock) -> Value;

    /// The operation called `name`.
    fn operation(&self, name: &str) -> Option<&'static Operation> {
        self.operations().iter().find(|operation| operation.name == name)
    }
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
    /// The body.
    pub body: BodyPlan,
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
}

impl Operation {
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
                assert!(operation.route.is_some() || operation.method.is_some(), "{}", operation.name);
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
                            Param::Input(name) | Param::JsonHex(name) | Param::TextHex(name) => known(name),
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
