//! Protocols: how requests to a target are built, and how its answers are read.
//!
//! Pure: values and bytes, no sockets. A protocol is a folder here, a row in [`ALL`], and data in `suites/<slug>/`. Most
//! of a protocol is its tables, above all that of its [`Operation`]s, which define how each is sent to an endpoint
//! and to a library. Everything else is an optional concern: each is a trait behind one
//! accessor of [`Protocol`]. Start there.
//!
//! | concern | trait | without it |
//! |---|---|---|
//! | bodies of messages | [`Codec`] | JSON |
//! | signatures and encryption | [`Security`] | messages are sent as they are built |
//! | connections that stay open | [`Channel`] | HTTP and the adapter only |
//! | answers to be fetched | [`Mailbox`] | an answer is the response |
//! | facts about a target | [`TargetKnowledge`] | the target file only |
//! | peers that the target calls | [`Hosting`] | the harness is a client only |
//! | soundness of arbitrary messages | [`Oracle`] | only a failure of the target itself is a finding |
//! | mistakes behind failures | [`Diagnosis`] | failures are grouped by what they show |
//! | answers to arbitrary sequences | [`Model`] | sequences are not explored |

pub mod agentic;
pub mod agentic_mesh;
pub mod amp_core;
mod build;
mod channel;
mod codec;
mod context;
mod definition;
mod diagnosis;
mod hosting;
mod library;
mod mailbox;
pub mod meshai;
mod model;
#[cfg(test)]
mod model_testing;
mod moves;
mod operation;
mod oracle;
mod security;
pub mod shape;
mod target_knowledge;
pub mod task_amp;
mod view;

use url::Url;

use crate::report::{FORMATS, Format};
use crate::target::{Target, UrlScheme};
use crate::vector::Kind;

pub use build::{BuildError, Message, MessageBody, PACE, build, header_fields, own_body, payload, places};
pub use channel::Channel;
pub use codec::{Codec, Json};
pub use context::{Known, ObservationContext};
pub use definition::{Probed, Protocol, Readiness, Setting, Starter};
pub use diagnosis::{Diagnosis, Failure};
pub use hosting::{Consequences, Fence, Hosting, Resident};
pub use library::{Call, Library, NamedShape, Signature};
pub use mailbox::{Mailbox, Page};
pub use model::{AtOnce, Choices, Model, ModelState, Move, Offers, Predicted};
pub use operation::{BodyPlan, ChannelPlan, Input, Inputs, Method, Operation, Param, Route, TreePlan};
pub use oracle::{Defect, Kin, Oracle};
pub use security::Security;
pub use target_knowledge::TargetKnowledge;
pub use view::{base as base_view, hosted as hosted_view, set_times};

/// Every supported protocol.
pub const ALL: &[&dyn Protocol] =
    &[&agentic::Agentic, &amp_core::AmpCore, &agentic_mesh::AgenticMesh, &meshai::MeshAi, &task_amp::TaskAmp];

/// The protocol with this slug.
pub fn find(slug: &str) -> Option<&'static dyn Protocol> {
    ALL.iter().copied().find(|protocol| protocol.slug() == slug)
}

/// Fills in what follows from the target file by the rules of the protocol. A transport must not be given a target for which
/// this was not called.
pub fn complete(protocol: &dyn Protocol, target: &mut Target) {
    target.names.objects = protocol.named_objects();
    if let Some(knowledge) = protocol.target_knowledge() {
        knowledge.complete(target);
    }
    let Some(channel) = protocol.channel() else { return };
    target.channel = channel.profile(target);
    target.channel.schemes = protocol.url_schemes();
    if let (None, Some(url), Some(path)) = (&target.ws, &target.url, &target.channel.ws.path) {
        target.ws = below(url, path);
    }
}

/// The WebSocket endpoint at `path` below the URL of a target, which may have a path of its own.
fn below(url: &Url, path: &str) -> Option<Url> {
    let mut ws = url.clone();
    ws.set_scheme(if url.scheme() == "https" { "wss" } else { "ws" }).ok()?;
    ws.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
    Some(ws)
}

/// The kinds of vectors that protocols have.
pub fn vector_kinds() -> Vec<&'static dyn Kind> {
    ALL.iter().flat_map(|protocol| protocol.vector_kinds()).copied().collect()
}

/// Every format of reports: the general ones, and then those of protocols.
pub fn report_formats() -> Vec<Format> {
    FORMATS.iter().chain(ALL.iter().flat_map(|protocol| protocol.reports())).copied().collect()
}

/// The URL schemes of all protocols: those that a target file may use before its protocol is known.
pub fn url_schemes() -> Vec<UrlScheme> {
    ALL.iter().flat_map(|protocol| protocol.url_schemes()).copied().collect()
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
                let ways = [
                    operation.route.is_some(),
                    operation.channel.is_some(),
                    operation.tree.is_some(),
                    operation.method.is_some(),
                ];
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
                if let Some(tree) = &operation.tree {
                    build::places(tree.path).into_iter().chain(tree.content).chain(tree.author).for_each(known);
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
