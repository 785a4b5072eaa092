//! The record: everything that a report may know about a run (`report.json`).
//!
//! Every report is rendered from the record alone, and `rejudge` reads it back. Its shape is versioned by
//! [`SCHEMA`]; fields are only ever added within a version.
//!
//! In memory a record is whole. In files its exchanges lie compressed beside `report.json`
//! ([`report::evidence`](crate::report::evidence)).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exchange::{Exchanges, HostUrls, Stray, TargetClass, Transport};
use crate::verdict::{Grant, NotRun, Profile, Verdict};

/// Name and version of the record's shape.
pub const SCHEMA: &str = "proofmark-record/2";

/// The versions that are read. In the first every exchange stood in the record itself.
pub const READABLE: [&str; 2] = ["proofmark-record/1", SCHEMA];

/// One run of proofmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of proofmark that wrote it.
    pub proofmark: String,
    /// The file with the exchanges; `None` if they stand in the record itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceFile>,
    /// Random seed of the run.
    pub seed: u64,
    /// Random seed of generated identities; equal to `seed` unless the run used new identities.
    pub identity_seed: u64,
    /// Which findings count.
    pub profile: Profile,
    /// Start of the run, RFC 3339 in UTC. Every timestamp that was sent is relative to it.
    pub started_at: String,
    /// The selection of the run.
    pub asked: Asked,
    /// The target.
    pub target: TargetRecord,
    /// One entry for each protocol, in the order in which proofmark lists protocols.
    pub protocols: Vec<ProtocolRecord>,
    /// The baseline of the run, and what came of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub baseline: Option<BaselineRecord>,
    /// Totals.
    pub summary: Summary,
}

/// The file beside a record that holds its exchanges.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EvidenceFile {
    /// Its name, in the folder of the record.
    pub file: String,
    /// SHA-256 over the file, in hex. Files of different runs are not mixed up.
    pub sha256: String,
}

/// The selection of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Asked {
    /// The levels or profiles that must be granted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Patterns of case ids; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub only: Vec<String>,
    /// Requirement ids; empty means all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requirements: Vec<String>,
    /// The part of the cases that this run included, as `K/N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
    /// The shards whose records were joined, as `K/N`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub joined: Vec<String>,
}

/// The target, without credentials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// What was tested: an endpoint, a library behind an adapter, or the embedded reference implementation.
    pub kind: TargetClass,
    /// URL, adapter command or a name from the target file.
    pub name: String,
    /// What the target declares about itself: level, implementation name and version, capabilities, by protocol.
    #[serde(default)]
    pub declared: BTreeMap<String, serde_json::Value>,
    /// The part of its configuration that `rejudge` needs to read the answers again.
    #[serde(default)]
    pub config: TargetConfig,
}

/// The part of a target's configuration that affects how answers are read. It contains no credential.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetConfig {
    /// The transports over which it was reached.
    pub transports: Vec<Transport>,
    /// The levels that the target file claims; empty if the target declares its levels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// Its kinds according to the target file; empty for the default kinds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Its roles according to the target file, if given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// Features that it has or lacks according to the target file.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, bool>,
    /// Settings that the protocol defines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Operations with a route in the target file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<String>,
    /// Places in answers that are tried before the protocol's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, Vec<String>>,
    /// Names of members of the target, by the kind of object and the name of the protocol.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub names: BTreeMap<String, BTreeMap<String, String>>,
    /// Status codes that replace the specified one.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, Vec<u16>>,
    /// Timeouts of the protocol that the target file sets, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts_ms: BTreeMap<String, u64>,
    /// Tolerance for timestamps in both directions, in milliseconds.
    #[serde(default)]
    pub clock_skew_ms: u64,
}

/// The results for one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolRecord {
    /// Slug.
    pub protocol: String,
    /// Title and version of the specification.
    pub spec: String,
    /// SHA-256 over the suite and vector files that were used, in hex.
    pub suite_hash: String,
    /// The command that runs a case again, with `{case}` in place of its id; empty if the cases have commands of their own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replay: String,
    /// The levels, in the order of the manifest.
    pub levels: Vec<LevelRecord>,
    /// The probable causes of the violations, the one to mend first at the top. They are derived from the cases whenever
    /// the record is written, and not read back.
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<CauseRecord>,
    /// The features of the target, as probed.
    pub features: Vec<FeatureRecord>,
    /// Every requirement of the catalogue, in its order.
    pub requirements: Vec<RequirementRecord>,
    /// Every case, in the order of the plan.
    pub cases: Vec<CaseRecord>,
    /// The URLs of the hosts of the run, by name and transport.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostUrls>,
    /// Messages at hosts that no case received: they match no case, or arrived after it had ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Stray>,
    /// Number of further such messages that were not kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_strays: u64,
    /// The waivers of the target file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<WaiverRecord>,
    /// The exploration that was part of the run. What it found is among the cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exploration: Option<ExplorationRecord>,
}

/// An exploration: sequences of operations, judged by the model of the protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplorationRecord {
    /// Sequences that ran.
    pub sequences: u64,
    /// Sequences that were judged to their end, or to their first violation.
    pub judged: u64,
    /// Their steps.
    pub steps: u64,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// Why it ended.
    pub end: String,
    /// Every transition of the model, and how often it was reached.
    pub transitions: BTreeMap<String, u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn no_exchanges(exchanges: &Exchanges) -> bool {
    exchanges.is_empty()
}

/// The outcome of a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LevelRecord {
    /// Name of the level or profile.
    pub level: String,
    /// Granted, granted except for what is waived, refused or undecided.
    pub outcome: Grant,
    /// Whether the target claims it.
    pub claimed: bool,
    /// Whether all its demands were met although the target does not claim it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub met: bool,
    /// Whether it is not observable at this kind of target.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unobservable: bool,
    /// The requirements because of which it is refused or undecided, with verdict and reason; empty when granted.
    pub because: Vec<Because>,
    /// Requirements of the level without a case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<String>,
    /// Requirements that were not met and are waived.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waived: Vec<String>,
    /// Requirements whose condition never came up. They do not stand in the way of the level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_exercised: Vec<String>,
    /// Requirements of options that the target leaves out, as it may. They do not stand in the way of the level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_claimed: Vec<String>,
    /// Number of demands, those of included levels among them, that were seen to hold.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: u64,
    /// Number of demands that cannot be observed at this kind of target. They do not stand in the way of the level.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_observable: u64,
}

/// One requirement because of which a level is not granted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Because {
    /// Its id.
    pub requirement: String,
    /// Its verdict.
    pub verdict: Verdict,
    /// Why it did not run, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotRun>,
    /// Why it is not decided, in words; empty for a violation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// What to do about it; empty for a violation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
}

/// Violations with one probable cause: findings of the same operation that show the same difference at the same place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CauseRecord {
    /// Identifies the cause across runs, seeds and targets: `cause-` and twelve hexadecimal digits, as in `compare` and in a
    /// baseline.
    pub fingerprint: String,
    /// The cause in one line, without ids and digests.
    pub text: String,
    /// The requirements that it violates, in the order of the catalogue.
    pub requirements: Vec<String>,
    /// Cases that fail with it.
    pub cases: u64,
    /// Cases that decide nothing as long as it lasts.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks: u64,
    /// Id of the case with the fewest messages that shows it.
    pub example: String,
}

/// An optional feature of the protocol, and whether the target offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeatureRecord {
    /// Name.
    pub feature: String,
    /// Description.
    pub about: String,
    /// Whether the target offers it.
    pub state: FeatureState,
    /// A hint for a target that should offer it and does not.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// Cases that decide nothing because the target lacks it, a prerequisite of theirs.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub blocks: u64,
    /// Violated requirements that are about it, where it blocks cases: once they are met, those cases can be judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub explained_by: Vec<String>,
    /// The exchanges of the probe.
    #[serde(default, skip_serializing_if = "no_exchanges")]
    pub exchanges: Exchanges,
}

/// The result of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureState {
    /// The target offers it.
    Offered,
    /// The target does not offer it.
    Absent,
    /// The answer is inconclusive; the cases that need the feature run and are judged.
    Unclear,
    /// It was probed, and no whole answer came. The cases that need it decide nothing.
    Unanswered,
    /// It was not probed: the selected cases do not need it, or this kind of target has no operation for it.
    Unknown,
}

/// The result of one requirement over all of its cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RequirementRecord {
    /// Id of the catalogue.
    pub id: String,
    /// Section of the specification.
    pub section: String,
    /// MUST, MUST NOT, SHAPE, SHOULD, SHOULD NOT or MAY.
    pub keyword: String,
    /// Lowest level at which it binds.
    pub level: String,
    /// One sentence.
    pub summary: String,
    /// The worst verdict of its cases.
    pub verdict: Verdict,
    /// Why it did not run, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotRun>,
    /// Why no case covers it: `gap`, or `untestable: ` and the catalogue's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncovered: Option<String>,
    /// Entries of the errata register about it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errata: Vec<String>,
    /// The cases that cover it.
    pub cases: Vec<String>,
}

impl RequirementRecord {
    /// Whether it is a MUST, MUST NOT or SHAPE, without which no level is granted.
    pub fn is_demand(&self) -> bool {
        matches!(self.keyword.as_str(), "MUST" | "MUST NOT" | "SHAPE")
    }
}

/// The result of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// `<protocol>/<suite>#<case>`, with `[<row>]` for a row of a table, and with `@ws`, `@tcp`, `@tree` or `@adapter` if the same
    /// case runs over several transports.
    pub id: String,
    /// The transport over which it ran.
    pub transport: Transport,
    /// One sentence, or the empty string.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The worst of its findings.
    pub verdict: Verdict,
    /// Why it did not run, if it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotRun>,
    /// The reason in words: why it did not run, is inconclusive, or ended in an error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// The requirements it covers.
    pub covers: Vec<String>,
    /// Requirements of `covers` that it decided, with the verdict of each. Left out of a file if each has the verdict of the case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outcomes: BTreeMap<String, Verdict>,
    /// When its first step ran, in milliseconds after the start of the run: the current time of the case.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub started_ms: u64,
    /// When the first step of its twin ran.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub twin_started_ms: u64,
    /// Number of the retry that was recorded; 0 for the first try. A case is retried if it failed after waiting.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry: u64,
    /// Milliseconds from its first step to its last.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub elapsed_ms: u64,
    /// Where it is written: `file:line:column`.
    pub at: String,
    /// Failed expectations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingRecord>,
    /// The permitted readings that were observed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingRecord>,
    /// The messages that were sent and received, in order.
    #[serde(default, skip_serializing_if = "no_exchanges")]
    pub exchanges: Exchanges,
    /// The exchanges of its twin, the same case without its edits, if it has edits.
    #[serde(default, skip_serializing_if = "no_exchanges")]
    pub twin: Exchanges,
    /// Id of the case that sent the twin, if another one did: without edits, both have the same messages.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub twin_of: String,
    /// If it is a sweep: ids of cases in which the target made the messages that the findings are about, one for each kind of
    /// finding.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub swept_from: Vec<String>,
    /// The edits that make it a negative case, in words, with the step of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditRecord>,
    /// The command that runs the case again. Left out of a file if the case needs no attention and the `replay` of its protocol
    /// says it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub replay: String,
}

impl CaseRecord {
    /// Each requirement of `covers` with the verdict of the case: its `outcomes`, unless they differ among each other.
    pub(crate) fn plain_outcomes(&self) -> BTreeMap<String, Verdict> {
        self.covers.iter().map(|id| (id.clone(), self.verdict)).collect()
    }
}

/// One deliberate defect of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditRecord {
    /// The step whose message is edited.
    pub step: usize,
    /// For example `remove /title`.
    pub edit: String,
}

/// One failed expectation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    /// The requirement that it violates.
    pub requirement: String,
    /// Its severity.
    pub verdict: Verdict,
    /// The expected observation.
    pub expected: String,
    /// The actual observation.
    pub observed: String,
    /// The part of the answer that was checked, as a JSON Pointer into the observation.
    pub path: String,
    /// Index into `exchanges` of the case, if one exchange shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<usize>,
    /// Where the expectation is written: `file:line:column`.
    pub at: String,
    /// Whether it counts only under the strict profile.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_only: bool,
    /// The known mistake of implementers that it comes from, if one is recognised. All failures of a run with one mistake are
    /// one cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mistake: Option<MistakeRecord>,
    /// A note of the suite's author, and on which spelling of the messages the failure depends, if it does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A known mistake of implementers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MistakeRecord {
    /// The mistake in words.
    pub text: String,
    /// Whether other failures of the run show it, and this one only follows from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub follows: bool,
}

/// A permitted reading that was observed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingRecord {
    /// The reading, in words.
    pub reading: String,
    /// Whether the ruling only tolerates it: a warning in lenient, a failure in strict.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tolerated: bool,
    /// Where the expectation is written.
    pub at: String,
}

/// A waiver: a known failure that the implementer accepts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaiverRecord {
    /// The case pattern or requirement id.
    pub what: String,
    /// The reason that the target file gives.
    pub reason: String,
    /// Where it is written.
    pub at: String,
    /// Why it is stale: it matches no case, or the waived cases pass. A stale waiver makes the run exit 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
}

/// A baseline, and what came of it. A known failure is still a failure: it changes the exit code of a run, and no verdict and
/// no level.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BaselineRecord {
    /// The file.
    pub file: String,
    /// Its entries.
    pub entries: Vec<KnownFailure>,
    /// Patterns of the cases that may not run; `None` if the file has no such list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_not_run: Option<Vec<String>>,
    /// Cases that failed or were inconclusive and all of whose causes are known, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<String>,
    /// Cases that did not run and match no pattern of `expected_not_run`, by id. They make the run exit 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexpected_not_run: Vec<String>,
    /// Patterns of `expected_not_run` that match no case, or only cases that ran.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unused_patterns: Vec<String>,
}

/// One known failure of a baseline: some cases that fail for one cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KnownFailure {
    /// Patterns of case ids.
    pub cases: Vec<String>,
    /// Identifies the cause.
    pub fingerprint: String,
    /// The cause in words, as the file gives it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub cause: String,
    /// What it is.
    pub kind: KnownKind,
    /// Its owner.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// Where it is tracked.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub link: String,
    /// The last day on which it counts, as `YYYY-MM-DD`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
    /// A note of the owner.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
    /// Where it is written: `file:line:column`.
    pub at: String,
    /// Cases that failed or were inconclusive for this cause, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matched: Vec<String>,
    /// Patterns that match no failed case with this cause. They make the run exit 1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<StaleCase>,
    /// Whether it had expired when the run started. It then counts no longer, and its cases are new failures.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub expired: bool,
}

/// A pattern of a known failure that no longer holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StaleCase {
    /// The pattern.
    pub case: String,
    /// Why it is stale.
    pub why: String,
}

/// What a known failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnownKind {
    /// A bug of the target that will be fixed.
    Bug,
    /// A deviation that the owner of the target keeps.
    Wontfix,
    /// The owner of the target contests the requirement or the case.
    Disputed,
}

impl KnownKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Bug, Self::Wontfix, Self::Disputed];

    /// Its name in data and in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Bug => "bug",
            Self::Wontfix => "wontfix",
            Self::Disputed => "disputed",
        }
    }
}

/// Totals of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Cases by verdict.
    pub cases: CaseTotals,
    /// Messages sent.
    pub requests: u64,
    /// Wall time in milliseconds.
    pub elapsed_ms: u64,
    /// Whether the run was cut short (Ctrl-C, the run's deadline, a target that stopped answering), and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<String>,
    /// What it means that the run was cut short, and what to do, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<String>,
    /// The exit code that the run ended with.
    pub exit_code: u8,
    /// The exit code in words.
    pub conclusion: String,
}

/// Number of cases by verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct CaseTotals {
    /// See [`Verdict::Pass`].
    pub pass: u64,
    /// See [`Verdict::Warn`].
    pub warn: u64,
    /// See [`Verdict::Fail`].
    pub fail: u64,
    /// See [`Verdict::Inconclusive`].
    pub inconclusive: u64,
    /// See [`Verdict::Error`].
    pub error: u64,
    /// See [`Verdict::NotRun`].
    pub not_run: u64,
}

impl CaseTotals {
    /// Counts one more case.
    pub fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Pass => self.pass += 1,
            Verdict::Warn => self.warn += 1,
            Verdict::Fail => self.fail += 1,
            Verdict::Inconclusive => self.inconclusive += 1,
            Verdict::Error => self.error += 1,
            Verdict::NotRun => self.not_run += 1,
        }
    }

    /// Verdict and number, in the order in which summaries print them.
    pub fn rows(&self) -> [(Verdict, u64); 6] {
        // Destructured so that a new verdict does not compile until it is printed.
        let Self { pass, warn, fail, inconclusive, error, not_run } = *self;
        [
            (Verdict::Pass, pass),
            (Verdict::Warn, warn),
            (Verdict::Fail, fail),
            (Verdict::Inconclusive, inconclusive),
            (Verdict::Error, error),
            (Verdict::NotRun, not_run),
        ]
    }

    /// Cases that ran.
    pub fn judged(&self) -> u64 {
        self.pass + self.warn + self.fail
    }
}
