//! Confirms blame: what fails beside the requirements that a fault breaks.
//!
//! Dozens of faults run side by side, and a case that waits for an answer may fail only because the machine is busy. So what
//! failed elsewhere runs again, few at a time, and counts if it fails again.

use std::collections::{BTreeMap, BTreeSet};

use super::baseline::{CaseJudge, failed, put};
use super::proof::FaultRow;
use super::subject::{Fault, Options, Setting, Subject};
use crate::parallel;
use crate::plan::{Plan, ReadyCase};
use crate::verdict::Profile;
use crate::walk::{Context, Facts, Features};

/// Of the runs that may be under way, one of so many runs here.
const APART: usize = 8;

/// More failures of one fault than that are no accident.
const MANY: usize = 60;

/// A fault that was planted, and for blame the cases that failed, each with its requirements.
pub(super) struct Planted<'f> {
    pub(super) fault: &'f Fault,
    pub(super) row: FaultRow,
    pub(super) charges: Charges,
}

/// Cases that failed, and the requirements for which they did.
pub(super) type Charges = BTreeMap<String, Vec<String>>;

/// Fills in the requirements that each fault fails: those of the cases that catch it, and those that fail twice.
pub(super) fn confirm(
    planted: Vec<Planted<'_>>,
    settings: &[Setting],
    plans: &[Plan<'_>],
    subject: &dyn Subject,
    options: &Options,
) -> Vec<FaultRow> {
    let jobs = (options.jobs / APART).max(parallel::processors());
    let repeated = parallel::map(jobs, &planted, |planted| {
        let doubtful = planted.doubtful();
        let found = settings.iter().zip(plans).find(|(setting, _)| setting.name == planted.fault.setting);
        let (setting, plan) = found.filter(|_| !doubtful.is_empty() && doubtful.len() <= MANY)?;
        repeat(planted, setting, plan, &doubtful, subject, options)
    });
    planted.into_iter().zip(repeated).map(|(planted, repeated)| planted.settled(repeated)).collect()
}

impl Planted<'_> {
    /// The cases that failed only for requirements that the fault does not break, if blame is measured.
    fn doubtful(&self) -> BTreeSet<&str> {
        let breaks = |id: &String| self.fault.breaks.contains(id);
        let elsewhere = self.charges.iter().filter(|(_, ids)| !ids.iter().any(breaks));
        let measured = self.row.blamed.is_some();
        elsewhere.filter(|_| measured).map(|(case, _)| case.as_str()).collect()
    }

    /// The row, with what the cases that ran again say.
    fn settled(self, repeated: Option<Charges>) -> FaultRow {
        let Self { mut row, mut charges, .. } = self;
        for (case, ids) in repeated.into_iter().flatten() {
            if ids.is_empty() {
                row.elsewhere.remove(&case);
                charges.remove(&case);
            } else {
                row.elsewhere.insert(case.clone(), ids.clone());
                charges.insert(case, ids);
            }
        }
        row.blamed = row.blamed.map(|_| charges.into_values().flatten().collect());
        row
    }
}

/// Runs cases against the fault again. A case that did not fail has no requirement; `None` if the subject did not start.
fn repeat(
    planted: &Planted<'_>,
    setting: &Setting,
    plan: &Plan<'_>,
    doubtful: &BTreeSet<&str>,
    subject: &dyn Subject,
    options: &Options,
) -> Option<Charges> {
    // A sweep judges what the other cases received, so it would need all of them.
    let runs = |ready: &ReadyCase<'_>| doubtful.contains(ready.id.as_str()) && !ready.case.is_sweep();
    let chosen: BTreeSet<usize> = (0..plan.cases.len()).filter(|index| runs(&plan.cases[*index])).collect();
    let transcript = put(subject, setting, Some(&planted.fault.name), plan, &chosen, options).ok()?;
    let profile = if planted.row.strict_only { Profile::Strict } else { Profile::Lenient };
    let facts = Facts { profile, ..options.facts };
    let context = Context { plan, facts, features: Features::read(plan, facts, &transcript) };
    let judge = CaseJudge::new(&context, &transcript);
    // The same case may run over several transports.
    let mut charges = Charges::new();
    for index in chosen {
        let record = judge.judge(index);
        charges.entry(record.id.clone()).or_default().extend(failed(&record));
    }
    Some(charges)
}
