//! What a target can show and claim: its kinds, the levels that they can show, and the roles that it plays.

use std::collections::{BTreeMap, BTreeSet};

use super::Knowledge;
use crate::exchange::{TargetClass, Transport};
use crate::requirement::{Requirement, Testable};
use crate::suite::{LevelSet, TargetKind};
use crate::target::Target;

/// What one target can show of one protocol, and what its owner says that it claims.
#[derive(Clone, Debug)]
pub struct TargetScope<'k> {
    knowledge: &'k Knowledge,
    /// The kinds of target that it is, by the transport over which it is reached; empty for a protocol without kinds.
    kinds: BTreeMap<Transport, Vec<&'k TargetKind>>,
    /// The roles that it claims; empty for a protocol without roles.
    roles: BTreeSet<&'k str>,
    /// The levels that its owner claims; `None` if the target is asked.
    claimed: Option<LevelSet>,
}

impl<'k> TargetScope<'k> {
    /// The scope of `target` as it is reached over `transports`.
    pub fn new(knowledge: &'k Knowledge, target: &Target, transports: &[Transport]) -> Self {
        let manifest = &knowledge.manifest;
        let kinds = transports.iter().map(|transport| {
            let reached = |kind: &&TargetKind| kind.reached_over.contains(transport);
            let declared: Vec<&TargetKind> =
                manifest.kinds.iter().filter(reached).filter(|kind| target.kinds.contains(&kind.name.value)).collect();
            // A path that no declared kind is reached over, such as the adapter of an endpoint, is of the usual kind.
            let usual = || manifest.kinds.iter().find(reached).into_iter().collect();
            (*transport, if declared.is_empty() { usual() } else { declared })
        });
        let mut scope = Self { knowledge, kinds: kinds.collect(), roles: BTreeSet::new(), claimed: None };
        let playable = transports.iter().flat_map(|transport| scope.playable_roles(*transport)).collect();
        let declared: Option<BTreeSet<&str>> = target.roles.as_ref().map(|roles| {
            let names = manifest.roles.iter().map(|role| role.name.value.as_str());
            names.filter(|name| roles.iter().any(|role| role == name)).collect()
        });
        // Roles and levels of another protocol of the run say nothing about this one.
        let is_about_this =
            |roles: &BTreeSet<&str>| !roles.is_empty() || target.roles.as_ref().is_some_and(Vec::is_empty);
        scope.roles = declared.filter(is_about_this).unwrap_or(playable);
        let levels: Vec<LevelSet> = target.levels.iter().filter_map(|name| manifest.levels.find(name)).collect();
        if !levels.is_empty() {
            scope.claimed = Some(levels.into_iter().collect::<LevelSet>().intersection(scope.observable_levels()));
        }
        scope
    }

    /// The protocol.
    pub(super) fn knowledge(&self) -> &'k Knowledge {
        self.knowledge
    }

    /// Whether a word in a suite, the name of a transport, of a form of target or of a kind of target, means the target as
    /// it is reached over `transport`.
    pub fn is_meant(&self, word: &str, transport: Transport) -> bool {
        transport.is_meant_by(word) || self.kinds(transport).iter().any(|kind| kind.name.value == word)
    }

    /// The kinds of target that it is as it is reached over `transport`.
    pub fn kinds(&self, transport: Transport) -> &[&'k TargetKind] {
        self.kinds.get(&transport).map_or(&[], Vec::as_slice)
    }

    /// The names of its kinds as it is reached over `transport`.
    pub fn kind_names(&self, transport: Transport) -> String {
        let names = self.kinds(transport).iter().map(|kind| kind.name.value.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The levels that can be shown over `transport`.
    pub fn levels(&self, transport: Transport) -> LevelSet {
        match self.kinds(transport) {
            [] => self.knowledge.manifest.levels.all(),
            kinds => kinds.iter().map(|kind| kind.levels).collect(),
        }
    }

    /// The levels that can be shown over some transport.
    pub fn observable_levels(&self) -> LevelSet {
        self.kinds.keys().map(|transport| self.levels(*transport)).collect()
    }

    /// The roles that can be played over `transport`.
    pub fn playable_roles(&self, transport: Transport) -> Vec<&'k str> {
        let manifest = &self.knowledge.manifest;
        let all = manifest.roles.iter().map(|role| role.name.value.as_str());
        let kinds = self.kinds(transport);
        let plays = |kind: &&'k TargetKind, role: &str| {
            kind.roles.as_ref().is_none_or(|roles| roles.iter().any(|known| known.value == role))
        };
        all.filter(|role| kinds.is_empty() || kinds.iter().any(|kind| plays(kind, role))).collect()
    }

    /// Whether a requirement can be shown over `transport`, if the target claims its level and its role.
    pub fn shows(&self, transport: Transport, requirement: &Requirement) -> bool {
        let levels = &self.knowledge.manifest.levels;
        let level = levels.position(&requirement.level);
        let role = self.knowledge.role_of(requirement);
        can_show(transport, requirement.testable)
            && level.is_none_or(|level| self.levels(transport).contains(level))
            && role.is_none_or(|role| self.playable_roles(transport).contains(&role))
    }

    /// The roles that the target claims; empty for a protocol without roles.
    pub fn roles(&self) -> &BTreeSet<&'k str> {
        &self.roles
    }

    /// Whether the target claims the role that a requirement is about.
    pub fn claims_role_of(&self, requirement: &Requirement) -> bool {
        self.knowledge.role_of(requirement).is_none_or(|role| self.roles.contains(role))
    }

    /// The levels that the owner of the target claims, as far as the target can show them; `None` if the target is asked.
    pub fn claimed_levels(&self) -> Option<LevelSet> {
        self.claimed
    }

    /// The levels that a target like this one claims which says nothing.
    pub fn default_levels(&self) -> LevelSet {
        let manifest = &self.knowledge.manifest;
        let usual: LevelSet = manifest.claims.default.iter().map(|name| manifest.levels.closure(name)).collect();
        let of_a_path = |kinds: &Vec<&TargetKind>| -> LevelSet {
            match kinds.as_slice() {
                [] => usual,
                kinds => kinds.iter().map(|kind| kind.claims.unwrap_or(usual).intersection(kind.levels)).collect(),
            }
        };
        self.kinds.values().map(of_a_path).collect()
    }
}

/// The levels that a case asks of a target: each of `all`, and one of `any`, if there are any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelDemand {
    /// The levels of what it sends, and those that it needs by name.
    all: LevelSet,
    /// The levels of the requirements that it decides, each with what it includes.
    any: Vec<LevelSet>,
}

impl LevelDemand {
    /// The demand of a case that needs `all`, and one of `any`.
    pub(super) fn new(all: LevelSet, any: Vec<LevelSet>) -> Self {
        Self { all, any }
    }

    /// Whether the level at a position is one of those by which it can be met.
    pub fn may_need(&self, position: usize) -> bool {
        self.all.contains(position) || self.any.iter().any(|set| set.contains(position))
    }

    /// Whether a target with these levels meets it.
    pub fn is_met_by(&self, held: LevelSet) -> bool {
        self.missing(held).is_empty()
    }

    /// The levels that a target with the levels `held` lacks; of several ways to meet the demand, by the shortest.
    pub fn missing(&self, held: LevelSet) -> LevelSet {
        let nearest = self.any.iter().map(|set| set.without(held)).min_by_key(|set| set.len());
        self.all.without(held).union(nearest.unwrap_or_default())
    }
}

/// Whether what is reached over a transport can show a requirement.
pub(super) fn can_show(transport: Transport, testable: Testable) -> bool {
    match transport.reaches() {
        TargetClass::Adapter => testable.at_adapter(),
        TargetClass::Endpoint | TargetClass::Reference => testable.at_endpoint(),
    }
}
