//! Facts about a target that a protocol derives beyond the target file.

use super::context::Known;
use crate::exchange::Transport;
use crate::target::{RouteOverride, Target};

/// What follows from a target file and from the first probes of a target.
pub trait TargetKnowledge: Sync {
    /// Fills in values that follow from the target file, such as addresses at default paths. Default: none. Values of
    /// the file must be kept.
    fn complete(&self, _target: &mut Target) {}

    /// Whether the target can accept messages of an actor, according to its file: a target that requires credentials
    /// rejects an actor without any. Default: true. Cases with an actor that it cannot accept are skipped.
    fn accepts_actor(&self, _target: &Target, _actor: &str) -> bool {
        true
    }

    /// The names of the values of [`TargetKnowledge::known`], the same for every target. Default: none. Templates may
    /// use them.
    fn known_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// The known values of the target over a transport: from its file, and from the captures of the features marked
    /// `first`, which are empty before the probes. Default: none. Must have every name of
    /// [`TargetKnowledge::known_names`].
    fn known(&self, _target: &Target, _transport: Transport, _captured: &Known) -> Known {
        Known::new()
    }

    /// The route of an operation at this target, if settings of its file imply one. Default: `None`, the route of the
    /// operation holds. A route in the target file wins over it.
    fn route(&self, _operation: &str, _target: &Target) -> Option<RouteOverride> {
        None
    }
}
