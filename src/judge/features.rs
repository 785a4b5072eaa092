//! What a target offers and claims, from what the probes exchanged.

use std::collections::BTreeMap;

use super::walk::{Part, Walk};
use super::{Context, Facts, Transcript};
use crate::exchange::{Ended, Exchange, Transport};
use crate::plan::{PROBE_STEPS, Plan, ReadyCase, operations};
use crate::record::{FeatureRecord, FeatureState};
use crate::suite::Feature;
use crate::value::Value;

/// What a target offers and claims.
#[derive(Clone, Debug, Default)]
pub struct Features {
    states: BTreeMap<(u8, String), FeatureState>,
    /// Position of the level that it claims.
    pub claimed: usize,
    /// What it says of itself, as it says it.
    pub declared: Option<Value>,
}

impl Features {
    /// Whether a feature is offered by a path.
    pub fn state(&self, transport: Transport, feature: &str) -> FeatureState {
        let key = (path(transport), feature.to_owned());
        self.states.get(&key).copied().unwrap_or(FeatureState::Unknown)
    }

    /// Reads the probes of `transcript`.
    pub fn read(plan: &Plan<'_>, facts: Facts, transcript: &Transcript) -> Self {
        let manifest = &plan.knowledge.manifest;
        let mut features = Self { claimed: plan.knowledge.level(&manifest.claims.default), ..Self::default() };
        let unprobed = Context { plan, facts, features: Self::default() };
        for (transport, exchanges) in &transcript.probes {
            let probes = plan.probes(*transport);
            for (index, feature) in manifest.features.iter().enumerate() {
                let own: Vec<&Exchange> =
                    exchanges.iter().filter(|exchange| exchange.step / PROBE_STEPS == index).collect();
                let state = configured(plan, feature, *transport)
                    .unwrap_or_else(|| state_of(&unprobed, &probes, feature, &own));
                features.states.insert((path(*transport), feature.name.value.clone()), state);
                if let Some(claim) = &manifest.claims.level
                    && claim.feature.value == feature.name.value
                    && let Some(exchange) = own.last()
                {
                    let seen = plan.knowledge.protocol.observe(exchange, plan.target, facts.clock);
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

fn path(transport: Transport) -> u8 {
    match transport {
        Transport::Http => 0,
        Transport::Adapter => 1,
    }
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
    if !matches!(last.received.ended, Ended::Complete | Ended::TooLong) {
        return FeatureState::Unknown;
    }
    let mut walk = Walk::new(unprobed, probe, Part::Probe);
    let exchanges: Vec<Exchange> = exchanges.iter().map(|exchange| (*exchange).clone()).collect();
    walk.replay(&exchanges, None);
    if walk.shows(&feature.missing, last) {
        FeatureState::Absent
    } else if walk.shows(&feature.offered, last) {
        FeatureState::Offered
    } else {
        FeatureState::Unclear
    }
}

/// The floor that a target has not shown itself to stand on, if there is one: a feature without which nothing passes.
pub(super) fn below_floor<'p>(context: &Context<'p>, transport: Transport) -> Option<&'p Feature> {
    let knowledge = context.plan.knowledge;
    let word = match transport {
        Transport::Http => "endpoint",
        Transport::Adapter => "adapter",
    };
    let asked_of_it = |feature: &&Feature| {
        let probe = knowledge.probes.iter().find(|probe| probe.name.value == feature.name.value);
        let operations = probe.map(|probe| operations(knowledge.protocol, probe)).unwrap_or_default();
        operations.iter().all(|operation| knowledge.level(operation.level) <= context.features.claimed)
    };
    knowledge
        .manifest
        .features
        .iter()
        .filter(|feature| feature.floor.iter().any(|kind| kind.value == word))
        .filter(asked_of_it)
        .find(|feature| context.features.state(transport, &feature.name) != FeatureState::Offered)
}

/// The features for the record.
pub(super) fn records(context: &Context<'_>, transcript: &Transcript) -> Vec<FeatureRecord> {
    let mut records = Vec::new();
    for (transport, exchanges) in &transcript.probes {
        for (index, feature) in context.plan.knowledge.manifest.features.iter().enumerate() {
            let suffix = match transport {
                Transport::Adapter if transcript.probes.len() > 1 => "@adapter",
                _ => "",
            };
            let state = context.features.state(*transport, &feature.name);
            let found = matches!(state, FeatureState::Offered);
            records.push(FeatureRecord {
                feature: format!("{}{suffix}", feature.name.value),
                about: feature.about.clone(),
                state,
                advice: if found { String::new() } else { feature.advice.clone() },
                exchanges: exchanges.iter().filter(|exchange| exchange.step / PROBE_STEPS == index).cloned().collect(),
            });
        }
    }
    records
}
