//! A process of one role that works on a single source of truth elsewhere (binding.md, section 9): `client` speaks HTTP,
//! `process` is the loop.

mod client;
mod process;

pub(crate) use process::{Order, run};
