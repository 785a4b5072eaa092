//! What a target offers and claims.

use std::collections::BTreeMap;

use crate::exchange::{HostUrls, Transport};
use crate::protocol::Known;
use crate::record::FeatureState;
use crate::suite::LevelSet;
use crate::value::Value;

/// What a target offers and claims.
#[derive(Clone, Debug, Default)]
pub struct Features {
    pub(super) states: BTreeMap<(Transport, String), FeatureState>,
    pub(super) known: BTreeMap<Transport, Known>,
    /// The levels that it claims, with all that they include.
    pub claimed: LevelSet,
    /// Where the hosts of the run are reached.
    pub hosts: BTreeMap<String, HostUrls>,
    /// Its own description, as received.
    pub declared: Option<Value>,
}

impl Features {
    /// Whether a feature is offered by a path.
    pub fn state(&self, transport: Transport, feature: &str) -> FeatureState {
        let key = (transport, feature.to_owned());
        self.states.get(&key).copied().unwrap_or(FeatureState::Unknown)
    }

    /// What is known of the target as it is reached over `transport`.
    pub fn known(&self, transport: Transport) -> &Known {
        static NOTHING: Known = Known::new();
        self.known.get(&transport).unwrap_or(&NOTHING)
    }
}
