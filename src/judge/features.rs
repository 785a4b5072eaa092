//! What a target offers and claims, from what the probes exchanged.

use std::collections::BTreeMap;

use super::walk::{Part, Walk};
use super::{Context, Facts, Transcript};
use crate::exchange::{Ended, Exchange, Transport};
use crate::plan::{Plan, ReadyCase, operations, probe_of};
use crate::protocol::Known;
use crate::record::{FeatureRecord, FeatureState};
use crate::suite::Feature;
use crate::value::Value;

/// What a target offers and claims.
#[derive(Clone, Debug, Default)]
pub struct Features {
    states: BTreeMap<(Transport, String), FeatureState>,
    known: BTreeMap<Transport, Known>,
    /// Position of the level that it claims.
    pub claimed: usize,
    /// What it says of itself, as it says it.
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

    /// What is known before anything but the features marked `first` was asked.
    pub fn met(plan: &Plan<'_>, facts: Facts, transcript: &Transcript) -> Self {
        let protocol = plan.knowledge.protocol;
        let known = |transport: Transport, captured: &Known| protocol.known(plan.target, transport, captured);
        let nothing = plan.transports.iter().map(|transport| (*transport, known(*transport, &Known::new())));
        let unmet = Context { plan, facts, features: Self { known: nothing.collect(), ..Self::default() } };
        let mut features = Self::default();
        for (transport, exchanges) in &transcript.probes {
            let mut captured = Known::new();
            for probe in plan.probes(*transport).iter().filter(|probe| plan.is_first(probe)) {
                let index = probe.case.steps.first().map_or(0, |step| probe_of(step.number));
                let own = |exchange: &&Exchange| probe_of(exchange.step) == index;
                let own: Vec<Exchange> = exchanges.iter().filter(own).cloned().collect();
                let mut walk = Walk::new(&unmet, probe, Part::Probe, 0);
                walk.replay(&own, None);
                captured.extend(walk.captured());
            }
            features.known.insert(*transport, known(*transport, &captured));
        }
        for transport in &plan.transports {
            features.known.entry(*transport).or_insert_with(|| known(*transport, &Known::new()));
        }
        features
    }

    /// Reads the probes of `transcript`.
    pub fn read(plan: &Plan<'_>, facts: Facts, transcript: &Transcript) -> Self {
        let manifest = &plan.knowledge.manifest;
        let unprobed = Context { plan, facts, features: Self::met(plan, facts, transcript) };
        let known = unprobed.features.known.clone();
        let mut features = Self { claimed: plan.knowledge.level(&manifest.claims.default), known, ..Self::default() };
        for (transport, exchanges) in &transcript.probes {
            let probes = plan.probes(*transport);
            for (index, feature) in manifest.features.iter().enumerate() {
                let own: Vec<&Exchange> =
                    exchanges.iter().filter(|exchange| probe_of(exchange.step) == index).collect();
                let state = configured(plan, feature, *transport)
                    .unwrap_or_else(|| state_of(&unprobed, &probes, feature, &own));
                features.states.insert((*transport, feature.name.value.clone()), state);
                if let Some(claim) = &manifest.claims.level
                    && claim.feature.value == feature.name.value
                    && let Some(exchange) = own.last()
                {
                    let seen = plan.knowledge.protocol.observe(exchange, &unprobed.sight(*transport));
                    let level = claim.at.resolve(&seen).and_then(Value::as_text);
                    let known = |name: &str| manifest.levels.iter().position(|level| level.value == name);
                    if features.declared.is_none() {
                        features.declared = seen.member("body").filter(|body| body.as_map().is_some()).cloned();
                        if let Some(position) = level.and_then(known) {
                            features.claimed = position;
                        }
                    }
                }
            }
        }
        if let Some(level) = &plan.target.level {
            features.claimed = plan.knowledge.level(level);
        }
        features
    }
}

/// When a probe began, as far as its exchanges tell: what is made of a present time in it is never judged.
fn begun(exchanges: &[&Exchange]) -> u64 {
    exchanges.first().map_or(0, |exchange| exchange.started_ms)
}

/// What the target file says of a feature.
fn configured(plan: &Plan<'_>, feature: &Feature, transport: Transport) -> Option<FeatureState> {
    if let Some(offered) = plan.target.options.get(&feature.name.value) {
        return Some(if *offered { FeatureState::Offered } else { FeatureState::Absent });
    }
    // A route that somebody configured is there: if it does not work, that is the target's fault.
    let operation = feature.operation.as_ref()?;
    (transport == Transport::Http && plan.target.routes.contains_key(&operation.value)).then_some(FeatureState::Offered)
}

fn state_of(
    unprobed: &Context<'_>,
    probes: &[ReadyCase<'_>],
    feature: &Feature,
    exchanges: &[&Exchange],
) -> FeatureState {
    if feature.steps.is_empty() {
        // There is nothing to ask: only its owner can say that the target has it.
        return FeatureState::Absent;
    }
    let probe = probes.iter().find(|probe| probe.case.name.value == feature.name.value);
    let (Some(probe), Some(last)) = (probe, exchanges.last()) else { return FeatureState::Unknown };
    // A peer may close a connection behind a refusal, which has been said all the same.
    let spoke = last.sent.transport.is_channel() && !last.received.arrived.is_empty();
    let whole = matches!(last.received.ended, Ended::Complete | Ended::TooLong);
    let closed = matches!(last.received.ended, Ended::Closed(_));
    if !(whole || spoke && closed) {
        return FeatureState::Unknown;
    }
    let mut walk = Walk::new(unprobed, probe, Part::Probe, begun(exchanges));
    let exchanges: Vec<Exchange> = exchanges.iter().map(|exchange| (*exchange).clone()).collect();
    walk.replay(&exchanges, None);
    if walk.shows(&feature.missing, last) {
        FeatureState::Absent
    } else if walk.shows(&feature.offered, last) {
        FeatureState::Offered
    } else if !whole {
        FeatureState::Unknown
    } else {
        FeatureState::Unclear
    }
}

/// The floor that a target has not shown itself to stand on, if there is one: a feature without which nothing passes.
pub(super) fn below_floor<'p>(context: &Context<'p>, transport: Transport) -> Option<&'p Feature> {
    let knowledge = context.plan.knowledge;
    let asked_of_it = |feature: &&Feature| {
        let probe = knowledge.probes.iter().find(|probe| probe.name.value == feature.name.value);
        let operations = probe.map(|probe| operations(knowledge.protocol, probe)).unwrap_or_default();
        operations.iter().all(|operation| knowledge.level(operation.level) <= context.features.claimed)
    };
    knowledge
        .manifest
        .features
        .iter()
        .filter(|feature| feature.floor.iter().any(|kind| transport.is_meant_by(&kind.value)))
        .filter(asked_of_it)
        .find(|feature| context.features.state(transport, &feature.name) != FeatureState::Offered)
}

/// The features for the record.
pub(super) fn records(context: &Context<'_>, transcript: &Transcript) -> Vec<FeatureRecord> {
    let mut records = Vec::new();
    for (transport, exchanges) in &transcript.probes {
        for (index, feature) in context.plan.knowledge.manifest.features.iter().enumerate() {
            let suffix = if transcript.probes.len() > 1 { transport.suffix() } else { "" };
            let state = context.features.state(*transport, &feature.name);
            let found = matches!(state, FeatureState::Offered);
            records.push(FeatureRecord {
                feature: format!("{}{suffix}", feature.name.value),
                about: feature.about.clone(),
                state,
                advice: if found { String::new() } else { feature.advice.clone() },
                exchanges: exchanges.iter().filter(|exchange| probe_of(exchange.step) == index).cloned().collect(),
            });
        }
    }
    records
}
