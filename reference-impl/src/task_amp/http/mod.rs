//! The HTTP binding (binding.md, sections 3 and 7): `server` listens, `service` is what a request meets, `routes` finds the operation of a request, `query` reads
//! its parameters, `reply` makes its answer, `events` streams what is stored.

mod events;
mod query;
mod reply;
mod routes;
mod server;
mod service;

pub(crate) use server::serve;
pub(crate) use service::Server;
