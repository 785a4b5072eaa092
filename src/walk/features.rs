//! Features and claims of a target.

use std::collections::BTreeMap;

use crate::exchange::{HostUrls, Transport};
use crate::protocol::Known;
use crate::record::FeatureState;
use crate::suite::LevelSet;
use crate::value::Value;

/// Features and claims of a target.
#[derive(Clone, Debug, Default)]
pub struct Features {
    pub(super) states: BTreeMap<(Transport, String), FeatureState>,
    pub(super) known: BTreeMap<Transport, Known>,
    /// The levels that it claims, with all that they include.
    pub claimed: LevelSet,
    /// The URLs of the hosts of the run.
    pub hosts: BTreeMap<String, HostUrls>,
    /// Whether cases decide also where the target lacks what they build on: what a fuzzer starts from needs no working base.
    pub without_prerequisites: bool,
    /// Its own description, as received.
    pub declared: Option<Value>,
}

impl Features {
    /// Whether a feature is offered over a transport.
    pub fn state(&self, transport: Transport, feature: &str) -> FeatureState {
        let key = (transport, feature.to_owned());
        self.states.get(&key).copied().unwrap_or(FeatureState::Unknown)
    }

    /// Takes over what `other`, another run against the same target, found out about features that this run did not probe.
    ///
    /// # Errors
    ///
    /// The name of the first feature in which the runs differ, with both states.
    pub fn join(&mut self, other: &Self) -> Result<(), (String, FeatureState, FeatureState)> {
        for ((transport, feature), state) in &other.states {
            let own = self.states.entry((*transport, feature.clone())).or_insert(FeatureState::Unknown);
            match (*own, *state) {
                (_, FeatureState::Unknown) => {}
                (FeatureState::Unknown, found) => *own = found,
                (own, found) if own == found => {}
                (own, found) => return Err((format!("{feature}{}", transport.suffix()), own, found)),
            }
        }
        if self.declared.is_none() {
            self.declared.clone_from(&other.declared);
        }
        Ok(())
    }

    /// The state of all features over `transport`.
    pub fn known(&self, transport: Transport) -> &Known {
        static NOTHING: Known = Known::new();
        self.known.get(&transport).unwrap_or(&NOTHING)
    }
}
