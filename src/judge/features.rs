//! What a target offers and claims, from what the probes exchanged.

use std::collections::BTreeMap;

use super::{Context, Facts, Transcript};
use crate::exchange::{Ended, Exchange, Transport};
use crate::plan::{PROBE_STEPS, Plan, compile};
use crate::record::{FeatureRecord, FeatureState};
use crate::suite::{Expectation, Feature};
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
        for (transport, exchanges) in &transcript.probes {
            for (index, feature) in manifest.features.iter().enumerate() {
                let own: Vec<&Exchange> =
                    exchanges.iter().filter(|exchange| exchange.step / PROBE_STEPS == index).collect();
                let state = configured(plan, feature, *transport)
                    .unwrap_or_else(|| state_of(plan, facts, feature, own.last().copied()));
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

fn state_of(plan: &Plan<'_>, facts: Facts, feature: &Feature, last: Option<&Exchange>) -> FeatureState {
    if feature.steps.is_empty() {
        // There is nothing to ask: only its owner can say that the target has it.
        return FeatureState::Absent;
    }
    let Some(exchange) = last else { return FeatureState::Unknown };
    if !matches!(exchange.received.ended, Ended::Complete | Ended::TooLong) {
        return FeatureState::Unknown;
    }
    let seen = plan.knowledge.protocol.observe(exchange, plan.target, facts.clock);
    let all_hold = |expectations: &[Expectation]| {
        !expectations.is_empty()
            && expectations.iter().all(|expectation| {
                let argument = expectation.argument.constant().cloned().unwrap_or(Value::Null);
                compile(plan.knowledge.protocol, expectation, &argument)
                    .is_ok_and(|check| matches!(check.check(&seen), crate::matcher::Outcome::Holds(_)))
            })
    };
    if all_hold(&feature.missing) {
        FeatureState::Absent
    } else if all_hold(&feature.offered) {
        FeatureState::Offered
    } else {
        FeatureState::Unclear
    }
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
