//! Plans: suites, vectors and catalogue looked up, checked and made ready to run.
//!
//! [`load`] reads everything of a protocol and reports every mistake; [`build`] decides for one target and one selection
//! what is put, by which path, and what is not and why. Nothing downstream checks again.

mod check;
mod knowledge;
mod load;
mod scope;
mod select;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::exchange::Transport;
use crate::matcher;
use crate::protocol::Protocol;
use crate::requirement::RequirementId;
use crate::source::Diagnostic;
use crate::suite::{Case, CaseId, ClockWay, Feature, LevelSet, Step, TimeSpan};
use crate::target::{Target, WaiverSubject};
use crate::verdict::NotRun;

pub use knowledge::{ExpectationKey, Knowledge, PROBE_STEPS, SETUP_STEPS, compile, lists, operations, probe_of};
pub use load::{LoadError, load};
pub use scope::{LevelDemand, TargetScope};
pub use select::{Selection, Shard, glob};

/// What is put to one target, and what is not.
pub struct Plan<'k> {
    /// What the cases are about.
    pub knowledge: &'k Knowledge,
    /// The target.
    pub target: &'k Target,
    /// The paths by which the target is reached.
    pub transports: Vec<Transport>,
    /// Whether the selection names cases or requirements, so that only what they need is probed.
    pub is_narrow: bool,
    /// What the target can show and claim.
    pub scope: TargetScope<'k>,
    /// Every case, also those that are not put.
    pub cases: Vec<ReadyCase<'k>>,
    /// Which case or requirement each waiver of the target excuses: indices into its waivers.
    pub waived_requirements: BTreeMap<String, usize>,
}

/// A case for one path to one target.
pub struct ReadyCase<'k> {
    /// Its full id.
    pub id: String,
    /// As written.
    pub case: &'k Case,
    /// The path by which it is put.
    pub transport: Transport,
    /// The requirements that it can decide by this path.
    pub covers: Vec<&'k RequirementId>,
    /// The levels that the target must have.
    pub demand: LevelDemand,
    /// Why it is not put, whatever the target offers.
    pub skip: Option<(NotRun, String)>,
    /// Index of the waiver that excuses it.
    pub waiver: Option<usize>,
    /// Expectations whose arguments hold no template, compiled.
    compiled: BTreeMap<ExpectationKey, matcher::Expectation>,
}

impl<'k> Plan<'k> {
    /// The probes for one path, as far as it has their operations.
    pub fn probes(&self, transport: Transport) -> Vec<ReadyCase<'k>> {
        let offered = |case: &&Case| {
            let reached = case.reach.is_empty() || case.reach.iter().any(|word| self.scope.is_meant(word, transport));
            let operations = operations(self.knowledge.protocol, case);
            reached && operations.iter().all(|operation| operation.is_offered(transport, self.target))
        };
        let ready = |case: &'k Case| ReadyCase {
            id: format!("{}/probe#{}{}", self.knowledge.protocol.slug(), case.name.value, transport.suffix()),
            case,
            transport,
            covers: Vec::new(),
            demand: LevelDemand::default(),
            skip: None,
            waiver: None,
            compiled: BTreeMap::new(),
        };
        self.knowledge.probes.iter().filter(offered).map(ready).collect()
    }

    /// How long a time is at this target.
    pub fn time(&self, span: &TimeSpan) -> Duration {
        match span {
            TimeSpan::Fixed(duration) => *duration,
            TimeSpan::Named(name) => {
                let default = || self.knowledge.manifest.timeouts.get(name).map(|timeout| timeout.default);
                self.target.timeouts.get(name).copied().or_else(default).unwrap_or_default()
            }
        }
    }

    /// How the clock of the target is advanced over a transport, if there is a way.
    pub fn clock(&self, transport: Transport) -> Option<&'k ClockWay> {
        self.knowledge.manifest.clock.iter().find(|way| {
            let operation = match &way.step.action {
                crate::suite::Action::Send { operation, .. } => self.knowledge.protocol.operation(operation),
                _ => None,
            };
            way.is_for(transport) && operation.is_some_and(|operation| operation.is_offered(transport, self.target))
        })
    }

    /// Whether a probe is taken before all others.
    pub fn is_first(&self, probe: &ReadyCase<'_>) -> bool {
        let mut features = self.knowledge.manifest.features.iter();
        features.any(|feature| feature.first && feature.name.value == probe.case.name.value)
    }

    /// The positions of the cases that are run, if the selection names cases or requirements; `None` if it takes all cases.
    pub fn selected(&self) -> Option<BTreeSet<usize>> {
        let run = (0..self.cases.len()).filter(|index| self.cases[*index].skip.is_none());
        self.is_narrow.then(|| run.collect())
    }

    /// The features that decide whether and how some of the cases are run over a transport. A transport that none of them is
    /// run over is probed for the claims of the target only.
    pub fn features_needed(&self, cases: &BTreeSet<usize>, transport: Transport) -> BTreeSet<&'k str> {
        let manifest = &self.knowledge.manifest;
        let mut needed: BTreeSet<&str> = manifest
            .features
            .iter()
            .filter(|feature| feature.first)
            .map(|feature| feature.name.value.as_str())
            .collect();
        needed.extend(manifest.claims.level.iter().map(|claim| claim.feature.value.as_str()));
        let run: Vec<_> =
            cases.iter().map(|index| &self.cases[*index]).filter(|case| case.transport == transport).collect();
        if run.is_empty() {
            return needed;
        }
        needed.extend(run.iter().flat_map(|ready| &ready.case.needs).map(|need| need.value.as_str()));
        needed.extend(manifest.setup.iter().flat_map(|setup| &setup.needs).map(|need| need.value.as_str()));
        if run.iter().any(|ready| ready.case.advances_clock()) {
            needed.extend(self.clock(transport).iter().flat_map(|way| &way.needs).map(|need| need.value.as_str()));
        }
        let named = manifest.transports.iter().filter(|(word, _)| word.value == transport.name());
        needed.extend(named.map(|(_, feature)| feature.value.as_str()));
        let position = |level: &str| manifest.levels.position(level);
        let reached =
            |level: &str| position(level).is_some_and(|level| run.iter().any(|ready| ready.demand.may_need(level)));
        let beyond = manifest.beyond.iter().filter(|(level, _)| reached(level));
        needed.extend(beyond.map(|(_, feature)| feature.value.as_str()));
        let floor = |feature: &&Feature| feature.floor.iter().any(|kind| self.scope.is_meant(kind, transport));
        needed.extend(manifest.features.iter().filter(floor).map(|feature| feature.name.value.as_str()));
        needed
    }
}

impl ReadyCase<'_> {
    /// The check of an expectation whose argument holds no template.
    pub fn compiled(&self, key: ExpectationKey) -> Option<&matcher::Expectation> {
        self.compiled.get(&key)
    }
}

/// Decides what is put to `target`.
pub fn build<'k>(knowledge: &'k Knowledge, target: &'k Target, selection: &Selection) -> Plan<'k> {
    let spoken = knowledge.protocol.transports();
    let transports: Vec<Transport> =
        spoken.iter().copied().filter(|transport| target.is_reached_over(*transport)).collect();
    let scope = TargetScope::new(knowledge, target, &transports);
    let mut cases = Vec::new();
    for (suite, case) in knowledge.cases() {
        let base = CaseId::of(suite, case);
        let paths: Vec<Path> = transports.iter().map(|transport| path(target, &scope, case, *transport)).collect();
        let possible: Vec<Transport> = transports
            .iter()
            .copied()
            .zip(&paths)
            .filter(|(_, path)| **path == Path::Open)
            .map(|(found, _)| found)
            .collect();
        if possible.is_empty() {
            let transport = transports.first().copied().unwrap_or(Transport::Http);
            let mut ready = ready(knowledge, target, &scope, base.to_string(), case, transport, |covers| {
                selection.leaves_out(&base, covers, knowledge)
            });
            ready.covers = case.requirements();
            let of_other_kind = transports.iter().zip(&paths).find(|(_, path)| **path == Path::OtherKind);
            let why = match transport {
                _ if let Some((transport, _)) = of_other_kind => {
                    &format!("a target of kind {} cannot show it", scope.kind_names(*transport))
                }
                Transport::Adapter => "only an endpoint can show it",
                _ if case.reach.iter().any(|word| is_path(&word.value)) => {
                    "the target is not reached over the transport that can show it"
                }
                _ => "only a library behind an adapter can show it",
            };
            ready.skip.get_or_insert((NotRun::Unobservable, why.to_owned()));
            cases.push(ready);
        }
        let both = possible.len() > 1;
        for transport in possible {
            let id = if both { base.over(transport) } else { base.clone() };
            cases.push(ready(knowledge, target, &scope, id.to_string(), case, transport, |covers| {
                selection.leaves_out(&id, covers, knowledge)
            }));
        }
    }
    let waived_requirements = target
        .waivers
        .iter()
        .enumerate()
        .filter_map(|(index, waiver)| match &waiver.what {
            WaiverSubject::Requirement(id) => Some((id.clone(), index)),
            WaiverSubject::Case(_) => None,
        })
        .collect();
    let is_narrow = !selection.only.is_empty() || !selection.requirements.is_empty();
    Plan { knowledge, target, transports, scope, is_narrow, cases, waived_requirements }
}

/// One case that is in no suite of `knowledge`, such as one that a fuzzer has made, for one path to `target`.
pub fn ready_case<'k>(
    knowledge: &'k Knowledge,
    target: &Target,
    id: String,
    case: &'k Case,
    transport: Transport,
) -> ReadyCase<'k> {
    let scope = TargetScope::new(knowledge, target, &[transport]);
    ready(knowledge, target, &scope, id, case, transport, |_| None)
}

/// The mistakes in a case that is in no suite of `knowledge`.
pub fn mistakes(knowledge: &Knowledge, case: &Case) -> Vec<Diagnostic> {
    check::case(knowledge, case)
}

fn ready<'k>(
    knowledge: &'k Knowledge,
    target: &Target,
    scope: &TargetScope<'k>,
    id: String,
    case: &'k Case,
    transport: Transport,
    leaves_out: impl FnOnce(&[&RequirementId]) -> Option<(NotRun, String)>,
) -> ReadyCase<'k> {
    let requirement = |id: &RequirementId| knowledge.catalogue.find(id.as_str());
    let shown: Vec<&RequirementId> = case
        .requirements()
        .into_iter()
        .filter(|id| requirement(id).is_some_and(|requirement| scope.shows(transport, requirement)))
        .collect();
    let mut covers: Vec<&RequirementId> =
        shown.iter().copied().filter(|id| requirement(id).is_some_and(|found| scope.claims_role_of(found))).collect();
    let without_role = without_role(scope, case, &shown, &covers);
    if covers.is_empty() {
        covers = shown;
    }
    let levels = &knowledge.manifest.levels;
    let demand = LevelDemand::new(
        levels_needed(knowledge, case),
        covers.iter().filter_map(|id| requirement(id)).map(|found| levels.closure(&found.level)).collect(),
    );
    let waiver = target
        .waivers
        .iter()
        .position(|waiver| matches!(&waiver.what, WaiverSubject::Case(pattern) if glob(pattern, &id)));
    let skip = leaves_out(&covers)
        .or(without_role)
        .or_else(|| without_credentials(knowledge.protocol, target, case, transport));
    let mut compiled = BTreeMap::new();
    // What is not put needs no checks, and they are most of the work for a selection of one case.
    let put = skip.is_none();
    for step in case.all_steps().into_iter().filter(|_| put) {
        for (list, expectations) in lists(step).into_iter().enumerate() {
            for (position, expectation) in expectations.iter().enumerate() {
                if let Some(argument) = expectation.argument.constant()
                    && let Ok(check) = compile(knowledge.protocol, expectation, argument)
                {
                    compiled.insert((step.number, u8::try_from(list).unwrap_or(0), position), check);
                }
            }
        }
    }
    ReadyCase { id, case, transport, covers, demand, skip, waiver, compiled }
}

/// The levels without which a case cannot run: those of its operations, and those that it needs by name.
fn levels_needed(knowledge: &Knowledge, case: &Case) -> LevelSet {
    let levels = &knowledge.manifest.levels;
    let operations = operations(knowledge.protocol, case);
    let of_operations = operations.iter().map(|operation| levels.closure(operation.level));
    of_operations.chain(case.needs.iter().map(|need| levels.closure(need))).collect()
}

/// Why a case is not for a target that plays only some of the roles, if it is not. `shown` are the requirements of the case
/// that this kind of target can show, `covers` those of them whose role the target claims.
fn without_role(
    scope: &TargetScope<'_>,
    case: &Case,
    shown: &[&RequirementId],
    covers: &[&RequirementId],
) -> Option<(NotRun, String)> {
    let roles = scope.roles();
    if let Some(role) = case.roles.iter().find(|role| !roles.contains(role.value.as_str())) {
        return Some((
            NotRun::NotClaimed,
            format!("it needs the role {}, which the target does not claim", role.value),
        ));
    }
    let about_others = covers.is_empty() && !shown.is_empty();
    about_others.then(|| (NotRun::NotClaimed, "it is about a role that the target does not claim".to_owned()))
}

/// Why a case is not put to a target that hears a party only with credentials of its own: somebody in it has none.
fn without_credentials(
    protocol: &dyn Protocol,
    target: &Target,
    case: &Case,
    transport: Transport,
) -> Option<(NotRun, String)> {
    let heard = |step: &&Step| match step.action {
        crate::suite::Action::Send { .. } => {
            protocol.target_knowledge().is_none_or(|knowledge| knowledge.accepts_actor(target, &step.actor.value))
        }
        _ => true,
    };
    let step = case.all_steps().into_iter().find(|step| transport != Transport::Adapter && !heard(step))?;
    let who = &step.actor.value;
    let why = format!("the target hears nobody without credentials, and the target file has none for `{who}`");
    Some((NotRun::Unobservable, why))
}

/// Whether a word is the name of one of the transports of an endpoint.
fn is_path(word: &str) -> bool {
    Transport::ALL.iter().any(|path| *path != Transport::Adapter && path.name() == word)
}

/// Whether a case can run at a target over one transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// It can.
    Open,
    /// It could, at a target of another kind.
    OtherKind,
    /// It cannot.
    Closed,
}

fn path(target: &Target, scope: &TargetScope<'_>, case: &Case, transport: Transport) -> Path {
    let knowledge = scope.knowledge();
    let kinds = &knowledge.manifest.kinds;
    let of_some_kind = |word: &str| kinds.iter().any(|kind| kind.name.value == word);
    let reach = |is_meant: &dyn Fn(&str) -> bool| case.reach.is_empty() || case.reach.iter().any(|word| is_meant(word));
    let covered = || case.covers.iter().filter_map(|id| knowledge.catalogue.find(id.requirement.as_str()));
    let raw = case.all_steps().iter().any(|step| matches!(step.action, crate::suite::Action::Request { .. }));
    let operations = operations(knowledge.protocol, case);
    // Beside a tree there may be an endpoint; what is about the endpoint alone is tested there.
    let of_tree = transport != Transport::Tree
        || operations.is_empty()
        || operations.iter().any(|operation| operation.tree.is_some());
    let open = of_tree
        && reach(&|word| transport.is_meant_by(word) || of_some_kind(word))
        && covered().any(|found| scope::can_show(transport, found.testable))
        && operations.iter().all(|operation| operation.is_offered(transport, target))
        // A library has no way to reach a host.
        && !((raw || case.receives()) && transport == Transport::Adapter);
    if !open {
        return Path::Closed;
    }
    let roles = scope.playable_roles(transport);
    let of_this_kind = reach(&|word| scope.is_meant(word, transport))
        && covered().any(|found| scope.shows(transport, found))
        && scope.levels(transport).includes(levels_needed(knowledge, case))
        && case.roles.iter().all(|role| roles.contains(&role.value.as_str()));
    if of_this_kind { Path::Open } else { Path::OtherKind }
}
