//! The effect of the features of a target on verdicts, and their entries in the record.

use crate::exchange::Transport;
use crate::plan::{operations, probe_of};
use crate::record::{FeatureRecord, FeatureState};
use crate::suite::Feature;
use crate::walk::{Context, Transcript};

/// The first floor feature that the target does not offer: without it no case passes.
pub(super) fn below_floor<'p>(context: &Context<'p>, transport: Transport) -> Option<&'p Feature> {
    let knowledge = context.plan.knowledge;
    let asked_of_it = |feature: &&Feature| {
        let probe = knowledge.probes.iter().find(|probe| probe.name.value == feature.name.value);
        let operations = probe.map(|probe| operations(knowledge.protocol, probe)).unwrap_or_default();
        operations
            .iter()
            .all(|operation| context.features.claimed.includes(knowledge.manifest.levels.closure(operation.level)))
    };
    knowledge
        .manifest
        .features
        .iter()
        .filter(|feature| feature.floor.iter().any(|kind| context.plan.scope.is_meant(kind, transport)))
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
            let exchanges: Vec<_> =
                exchanges.iter().filter(|exchange| probe_of(exchange.step) == index).cloned().collect();
            if context.plan.is_narrow && exchanges.is_empty() && state == FeatureState::Unknown {
                // It was not probed, since no selected case needs it.
                continue;
            }
            records.push(FeatureRecord {
                feature: format!("{}{suffix}", feature.name.value),
                about: feature.about.clone(),
                state,
                advice: if found { String::new() } else { feature.advice.clone() },
                exchanges,
            });
        }
    }
    records
}
