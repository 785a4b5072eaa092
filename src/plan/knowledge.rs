//! What is known of one protocol, and the parts of its cases that every later layer looks at.

use crate::matcher;
use crate::protocol::{Operation, Protocol};
use crate::requirement::{Catalogue, Erratum, Requirement};
use crate::suite::{Case, Expectation, Manifest, Step, Suite};
use crate::value::Value;

/// The data of one protocol, read and checked.
pub struct Knowledge {
    /// The protocol.
    pub protocol: &'static dyn Protocol,
    /// Its requirements.
    pub catalogue: Catalogue,
    /// Its errata.
    pub errata: Vec<Erratum>,
    /// Definitions that its cases share.
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
    /// The role without which a target cannot show a requirement; `None` if any target can, whatever role it plays.
    pub fn role_of<'k>(&'k self, requirement: &Requirement) -> Option<&'k str> {
        if self.manifest.roles_bind_cases {
            return None;
        }
        let roles = self.manifest.roles.iter().map(|role| role.name.value.as_str());
        roles.into_iter().find(|role| *role == requirement.binds())
    }

    /// Every case with the name of its suite.
    pub fn cases(&self) -> impl Iterator<Item = (&Suite, &Case)> {
        self.suites.iter().flat_map(|suite| suite.cases.iter().map(move |case| (suite, case)))
    }
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

/// Compiles an expectation with its rendered argument.
///
/// # Errors
///
/// [`matcher::ArgumentError`] if the argument makes no sense; after [`load`](super::load) that can only come of a captured value.
pub fn compile(
    protocol: &dyn Protocol,
    expectation: &Expectation,
    argument: &Value,
) -> Result<matcher::Expectation, matcher::ArgumentError> {
    let compiler = matcher::Compiler::new(protocol.matchers());
    let found = compiler
        .find(&expectation.matcher)
        .ok_or_else(|| matcher::ArgumentError::new(format!("unknown matcher `{}`", *expectation.matcher)))?;
    let check = found.compile(argument, &compiler)?;
    Ok(matcher::Expectation { at: expectation.at.value.clone(), check })
}

/// The expectations of a case that have no template in their argument, compiled. A case has them only while it runs and while it
/// is judged: those of ten thousand cases would take more room than their answers.
#[derive(Default)]
pub struct Compiled(Vec<(ExpectationKey, matcher::Expectation)>);

impl Compiled {
    /// Those of `case`.
    pub fn of(protocol: &dyn Protocol, case: &Case) -> Self {
        let mut compiled = Vec::new();
        for step in case.all_steps() {
            for (list, expectations) in (0_u8..).zip(lists(step)) {
                for (position, expectation) in expectations.iter().enumerate() {
                    if let Some(argument) = expectation.argument.constant()
                        && let Ok(check) = compile(protocol, expectation, argument)
                    {
                        compiled.push(((step.number, list, position), check));
                    }
                }
            }
        }
        compiled.sort_by_key(|(key, _)| *key);
        Self(compiled)
    }

    /// Adds one, whose key is greater than those before.
    pub fn push(&mut self, key: ExpectationKey, check: matcher::Expectation) {
        debug_assert!(self.0.last().is_none_or(|(last, _)| *last < key), "{key:?}");
        self.0.push((key, check));
    }

    /// The one at `key`.
    pub fn find(&self, key: ExpectationKey) -> Option<&matcher::Expectation> {
        let at = self.0.binary_search_by_key(&key, |(key, _)| *key).ok()?;
        Some(&self.0[at].1)
    }
}

/// The operations that a case uses.
pub fn operations(protocol: &dyn Protocol, case: &Case) -> Vec<&'static Operation> {
    case.all_steps()
        .into_iter()
        .filter_map(|step| match &step.action {
            crate::suite::Action::Send { operation, .. } => protocol.operation(operation),
            _ => None,
        })
        .collect()
}
