//! What a case builds on without judging it: where the target does not do that much, the case decides nothing.

use super::context::Context;
use super::uses::uses;
use crate::plan::{ReadyCase, glob};
use crate::record::FeatureState;
use crate::suite::{Action, Feature};

impl Context<'_> {
    /// The prerequisites that the target lacks and that a case uses.
    pub fn unmet_prerequisites(&self, ready: &ReadyCase<'_>) -> Vec<&Feature> {
        if self.features.without_prerequisites || ready.case.without_prerequisites {
            return Vec::new();
        }
        let missing = self.plan.knowledge.manifest.features.iter().filter(|feature| {
            !feature.prerequisite_of.is_empty()
                && self.features.state(ready.transport, &feature.name) == FeatureState::Absent
        });
        let mut missing = missing.peekable();
        if missing.peek().is_none() {
            return Vec::new();
        }
        let named = uses(self.plan.knowledge, ready.case);
        let steps = ready.case.all_steps();
        let is_used = |word: &str| {
            named.contains(word)
                || steps.iter().any(|step| {
                    let sends = matches!(&step.action, Action::Send { operation, .. } if operation.value == word);
                    sends || step.expectations().any(|expectation| expectation.matcher.value == word)
                })
        };
        missing.filter(|feature| feature.prerequisite_of.iter().any(|words| words.split('+').all(is_used))).collect()
    }
}

impl Feature {
    /// Whether a requirement is about this prerequisite.
    pub fn is_judged_by(&self, requirement: &str) -> bool {
        self.judged_by.iter().any(|pattern| glob(pattern, requirement))
    }
}
