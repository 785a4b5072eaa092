//! A walk through one case: what to send next, and what the answers show.
//!
//! `run` drives a [`Walk`] while it sends, `judge` drives one over what was recorded. Both see the same values, because
//! everything generated comes from the seed and everything captured from the exchanges.

mod context;
mod features;
mod findings;
mod host_view;
mod hosts;
mod interpreter;
mod live;
mod message;
mod parts;
mod prerequisites;
mod probing;
pub mod readiness;
mod swept;
mod tally;
#[cfg(test)]
mod tests;
mod uses;

pub use context::{CaseTranscript, Context, Facts, Transcript};
pub use features::Features;
pub use hosts::{Choice, Responder, reply as host_reply};
pub use interpreter::Walk;
pub use live::{Walked, Walks};
pub use parts::{Judged, Part, Planned, Stop};
pub use swept::Messages;
pub use uses::library_methods;
