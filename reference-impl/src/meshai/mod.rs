//! The Agent Mesh Protocol (AMP) v1.0 of the MeshAI ecosystem, whose older name is AIP.
//!
//! Reading order: [`message`] (what is received), [`reply`] and [`build`] (what is sent), [`version`], [`codes`] and [`refusal`];
//! [`shapes`], [`schema`] and [`taxonomy`] (identities, capabilities, contexts); [`canonical`], [`signature`], [`jwt`] and
//! [`auth`] (who may send); [`agents`] (what the built-in agents do), [`registry`] and [`context`] (functions of database and
//! input); [`store`] (what is stored). [`node`] is a server, independent of how it is reached, [`net`] how it is reached over HTTP
//! and WebSocket, [`outward`] what it sends by itself, [`adapter`] all of it as a library. [`fault`] lists the mistakes that can
//! be planted, [`variant`] the readings that can be taken.
//!
//! Not implemented: TLS and with it mTLS, queues and gRPC, which have no content to implement (E79).

mod adapter;
mod agents;
mod auth;
mod build;
mod canonical;
mod careless;
mod codes;
mod context;
mod fault;
mod faults;
mod ids;
mod implementation;
mod jwt;
mod keyed;
mod message;
mod net;
mod node;
mod origin;
mod outward;
mod refusal;
mod registry;
mod reply;
mod rules;
mod schema;
mod shapes;
mod signature;
mod store;
mod taxonomy;
mod time;
mod variant;
mod version;

pub(crate) use implementation::Meshai;
