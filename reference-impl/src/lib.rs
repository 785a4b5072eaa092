//! A second, independent implementation of the agent protocols that proofmark tests.
//!
//! proofmark is tested against it. It shares no code with proofmark and is written from the specifications alone. An
//! implementer reads it to answer questions, so clarity precedes speed, and each rule is next to the number of its
//! section.
//!
//! [`ALL`] has one row for each protocol. Everything that a program does with an implementation goes through the trait
//! [`Implementation`]; all other code is independent of the protocols.
//!
//! # The map
//!
//! Each module imports only what the last column names; "above" means every row further up. `tests/layers.rs` checks the
//! source against this table, and that no file imports, directly or through others, a file that imports it.
//!
//! | modules | what lives there | may import |
//! |---|---|---|
//! | `names` | the nearest of several names | nothing |
//! | `json` | JSON values, a reader with a choice of strictness, a writer | nothing |
//! | `cbor` | CBOR values, reader and writer | nothing |
//! | `instant` | instants and the clock | nothing |
//! | `variant` | the selected reading where the specification leaves room | nothing |
//! | `fault` | mistakes that can be planted | names |
//! | `store` | durable state on SQLite | nothing |
//! | `setting` | the settings of an implementation, by name and type | names, json |
//! | `config` | what to serve and how | instant, variant, fault, store, setting |
//! | `handle` | a running server | config |
//! | `server` | sockets and pipes; independent of protocols | json |
//! | `implementation` | the trait that a protocol implements, and how proofmark starts it | variant, fault, setting, config, handle |
//! | `agentic` | the Agentic Protocol | above |
//! | `amp_core` | the Agent Messaging Protocol | above but agentic |
//! | `agentic_mesh` | the Agentic Mesh Protocol | above but agentic, amp_core |
//! | `task_amp` | the Agent Message Protocol AMP | above but agentic, amp_core, agentic_mesh |
//! | `meshai` | the Agent Mesh Protocol (MeshAI) | above but agentic, amp_core, agentic_mesh, task_amp |

mod agentic;
mod agentic_mesh;
mod amp_core;
mod cbor;
mod config;
mod fault;
mod handle;
mod implementation;
mod instant;
mod json;
mod meshai;
mod names;
mod server;
mod setting;
mod store;
mod task_amp;
mod variant;

pub use config::{Config, ServeError};
pub use fault::{Also, Fault, Needs, UnknownFault};
pub use handle::Handle;
pub use implementation::{Declared, Implementation, Instance, Pairs, Setup, Work};
pub use setting::{Kind, Setting, SettingError, Settings};
pub use store::{Database, OpenError};
pub use variant::Variant;

/// The implementations, one for each protocol.
pub const ALL: &[&dyn Implementation] =
    &[&agentic::Agentic, &amp_core::AmpCore, &agentic_mesh::AgenticMesh, &task_amp::TaskAmp, &meshai::Meshai];

/// The implementation of the protocol with this slug.
#[must_use]
pub fn find(slug: &str) -> Option<&'static dyn Implementation> {
    ALL.iter().copied().find(|implementation| implementation.slug() == slug)
}
