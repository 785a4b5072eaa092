//! The shape of a proof, as it is written to a file.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::{Profile, Verdict};

/// Name and version of the proof's shape.
pub const SCHEMA: &str = "proofmark-proof/1";

/// The results of a proof.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proof {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of proofmark.
    pub proofmark: String,
    /// Slug of the protocol.
    pub protocol: String,
    /// SHA-256 over the suite files, in hex.
    pub suite_hash: String,
    /// Decides every generated value.
    pub seed: u64,
    /// Whether every case ran against every fault.
    pub all_cases: bool,
    /// The subject without a fault: it must pass every case.
    pub clean: Vec<CleanRow>,
    /// The planted faults.
    pub faults: Vec<FaultRow>,
    /// How many requirements one fault fails, if that was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blame: Option<Blame>,
    /// The cases.
    pub cases: Vec<CaseRow>,
    /// The requirements that cases cover.
    pub requirements: Vec<RequirementRow>,
    /// Trivial targets: no case may pass there.
    pub floor: Vec<FloorRow>,
    /// Testable demands without a case.
    pub uncovered: Vec<String>,
    /// Members of answers that no case checks, if that was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wire: Option<WireProof>,
    /// Why the suite is not proven; empty if it is.
    pub problems: Vec<String>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
}

/// The subject without a fault, judged once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CleanRow {
    /// The setting.
    pub setting: String,
    /// The profile.
    pub profile: Profile,
    /// Cases run.
    pub ran: usize,
    /// Cases that did not pass, with verdict and reason.
    pub not_passed: Vec<NotPassed>,
}

/// A case that did not pass although it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotPassed {
    /// The case.
    pub case: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why.
    pub because: String,
}

/// A planted fault and the cases that caught it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FaultRow {
    /// Its name.
    pub fault: String,
    /// What it does wrong.
    pub summary: String,
    /// The lowest level at which it is observable.
    pub level: String,
    /// The requirements that it breaks.
    pub breaks: Vec<String>,
    /// The requirements that it breaks besides, each with the reason.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub also: BTreeMap<String, String>,
    /// The requirements that failed, if every case ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blamed: Option<BTreeSet<String>>,
    /// Whether a case that covers a broken requirement failed.
    pub killed: bool,
    /// Whether it is caught only under the strict profile.
    pub strict_only: bool,
    /// The cases that failed for a requirement that it breaks, and the requirements.
    pub killers: BTreeMap<String, Vec<String>>,
    /// The cases that failed only for other requirements, and the requirements.
    pub elsewhere: BTreeMap<String, Vec<String>>,
    /// Cases run.
    pub ran: usize,
    /// How often it was tried until a case caught it.
    pub rounds: usize,
    /// Why it could not be tried, or the verdicts of the cases if none caught it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
}

/// How many requirements one fault fails, over the faults that ran against more than the cases that should catch them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blame {
    /// The number of these faults.
    pub faults: usize,
    /// They ran against every n-th case, and the cases that should catch them.
    #[serde(default = "every_case")]
    pub apart: usize,
    /// The median.
    pub median: usize,
    /// Nine of ten faults fail at most as many.
    pub ninetieth: usize,
    /// The most that one fault fails.
    pub worst: usize,
    /// That fault.
    pub worst_fault: String,
    /// Requirements that failed although the fault is neither declared to break them nor has a reason to.
    pub undeclared: BTreeMap<String, Vec<String>>,
}

const fn every_case() -> usize {
    1
}

impl Blame {
    /// Measures the rows of faults that ran against every case, or every n-th; `None` without any.
    pub(super) fn of(rows: &[FaultRow], apart: usize) -> Option<Self> {
        let mut counts: Vec<(usize, &str)> =
            rows.iter().filter_map(|row| Some((row.blamed.as_ref()?.len(), row.fault.as_str()))).collect();
        counts.sort_unstable();
        let (worst, worst_fault) = *counts.last()?;
        let at = |percent: usize| counts[(counts.len() * percent).div_ceil(100).max(1) - 1].0;
        let undeclared = rows.iter().filter_map(|row| {
            let ids: Vec<String> = row.undeclared().map(str::to_owned).collect();
            (!ids.is_empty()).then(|| (row.fault.clone(), ids))
        });
        Some(Self {
            faults: counts.len(),
            apart,
            median: at(50),
            ninetieth: at(90),
            worst,
            worst_fault: worst_fault.to_owned(),
            undeclared: undeclared.collect(),
        })
    }
}

impl FaultRow {
    /// Requirements that failed although nothing says that the fault breaks them.
    pub(super) fn undeclared(&self) -> impl Iterator<Item = &str> {
        let failed = self.blamed.iter().flatten().map(String::as_str);
        failed.filter(|id| !self.breaks.iter().any(|broken| broken == id) && !self.also.contains_key(*id))
    }
}

/// A case and the faults that it caught.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRow {
    /// Its id.
    pub case: String,
    /// The setting in which it ran against the clean subject; empty if it did not run.
    pub setting: String,
    /// How many planted faults it catches with a requirement that it covers.
    pub kills: usize,
    /// A change of one member of the answers that makes it fail, if no fault does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<String>,
}

impl CaseRow {
    /// Whether the case ran, and nothing made it fail.
    pub(super) fn is_idle(&self) -> bool {
        !self.setting.is_empty() && self.kills == 0 && self.mutation.is_none()
    }
}

/// A requirement, with the evidence that its cases can fail for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementRow {
    /// Its id.
    pub requirement: String,
    /// Its keyword.
    pub keyword: String,
    /// Cases that cover it.
    pub cases: usize,
    /// Faults that break it and are caught by it.
    pub faults: Vec<String>,
    /// A change of one member of the answers that makes a case fail for it, if no fault does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mutation: Option<String>,
}

/// A trivial target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FloorRow {
    /// Its behaviour.
    pub target: String,
    /// Cases run.
    pub ran: usize,
    /// Cases that passed, or passed with a warning.
    pub passed: Vec<String>,
}

/// The result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireProof {
    /// Changes tried.
    pub tried: usize,
    /// Members of which at least one change was detected.
    pub watched: usize,
    /// Every member with a change that no case detects.
    pub unwatched: Vec<WireMember>,
}

/// A member of the answers to one operation, and the changes of it that no case detects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WireMember {
    /// The member, in words.
    pub member: String,
    /// Number of cases that receive it.
    pub cases: usize,
    /// Changes that no case detects.
    pub unwatched: Vec<String>,
    /// Changes that a case detects, and the case.
    pub watched: BTreeMap<String, String>,
}
