//! What a protocol knows of a target beyond its file.

use super::context::Known;
use crate::exchange::Transport;
use crate::target::{RouteOverride, Target};

/// What follows from a target file and from the first probes of a target.
pub trait TargetKnowledge: Sync {
    /// Fills in what follows from the target file, such as addresses at default paths. Default: nothing follows. What the
    /// file says must stay.
    fn complete(&self, _target: &mut Target) {}

    /// Whether the target can accept messages of an actor at all, as far as its file says: a target that requires credentials
    /// cannot accept those of an actor that has none. Default: it can. Cases with an actor that it cannot hear are not run.
    fn is_heard(&self, _target: &Target, _actor: &str) -> bool {
        true
    }

    /// The names that [`TargetKnowledge::known`] gives values to, whatever the target. Default: none. Templates may use them.
    fn known_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// What is known of the target as it is reached over a transport: from its file, and from what the features marked
    /// `first` captured, which is empty before they were probed. Default: nothing. Must have every name of
    /// [`TargetKnowledge::known_names`].
    fn known(&self, _target: &Target, _transport: Transport, _captured: &Known) -> Known {
        Known::new()
    }

    /// The route of an operation at this target, where settings of its file imply one. Default: `None`, the route of the
    /// operation holds. A route in the target file wins over it.
    fn route(&self, _operation: &str, _target: &Target) -> Option<RouteOverride> {
        None
    }
}
