//! Plans: suites, vectors and catalogue looked up, checked and made ready to run.
//!
//! [`load`] reads everything of a protocol and reports every mistake; [`build`] decides for one target and one selection
//! what is put, by which path, and what is not and why. Nothing downstream checks again.

mod check;
mod load;
mod select;

use std::collections::{BTreeMap, BTreeSet};

use crate::exchange::Transport;
use crate::matcher;
use crate::protocol::{Operation, Protocol};
use crate::requirement::{Catalogue, Erratum};
use crate::source::Diagnostic;
use crate::suite::{Case, Expectation, Manifest, Step, Suite};
use crate::target::{Target, WaiverSubject};
use crate::value::Value;
use crate::verdict::NotRun;

pub use load::{LoadError, load};
pub use select::{Selection, Shard, glob};

/// Everything that is known of one protocol: read, looked up and free of mistakes.
pub struct Knowledge {
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// Its requirements.
    pub catalogue: Catalogue,
    /// Rulings on its contradictions.
    pub errata: Vec<Erratum>,
    /// What its cases share.
    pub manifest: Manifest,
    /// Its cases.
    pub suites: Vec<Suite>,
    /// The steps of each feature's probe, as a case that covers nothing.
    pub probes: Vec<Case>,
    /// SHA-256 over the files, in hex.
    pub hash: String,
}

impl std::fmt::Debug for Knowledge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Knowledge({}, {})", self.protocol.slug(), self.hash)
    }
}

impl Knowledge {
    /// Position of a level in the manifest; levels that it does not know come before all.
    pub fn level(&self, name: &str) -> usize {
        self.manifest.levels.iter().position(|level| level.value == name).unwrap_or(0)
    }

    /// Every case with the name of its suite.
    pub fn cases(&self) -> impl Iterator<Item = (&Suite, &Case)> {
        self.suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)))
    }
}

/// What is put to one target, and what is not.
pub struct Plan<'k> {
    /// What the cases are about.
    pub knowledge: &'k Knowledge,
    /// The target.
    pub target: &'k Target,
    /// The paths by which the target is reached.
    pub transports: Vec<Transport>,
    /// The level that must be granted.
    pub asked_level: Option<String>,
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
    pub covers: Vec<&'k str>,
    /// Position of the lowest level at which a target can be asked.
    pub level: usize,
    /// Why it is not put, whatever the target offers.
    pub skip: Option<(NotRun, String)>,
    /// Index of the waiver that excuses it.
    pub waiver: Option<usize>,
    /// Expectations whose arguments hold no template, compiled.
    compiled: BTreeMap<ExpectationKey, matcher::Expectation>,
}

/// Steps of the probe of feature `n` have numbers from `n * PROBE_STEPS` on.
pub const PROBE_STEPS: usize = 100;

/// Steps of a set-up have numbers from here on, in every case.
pub const SETUP_STEPS: usize = 10_000;

/// The feature whose probe an exchange with this step belongs to, set-up included.
pub fn probe_of(step: usize) -> usize {
    step % SETUP_STEPS / PROBE_STEPS
}

/// Which expectation of a case: step, list within the step, position in the list.
pub type ExpectationKey = (usize, u8, usize);

/// The lists of expectations of a step, in the order of [`ExpectationKey`].
pub fn lists(step: &Step) -> [&[Expectation]; 3] {
    [&step.assume, &step.expect, &step.expect_all]
}

impl<'k> Plan<'k> {
    /// The probes for one path, as far as it has their operations.
    pub fn probes(&self, transport: Transport) -> Vec<ReadyCase<'k>> {
        let offered = |case: &&Case| {
            let reached = case.reach.is_empty() || case.reach.iter().any(|word| transport.is_meant_by(&word.value));
            let operations = operations(self.knowledge.protocol, case);
            reached && operations.iter().all(|operation| operation.is_offered(transport, self.target.url.is_some()))
        };
        let ready = |case: &'k Case| ReadyCase {
            id: format!("{}/probe#{}{}", self.knowledge.protocol.slug(), case.name.value, transport.suffix()),
            case,
            transport,
            covers: Vec::new(),
            level: 0,
            skip: None,
            waiver: None,
            compiled: BTreeMap::new(),
        };
        self.knowledge.probes.iter().filter(offered).map(ready).collect()
    }

    /// Whether a probe is taken before all others.
    pub fn is_first(&self, probe: &ReadyCase<'_>) -> bool {
        let mut features = self.knowledge.manifest.features.iter();
        features.any(|feature| feature.first && feature.name.value == probe.case.name.value)
    }

    /// The features that decide whether and how some of the cases are put.
    pub fn features_needed(&self, cases: &BTreeSet<usize>) -> BTreeSet<&'k str> {
        let manifest = &self.knowledge.manifest;
        let mut needed: BTreeSet<&str> =
            cases.iter().flat_map(|index| &self.cases[*index].case.needs).map(|need| need.value.as_str()).collect();
        needed.extend(manifest.setup.iter().flat_map(|setup| &setup.needs).map(|need| need.value.as_str()));
        needed.extend(manifest.claims.level.iter().map(|claim| claim.feature.value.as_str()));
        needed.extend(manifest.transports.iter().map(|(_, feature)| feature.value.as_str()));
        let floor = manifest.features.iter().filter(|feature| feature.first || !feature.floor.is_empty());
        needed.extend(floor.map(|feature| feature.name.value.as_str()));
        needed
    }
}

impl ReadyCase<'_> {
    /// The check of an expectation whose argument holds no template.
    pub fn compiled(&self, key: ExpectationKey) -> Option<&matcher::Expectation> {
        self.compiled.get(&key)
    }
}

/// Makes the expectation ready for an argument that is rendered.
///
/// # Errors
///
/// [`matcher::ArgumentError`] if the argument makes no sense; after [`load`] that can only come of a captured value.
pub fn compile(
    protocol: &dyn Protocol,
    expectation: &Expectation,
    argument: &Value,
) -> Result<matcher::Expectation, matcher::ArgumentError> {
    let compiler = matcher::Compiler::new(protocol.matchers());
    let found = compiler
        .find(&expectation.matcher)
        .ok_or_else(|| matcher::ArgumentError::new(format!("there is no matcher `{}`", *expectation.matcher)))?;
    let check = found.compile(argument, &compiler)?;
    Ok(matcher::Expectation { at: expectation.at.value.clone(), check })
}

/// Decides what is put to `target`.
pub fn build<'k>(knowledge: &'k Knowledge, target: &'k Target, selection: &Selection) -> Plan<'k> {
    let spoken = knowledge.protocol.transports();
    let transports: Vec<Transport> =
        spoken.iter().copied().filter(|transport| target.is_reached_over(*transport)).collect();
    let mut cases = Vec::new();
    for (suite, case) in knowledge.cases() {
        let base = format!("{}#{}", suite.name.value, case.name.value);
        let possible: Vec<Transport> =
            transports.iter().copied().filter(|transport| can_reach(knowledge, target, case, *transport)).collect();
        if possible.is_empty() {
            let transport = transports.first().copied().unwrap_or(Transport::Http);
            let mut ready = ready(knowledge, target, selection, base.clone(), case, transport);
            ready.covers = case.covers.iter().map(|id| id.value.as_str()).collect();
            let why = match transport {
                Transport::Adapter => "only an endpoint can show it",
                _ if case.reach.iter().any(|word| Transport::ALL[..3].iter().any(|path| path.name() == word.value)) => {
                    "the target is not reached over the transport that can show it"
                }
                _ => "only a library behind an adapter can show it",
            };
            ready.skip.get_or_insert((NotRun::Unobservable, why.to_owned()));
            cases.push(ready);
        }
        let both = possible.len() > 1;
        for transport in possible {
            let id = if both { format!("{base}{}", transport.suffix()) } else { base.clone() };
            cases.push(ready(knowledge, target, selection, id, case, transport));
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
    Plan { knowledge, target, transports, asked_level: selection.level.clone(), cases, waived_requirements }
}

/// One case that is in no suite of `knowledge`, such as one that a fuzzer has made, for one path to `target`.
pub fn ready_case<'k>(
    knowledge: &'k Knowledge,
    target: &Target,
    id: String,
    case: &'k Case,
    transport: Transport,
) -> ReadyCase<'k> {
    ready(knowledge, target, &Selection::default(), id, case, transport)
}

/// The mistakes in a case that is in no suite of `knowledge`.
pub fn mistakes(knowledge: &Knowledge, case: &Case) -> Vec<Diagnostic> {
    check::case(knowledge, case)
}

fn ready<'k>(
    knowledge: &'k Knowledge,
    target: &Target,
    selection: &Selection,
    id: String,
    case: &'k Case,
    transport: Transport,
) -> ReadyCase<'k> {
    let requirement = |id: &str| knowledge.catalogue.find(id);
    let covers: Vec<&str> = case
        .covers
        .iter()
        .map(|id| id.value.as_str())
        .filter(|id| requirement(id).is_some_and(|requirement| requirement.testable.at(transport.kind())))
        .collect();
    let lowest = covers.iter().filter_map(|id| requirement(id)).map(|found| knowledge.level(&found.level)).min();
    let operations = operations(knowledge.protocol, case);
    let level = operations
        .iter()
        .map(|operation| knowledge.level(operation.level))
        .chain(case.needs.iter().map(|need| knowledge.level(need)))
        .chain(lowest)
        .max()
        .unwrap_or(0);
    let waiver = target
        .waivers
        .iter()
        .position(|waiver| matches!(&waiver.what, WaiverSubject::Case(pattern) if glob(pattern, &id)));
    let skip = selection
        .leaves_out(&id, &covers, lowest.unwrap_or(0), knowledge)
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
    ReadyCase { id, case, transport, covers, level, skip, waiver, compiled }
}

/// Why a case is not put to a target that hears a party only with credentials of its own: somebody in it has none.
fn without_credentials(
    protocol: &dyn Protocol,
    target: &Target,
    case: &Case,
    transport: Transport,
) -> Option<(NotRun, String)> {
    let heard = |step: &&Step| match step.action {
        crate::suite::Action::Send { .. } => protocol.is_heard(target, &step.actor.value),
        _ => true,
    };
    let step = case.all_steps().into_iter().find(|step| transport != Transport::Adapter && !heard(step))?;
    let who = &step.actor.value;
    let why = format!("the target hears nobody without credentials, and the target file has none for `{who}`");
    Some((NotRun::Unobservable, why))
}

/// The operations that a case asks for.
pub fn operations(protocol: &dyn Protocol, case: &Case) -> Vec<&'static Operation> {
    case.all_steps()
        .into_iter()
        .filter_map(|step| match &step.action {
            crate::suite::Action::Send { operation, .. } => protocol.operation(operation),
            _ => None,
        })
        .collect()
}

fn can_reach(knowledge: &Knowledge, target: &Target, case: &Case, transport: Transport) -> bool {
    if !case.reach.is_empty() && !case.reach.iter().any(|reach| transport.is_meant_by(&reach.value)) {
        return false;
    }
    let decides = case
        .covers
        .iter()
        .filter_map(|id| knowledge.catalogue.find(id))
        .any(|found| found.testable.at(transport.kind()));
    let raw = case.all_steps().iter().any(|step| matches!(step.action, crate::suite::Action::Request { .. }));
    let operations = operations(knowledge.protocol, case);
    let offered = operations.iter().all(|operation| operation.is_offered(transport, target.url.is_some()));
    decides && offered && !(raw && transport == Transport::Adapter)
}
