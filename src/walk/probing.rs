//! Reading the probes: what the target offers and claims, from what they exchanged.

use super::context::{Context, Facts, Transcript};
use super::features::Features;
use super::interpreter::Walk;
use super::parts::Part;
use crate::exchange::{Ended, Exchange, Transport};
use crate::plan::{Plan, ReadyCase, probe_of};
use crate::protocol::Known;
use crate::record::FeatureState;
use crate::suite::{Feature, LevelSet, Levels};
use crate::value::Value;

impl Features {
    /// The features after the probes of those marked `first`.
    pub fn met(plan: &Plan<'_>, facts: Facts, transcript: &Transcript) -> Self {
        let protocol = plan.knowledge.protocol;
        let known = |transport: Transport, captured: &Known| match protocol.target_knowledge() {
            Some(knowledge) => knowledge.known(plan.target, transport, captured),
            None => Known::new(),
        };
        let nothing = plan.transports.iter().map(|transport| (*transport, known(*transport, &Known::new())));
        let unmet = Context {
            plan,
            facts,
            features: Self { known: nothing.collect(), hosts: transcript.hosts.clone(), ..Self::default() },
        };
        let mut features = Self { hosts: transcript.hosts.clone(), ..Self::default() };
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
        let hosts = transcript.hosts.clone();
        let mut features = Self { claimed: plan.scope.default_levels(), known, hosts, ..Self::default() };
        let mut declares_levels = false;
        for (transport, exchanges) in &transcript.probes {
            let probes = plan.probes(*transport);
            for (index, feature) in manifest.features.iter().enumerate() {
                let own: Vec<&Exchange> =
                    exchanges.iter().filter(|exchange| probe_of(exchange.step) == index).collect();
                let absent = (!plan.scope.includes(&feature.reach, *transport)).then_some(FeatureState::Absent);
                let state = absent
                    .or_else(|| configured(plan, feature, *transport))
                    .unwrap_or_else(|| state_of(&unprobed, &probes, feature, &own));
                features.states.insert((*transport, feature.name.value.clone()), state);
                if let Some(claim) = &manifest.claims.level
                    && claim.feature.value == feature.name.value
                    && let Some(exchange) = own.last()
                {
                    let seen = plan.knowledge.protocol.observe(exchange, &unprobed.observation_context(*transport));
                    if features.declared.is_none() {
                        let description =
                            |name: &str| seen.member(name).filter(|body| body.as_map().is_some()).cloned();
                        features.declared = description("body").or_else(|| description("result"));
                        if let Some(levels) =
                            claim.at.resolve(&seen).and_then(|claimed| levels_of(&manifest.levels, claimed))
                        {
                            features.claimed = levels.intersection(plan.scope.observable_levels());
                            declares_levels = true;
                        }
                    }
                }
            }
        }
        let asked: Vec<LevelSet> = plan.asked_levels.iter().filter_map(|name| manifest.levels.find(name)).collect();
        if let Some(levels) = plan.scope.claimed_levels() {
            features.claimed = levels;
        } else if !declares_levels && !asked.is_empty() {
            // A target that says nothing is held against what it is checked for.
            let asked: LevelSet = asked.into_iter().collect();
            features.claimed = asked.intersection(plan.scope.observable_levels());
        }
        features.offer_listed(plan, transcript, &unprobed);
        features
    }

    /// Features without a probe that the description of the target lists are offered, unless the target file denies it.
    fn offer_listed(&mut self, plan: &Plan<'_>, transcript: &Transcript, unprobed: &Context<'_>) {
        let manifest = &plan.knowledge.manifest;
        let Some(claim) = &manifest.claims.features else { return };
        let Some(index) = manifest.features.iter().position(|feature| feature.name.value == claim.feature.value) else {
            return;
        };
        for (transport, exchanges) in &transcript.probes {
            let Some(last) = exchanges.iter().rev().find(|exchange| probe_of(exchange.step) == index) else { continue };
            let seen = plan.knowledge.protocol.observe(last, &unprobed.observation_context(*transport));
            let listed = claim.at.resolve(&seen).and_then(Value::as_array).unwrap_or_default();
            let listed: Vec<String> =
                listed.iter().filter_map(Value::as_text).map(|name| name.replace('_', "-")).collect();
            for feature in manifest.features.iter().filter(|feature| feature.steps.is_empty()) {
                let name = &feature.name.value;
                if listed.contains(name) && configured(plan, feature, *transport).is_none() {
                    self.states.insert((*transport, name.clone()), FeatureState::Offered);
                }
            }
        }
    }
}

/// The levels that a target claims in its own words: one name, or a list of names. `None` if it names no known level.
fn levels_of(levels: &Levels, claimed: &Value) -> Option<LevelSet> {
    let names: Vec<&str> = match claimed.as_array() {
        Some(items) => items.iter().filter_map(Value::as_text).collect(),
        None => claimed.as_text().into_iter().collect(),
    };
    let known: Vec<LevelSet> = names.into_iter().filter_map(|name| levels.find(name)).collect();
    (!known.is_empty()).then(|| known.into_iter().collect())
}

/// When a probe began, according to its exchanges. Values made from its current time are never judged.
fn begun(exchanges: &[&Exchange]) -> u64 {
    exchanges.first().map_or(0, |exchange| exchange.started_ms)
}

/// The state of a feature according to the target file.
fn configured(plan: &Plan<'_>, feature: &Feature, transport: Transport) -> Option<FeatureState> {
    if let Some(offered) = plan.target.options.get(&feature.name.value) {
        return Some(if *offered { FeatureState::Offered } else { FeatureState::Absent });
    }
    // A configured route counts as offered: if it does not work, the target is at fault.
    let operation = feature.operation.as_ref()?;
    (transport == Transport::Http && plan.target.routes.contains_key(&operation.value)).then_some(FeatureState::Offered)
}

/// Whether a feature is read from what is known about the target, which holds whatever it answers.
fn is_known(feature: &Feature) -> bool {
    let mut conditions = feature.missing.iter().chain(&feature.offered);
    conditions.all(|condition| condition.at.value.to_string().starts_with("/target/"))
}

fn state_of(
    unprobed: &Context<'_>,
    probes: &[ReadyCase<'_>],
    feature: &Feature,
    exchanges: &[&Exchange],
) -> FeatureState {
    if feature.steps.is_empty() {
        // Without a probe, only the target file can declare the feature.
        return FeatureState::Absent;
    }
    let probe = probes.iter().find(|probe| probe.case.name.value == feature.name.value);
    let (Some(probe), Some(last)) = (probe, exchanges.last()) else { return FeatureState::Unknown };
    // A peer may close the connection after a refusal; the refusal still counts.
    let spoke = last.sent.transport.is_channel() && !last.received.arrived.is_empty();
    let whole = last.received.ended == Ended::Complete;
    let closed = matches!(last.received.ended, Ended::Closed(_));
    if !(whole || spoke && closed || is_known(feature)) {
        return FeatureState::Unanswered;
    }
    let mut walk = Walk::new(unprobed, probe, Part::Probe, begun(exchanges));
    let exchanges: Vec<Exchange> = exchanges.iter().map(|exchange| (*exchange).clone()).collect();
    walk.replay(&exchanges, None);
    if walk.shows(&feature.missing, last) {
        FeatureState::Absent
    } else if walk.shows(&feature.offered, last) {
        FeatureState::Offered
    } else if !whole {
        FeatureState::Unanswered
    } else {
        FeatureState::Unclear
    }
}
