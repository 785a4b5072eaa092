//! The context in which an answer is read.

use std::collections::BTreeMap;

use crate::exchange::Transport;
use crate::target::Target;
use crate::template::Clock;
use crate::value::Value;

/// Names and values that are known of a target after its first probes.
pub type Known = BTreeMap<String, Value>;

/// The context in which an answer is read.
#[derive(Clone, Copy)]
pub struct ObservationContext<'a> {
    /// The target.
    pub target: &'a Target,
    /// What carried the request.
    pub transport: Transport,
    /// Start of the run.
    pub clock: Clock,
    /// The known values of the target.
    pub known: &'a Known,
}
