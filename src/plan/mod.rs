//! Plans: suites, vectors and catalogue, checked and ready to run.
//!
//! [`load`] reads all data files of a protocol and reports every mistake; [`build`] decides for one target and one selection
//! which cases run, over which transport, and why the others do not. Later modules rely on these checks.

#[cfg(test)]
mod build_tests;
mod check;
mod knowledge;
mod load;
mod scope;
mod select;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::exchange::Transport;
use crate::protocol::Protocol;
use crate::requirement::RequirementId;
use crate::source::Diagnostic;
use crate::spelling::CaseSpelling;
use crate::suite::{Action, Case, CaseId, ClockWay, Feature, LevelSet, Step, TimeSpan};
use crate::target::{Target, WaiverSubject};
use crate::verdict::NotRun;

pub use knowledge::{
    Compiled, ExpectationKey, Knowledge, PROBE_STEPS, SETUP_STEPS, compile, lists, operations, probe_of,
};
pub use load::{LoadError, load};
pub use scope::{LevelDemand, TargetScope};
pub use select::{Selection, Shard, glob};

/// The first number of generated cases, and their count.
const GENERATED: u64 = 100_000;

/// The distance between the numbers of a case and of its next try.
pub const RETRIES: u64 = 50_000;

/// The cases for one target: those that run and those that do not.
pub struct Plan<'k> {
    /// The data of the protocol.
    pub knowledge: &'k Knowledge,
    /// The target.
    pub target: &'k Target,
    /// The transports over which the target is reached.
    pub transports: Vec<Transport>,
    /// Whether the selection names cases or requirements, so that only what they need is probed.
    pub is_narrow: bool,
    /// The levels that the run is asked to show; a target that declares none is held against them.
    pub asked_levels: Vec<String>,
    /// The observable and claimed levels and roles of the target.
    pub scope: TargetScope<'k>,
    /// Every case, including those that do not run.
    pub cases: Vec<ReadyCase<'k>>,
    /// The waiver of each case or requirement: indices into the waivers of the target.
    pub waived_requirements: BTreeMap<String, usize>,
}

/// A case for one target over one transport.
#[derive(Clone)]
pub struct ReadyCase<'k> {
    /// Its full id.
    pub id: String,
    /// Its number among all cases and probes of the plan, for identities that no other case has.
    pub ordinal: u64,
    /// The case as written.
    pub case: &'k Case,
    /// The transport over which it runs.
    pub transport: Transport,
    /// The requirements that it can decide over this transport.
    pub covers: Vec<&'k RequirementId>,
    /// The levels that the target must have.
    pub demand: LevelDemand,
    /// Why it does not run, whatever the target offers.
    pub skip: Option<(NotRun, String)>,
    /// Index of its waiver.
    pub waiver: Option<usize>,
    /// How its messages are written, if not in the usual way.
    pub spelling: Option<CaseSpelling>,
    /// Whether it is sent a second time without its edits, and judged together with that. An exploration has no twins: its model
    /// knows what the target accepts.
    pub has_twin: bool,
}

impl<'k> Plan<'k> {
    /// The probes for one transport that has their operations. A feature that the target file decides needs no probe, unless other
    /// probes or the claims of the target rest on it.
    pub fn probes(&self, transport: Transport) -> Vec<ReadyCase<'k>> {
        let manifest = &self.knowledge.manifest;
        let is_needed = |name: &str| {
            let claims = manifest.claims.level.iter().any(|claim| claim.feature.value == name);
            claims || manifest.features.iter().any(|feature| feature.first && feature.name.value == name)
        };
        let offered = |case: &&Case| {
            if self.target.options.contains_key(&case.name.value) && !is_needed(&case.name.value) {
                return false;
            }
            let operations = operations(self.knowledge.protocol, case);
            self.scope.includes(&case.reach, transport)
                && operations.iter().all(|operation| operation.is_offered(transport, self.target))
        };
        let path = Transport::ALL.iter().position(|known| *known == transport).unwrap_or_default();
        let number = |case: &Case| {
            let position = self.knowledge.probes.iter().position(|probe| std::ptr::eq(probe, case));
            (position.unwrap_or_default() * Transport::ALL.len() + path) as u64
        };
        let ready = |case: &'k Case| ReadyCase {
            id: format!("{}/probe#{}{}", self.knowledge.protocol.slug(), case.name.value, transport.suffix()),
            ordinal: number(case),
            case,
            transport,
            covers: Vec::new(),
            demand: LevelDemand::default(),
            skip: None,
            waiver: None,
            spelling: None,
            has_twin: case.has_edits(),
        };
        self.knowledge.probes.iter().filter(offered).map(ready).collect()
    }

    /// The duration of a time span at this target.
    pub fn time(&self, span: &TimeSpan) -> Duration {
        match span {
            TimeSpan::Fixed(duration) => *duration,
            TimeSpan::Named(name) => {
                let default = || self.knowledge.manifest.timeouts.get(name).map(|timeout| timeout.default);
                self.target.timeouts.get(name).copied().or_else(default).unwrap_or_default()
            }
        }
    }

    /// How to advance the clock of the target over a transport, if possible.
    pub fn clock(&self, transport: Transport) -> Option<&'k ClockWay> {
        self.knowledge.manifest.clock.iter().find(|way| {
            let operation = match &way.step.action {
                crate::suite::Action::Send { operation, .. } => self.knowledge.protocol.operation(operation),
                _ => None,
            };
            way.is_for(transport) && operation.is_some_and(|operation| operation.is_offered(transport, self.target))
        })
    }

    /// Whether a probe runs before all others.
    pub fn is_first(&self, probe: &ReadyCase<'_>) -> bool {
        let mut features = self.knowledge.manifest.features.iter();
        features.any(|feature| feature.first && feature.name.value == probe.case.name.value)
    }

    /// The positions of the cases that are run, if the selection names cases or requirements; `None` if it takes all cases.
    pub fn selected(&self) -> Option<BTreeSet<usize>> {
        let run = (0..self.cases.len()).filter(|index| self.cases[*index].skip.is_none());
        self.is_narrow.then(|| run.collect())
    }

    /// The features that decide whether and how some of the cases run over a transport. A transport without such cases is
    /// probed only for the claims of the target.
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
        let protocol = self.knowledge.protocol;
        let is_used = |word: &str, step: &Step| {
            matches!(&step.action, Action::Send { operation, .. } if operation.value == word)
                || step.expectations().any(|expectation| expectation.matcher.value == word)
        };
        // Which objects a case builds on is known later; their probes are few.
        let used = |word: &str| {
            protocol.operation(word).is_none()
                || run.iter().any(|ready| ready.case.all_steps().iter().any(|step| is_used(word, step)))
        };
        let built_on = |feature: &&Feature| feature.prerequisite_of.iter().any(|words| words.split('+').all(used));
        needed.extend(manifest.features.iter().filter(built_on).map(|feature| feature.name.value.as_str()));
        let floor = |feature: &&Feature| feature.floor.iter().any(|kind| self.scope.is_meant(kind, transport));
        needed.extend(manifest.features.iter().filter(floor).map(|feature| feature.name.value.as_str()));
        needed
    }
}

/// Decides which cases run against `target`.
pub fn build<'k>(knowledge: &'k Knowledge, target: &'k Target, selection: &Selection) -> Plan<'k> {
    let spoken = knowledge.protocol.transports();
    let transports: Vec<Transport> =
        spoken.iter().copied().filter(|transport| target.is_reached_over(*transport)).collect();
    let scope = TargetScope::new(knowledge, target, &transports);
    let mut cases = Vec::with_capacity(knowledge.cases().count());
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
                    &format!("not observable at a target of kind {}", scope.kind_names(*transport))
                }
                Transport::Adapter => "observable only at an endpoint",
                _ if case.reach.iter().any(|word| is_path(&word.value)) => {
                    "observable only over a transport that the target file has no address for"
                }
                _ => "observable only at a library behind an adapter",
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
    // The first numbers are those of the probes.
    let first = knowledge.probes.len() * Transport::ALL.len();
    for (position, ready) in cases.iter_mut().enumerate() {
        ready.ordinal = (first + position) as u64;
    }
    let is_narrow = !selection.only.is_empty() || !selection.requirements.is_empty();
    let asked_levels = selection.levels.clone();
    Plan { knowledge, target, transports, scope, is_narrow, asked_levels, cases, waived_requirements }
}

/// A case that belongs to no suite of `knowledge`, such as one of a fuzzer, for `target` over one transport.
pub fn ready_case<'k>(
    knowledge: &'k Knowledge,
    target: &Target,
    id: String,
    case: &'k Case,
    transport: Transport,
) -> ReadyCase<'k> {
    let scope = TargetScope::new(knowledge, target, &[transport]);
    let mut ready = ready(knowledge, target, &scope, id, case, transport, |_| None);
    // Generated cases have no position: their numbers follow from their ids.
    let digest = Sha256::digest(ready.id.as_bytes());
    let number = digest.iter().take(4).fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    ready.ordinal = GENERATED + number % GENERATED;
    ready
}

/// The mistakes in a case that belongs to no suite of `knowledge`.
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
    ReadyCase {
        id,
        ordinal: 0,
        case,
        transport,
        covers,
        demand,
        skip,
        waiver,
        spelling: None,
        has_twin: case.has_edits(),
    }
}

/// The levels without which a case cannot run: those of its operations, and those that it needs by name.
fn levels_needed(knowledge: &Knowledge, case: &Case) -> LevelSet {
    let levels = &knowledge.manifest.levels;
    let operations = operations(knowledge.protocol, case);
    let of_operations = operations.iter().map(|operation| levels.closure(operation.level));
    of_operations.chain(case.needs.iter().map(|need| levels.closure(need))).collect()
}

/// Why a case does not run at a target that plays only some of the roles. `shown` are the requirements of the case that are
/// observable at this kind of target, `covers` those of them whose role the target claims.
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
            format!("the case needs the role {}, which the target does not claim", role.value),
        ));
    }
    let about_others = covers.is_empty() && !shown.is_empty();
    about_others.then(|| (NotRun::NotClaimed, "the case tests a role that the target does not claim".to_owned()))
}

/// Why a case does not run at a target that requires credentials: a party of the case has none.
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
    let party = &step.actor.value;
    let why = format!("the target requires credentials, and the target file has none for party `{party}`");
    Some((NotRun::Unobservable, why))
}

/// Whether a word is the name of one of the transports of an endpoint.
fn is_path(word: &str) -> bool {
    Transport::ALL.iter().any(|path| *path != Transport::Adapter && path.name() == word)
}

/// Whether a case can run against a target over one transport.
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
    // A target with a tree may also have an endpoint; cases for endpoints run there.
    let of_tree = transport != Transport::Tree
        || operations.is_empty()
        || operations.iter().any(|operation| operation.tree.is_some());
    let open = of_tree
        && reach(&|word| transport.is_meant_by(word) || of_some_kind(word))
        && covered().any(|found| scope::can_show(transport, found.testable))
        && operations.iter().all(|operation| operation.is_offered(transport, target))
        // A library cannot reach a host.
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
