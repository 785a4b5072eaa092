//! The message bus and the single source of truth: what is stored, in which order, and which roles hear of it.
//!
//! One write transaction per accepted message holds the message and everything that the roles answer at once. [`Turn`] is one
//! such transaction; `submit` and `control` are its ways in, `read` answers questions.

mod control;
mod core;
mod read;
mod state;
mod submit;
mod turn;

pub(crate) use self::core::{Bus, Failure};
pub(crate) use control::{Call, refused};
pub(crate) use read::Page;
pub(crate) use state::Options;
pub(crate) use submit::{Answer, Body};
pub(crate) use turn::Turn;
