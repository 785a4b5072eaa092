//! The roles' image of the single source of truth: what is known about each task, folded from what is stored there.
//!
//! It is the same for every role, and for the bus, a role of its own process, and the library. Nothing here decides: a stored
//! fact goes in, in order, and the state follows. So a restart reads the store once more, and has the state again.

mod book;
mod context;
mod task;

pub(crate) use book::{HEARTBEAT_SEC, Instruction, Ledger};
pub(crate) use context::{alignment, takes_any_subtask};
pub(crate) use task::{State, Task, Timer};
