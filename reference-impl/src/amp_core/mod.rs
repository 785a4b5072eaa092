//! The Agent Messaging Protocol (RFC 001 v0.30), and the parts of its transport binding (RFC 002 v0.15) that an
//! endpoint needs.
//!
//! Reading order: [`message`] (the data), [`envelope`] (bytes to data and back), [`sig_input`], [`signature`], [`seal`]
//! (what protects it), [`did`], [`document`], [`key_selection`], [`keys`] (whose keys), [`time`], [`receive`] (all of it in the order
//! in which a recipient checks), [`bodies`] (the schema of each type), [`build`] and [`error`] (making messages). Then what
//! lives longer than one message: [`version`], [`negotiation`], [`stream`], [`batch`], [`ack`], [`retry`]; and around
//! messages: [`frame`], [`wrapper`]. [`adapter`] shows all of it as a library. [`fault`] lists the mistakes that can be
//! planted, [`variant`] the readings that can be taken.

mod adapter;

pub(crate) mod ack;
pub(crate) mod batch;
pub(crate) mod bodies;
pub(crate) mod build;
pub(crate) mod capability;
pub(crate) mod careless;
pub(crate) mod codes;
pub(crate) mod did;
pub(crate) mod document;
pub(crate) mod envelope;
pub(crate) mod error;
pub(crate) mod fault;
mod faults;
pub(crate) mod frame;
mod implementation;
pub(crate) mod key_selection;
pub(crate) mod keys;
pub(crate) mod message;
pub(crate) mod message_id;
pub(crate) mod negotiation;
pub(crate) mod net;
pub(crate) mod node;
pub(crate) mod receive;
pub(crate) mod rejection;
mod remembered;
pub(crate) mod retry;
pub(crate) mod role;
pub(crate) mod rules;
pub(crate) mod seal;
pub(crate) mod sig_input;
pub(crate) mod signature;
mod store;
pub(crate) mod stream;
pub(crate) mod time;
mod variant;
pub(crate) mod version;
pub(crate) mod wrapper;

pub(crate) use implementation::AmpCore;
