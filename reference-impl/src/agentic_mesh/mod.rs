//! The Agentic Mesh Protocol (draft v0.1): messages with Header, Body and MemoryGram, and the nodes that pass them on.
//!
//! The text leaves out the transport, the form of a fault and the place of header blocks; they are as `binding.md` has them.
//!
//! Reading order: [`process`] (the nine steps of section 4.7, in order), then the steps: [`envelope`], [`version`], [`role`],
//! [`header`], [`ttl`], [`block`], [`understanding`], [`memorygram`], [`modules`], [`body`]; then [`forward`] (the message that
//! an intermediary sends on) and [`originate`] (replies and faults). All of it is a pure function of the text and the [`node`].
//! Around it: [`service`] (forwarding, answers, logs), [`net`] and [`adapter`] (the two ways in), [`store`]. [`fault`] lists
//! the mistakes that can be planted, [`variant`] the readings that can be taken.

mod adapter;
mod block;
mod body;
mod careless;
mod code;
mod envelope;
mod failure;
mod fault;
mod faults;
mod forward;
mod header;
mod ids;
mod implementation;
mod integer;
mod memory;
mod memorygram;
mod message;
mod modules;
mod net;
mod node;
mod originate;
mod pointer;
mod process;
mod role;
mod rules;
mod seal;
mod service;
mod store;
mod ttl;
mod understanding;
mod variant;
mod version;

pub(crate) use implementation::AgenticMesh;
