//! The scope of a target: its kinds, the levels that are observable at them, and its roles.

use std::collections::{BTreeMap, BTreeSet};

use super::Knowledge;
use crate::exchange::{TargetClass, Transport};
use crate::requirement::{Requirement, Testable};
use crate::source::Located;
use crate::suite::{LevelSet, TargetKind};
use crate::target::Target;

/// The observable and claimed levels and roles of one target for one protocol.
#[derive(Clone, Debug)]
pub struct TargetScope<'k> {
    knowledge: &'k Knowledge,
    /// Its kinds, by transport; empty for a protocol without kinds.
    kinds: BTreeMap<Transport, Vec<&'k TargetKind>>,
    /// The roles that it claims; empty for a protocol without roles.
    roles: BTreeSet<&'k str>,
    /// The levels that the target file claims; `None` if the target declares its levels.
    claimed: Option<LevelSet>,
}

impl<'k> TargetScope<'k> {
    /// The scope of `target` over `transports`.
    pub fn new(knowledge: &'k Knowledge, target: &Target, transports: &[Transport]) -> Self {
        let manifest = &knowledge.manifest;
        let kinds = transports.iter().map(|transport| {
            let reached = |kind: &&TargetKind| kind.reached_over.contains(transport);
            let declared: Vec<&TargetKind> =
                manifest.kinds.iter().filter(reached).filter(|kind| target.kinds.contains(&kind.name.value)).collect();
            // A transport without a declared kind, such as the adapter of an endpoint, has the default kind.
            let usual = || manifest.kinds.iter().find(reached).into_iter().collect();
            (*transport, if declared.is_empty() { usual() } else { declared })
        });
        let mut scope = Self { knowledge, kinds: kinds.collect(), roles: BTreeSet::new(), claimed: None };
        let playable = transports.iter().flat_map(|transport| scope.playable_roles(*transport)).collect();
        let declared: Option<BTreeSet<&str>> = target.roles.as_ref().map(|roles| {
            let names = manifest.roles.iter().map(|role| role.name.value.as_str());
            names.filter(|name| roles.iter().any(|role| role == name)).collect()
        });
        // Ignore roles and levels of other protocols of the run.
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

    /// Whether a word of `runs-on` in a suite (a transport, a form of target or a kind of target) includes the target over
    /// `transport`.
    pub fn is_meant(&self, word: &str, transport: Transport) -> bool {
        transport.is_meant_by(word) || self.kinds(transport).iter().any(|kind| kind.name.value == word)
    }

    /// Whether a whole `runs-on` in a suite includes the target over `transport`; an empty one includes everything.
    pub fn includes(&self, reach: &[Located<String>], transport: Transport) -> bool {
        reach.is_empty() || reach.iter().any(|word| self.is_meant(word, transport))
    }

    /// Its kinds over `transport`.
    pub fn kinds(&self, transport: Transport) -> &[&'k TargetKind] {
        self.kinds.get(&transport).map_or(&[], Vec::as_slice)
    }

    /// The names of its kinds over `transport`.
    pub fn kind_names(&self, transport: Transport) -> String {
        let names = self.kinds(transport).iter().map(|kind| kind.name.value.as_str());
        names.collect::<Vec<_>>().join(", ")
    }

    /// The levels that are observable over `transport`.
    pub fn levels(&self, transport: Transport) -> LevelSet {
        match self.kinds(transport) {
            [] => self.knowledge.manifest.levels.all(),
            kinds => kinds.iter().map(|kind| kind.levels).collect(),
        }
    }

    /// The levels that are observable over at least one transport.
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

    /// Whether a requirement is observable over `transport`, if the target claims its level and its role.
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

    /// The observable levels that the target file claims; `None` if the target declares its levels.
    pub fn claimed_levels(&self) -> Option<LevelSet> {
        self.claimed
    }

    /// The levels that a target claims by default.
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

/// The levels that a case needs: each of `all`, and one of `any`, unless that is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelDemand {
    /// The levels of its operations, and those under `needs`.
    all: LevelSet,
    /// The levels of the requirements that it decides, each with the levels that it includes.
    any: Vec<LevelSet>,
}

impl LevelDemand {
    /// The demand of a case that needs `all`, and one of `any`.
    pub(super) fn new(all: LevelSet, any: Vec<LevelSet>) -> Self {
        Self { all, any }
    }

    /// Whether the level at a position can contribute to meeting the demand.
    pub fn may_need(&self, position: usize) -> bool {
        self.all.contains(position) || self.any.iter().any(|set| set.contains(position))
    }

    /// Whether a target with these levels meets the demand.
    pub fn is_met_by(&self, held: LevelSet) -> bool {
        self.missing(held).is_empty()
    }

    /// The levels that a target with the levels `held` lacks: the smallest set that would meet the demand.
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
