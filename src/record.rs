//! The record: everything that a report may know about a run (`report.json`).
//!
//! Every report is drawn from this and from nothing else, and `rejudge` reads it back. Its shape is versioned by
//! [`SCHEMA`]; fields are only ever added within a version.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::exchange::{Exchange, HostUrls, Stray, TargetClass, Transport};
use crate::verdict::{Grant, NotRun, Profile, Verdict};

/// Name and version of the record's shape.
pub const SCHEMA: &str = "proofmark-record/1";

/// One run of proofmark.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunRecord {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// Version of proofmark that wrote it.
    pub proofmark: String,
    /// Decides every generated value of the run.
    pub seed: u64,
    /// Decides generated identities; equal to `seed` unless the run asked for new ones.
    pub identity_seed: u64,
    /// Which findings count.
    pub profile: Profile,
    /// Start of the run, RFC 3339 in UTC. Every time stamp that was sent counts from it.
    pub started_at: String,
    /// What the person who started the run asked for.
    pub asked: Asked,
    /// What was tested.
    pub target: TargetRecord,
    /// One entry for each protocol, in the order in which proofmark lists protocols.
    pub protocols: Vec<ProtocolRecord>,
    /// Totals.
    pub summary: Summary,
}

/// What the run was asked to show.
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
    /// Which part of the cases this run took, as `K/N`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shard: Option<String>,
}

/// What was tested, as far as it may be written down: never a credential.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetRecord {
    /// What was tested: an endpoint, a library behind an adapter, or the embedded reference implementation.
    pub kind: TargetClass,
    /// URL, adapter command or a name from the target file.
    pub name: String,
    /// What the target says of itself: level, implementation name and version, capabilities, by protocol.
    #[serde(default)]
    pub declared: BTreeMap<String, serde_json::Value>,
    /// What of its configuration bears on how answers are read, so that they can be read again.
    #[serde(default)]
    pub config: TargetConfig,
}

/// The configuration of a target as far as it bears on how its answers are read. Holds no credential.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TargetConfig {
    /// The paths by which it was reached.
    pub transports: Vec<Transport>,
    /// The levels that its owner claims; empty if the target was asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub levels: Vec<String>,
    /// The kinds of target that its owner says it is; empty for the usual ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// The roles that its owner says it plays, if the owner says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub roles: Option<Vec<String>>,
    /// Features that its owner says it has or lacks.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, bool>,
    /// What its owner says about it in the words of the protocol.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<String, serde_json::Value>,
    /// Operations whose route its owner configured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<String>,
    /// Places in answers that are tried before the protocol's own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub places: BTreeMap<String, Vec<String>>,
    /// Status codes that stand for the one that the protocol names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub statuses: BTreeMap<String, Vec<u16>>,
    /// Times of the protocol that its owner set, in milliseconds.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub timeouts_ms: BTreeMap<String, u64>,
    /// Added to both ends of every span of time, in milliseconds.
    #[serde(default)]
    pub clock_skew_ms: u64,
}

/// What came of one protocol.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProtocolRecord {
    /// Slug.
    pub protocol: String,
    /// Title and version of the specification.
    pub spec: String,
    /// SHA-256 over the suite and vector files that were used, in hex.
    pub suite_hash: String,
    /// The levels, in the order of the manifest.
    pub levels: Vec<LevelRecord>,
    /// What the probes found the target to offer.
    pub features: Vec<FeatureRecord>,
    /// Every requirement of the catalogue, in its order.
    pub requirements: Vec<RequirementRecord>,
    /// Every case, in the order of the plan.
    pub cases: Vec<CaseRecord>,
    /// Where the hosts of the run were reached, by name and transport.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub hosts: BTreeMap<String, HostUrls>,
    /// Messages at hosts that no case received: they belong to no case, or came after it had ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub strays: Vec<Stray>,
    /// How many more there were than are kept.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_strays: u64,
    /// Set aside by the owner of the target.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waivers: Vec<WaiverRecord>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it with a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Whether a level was shown to hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LevelRecord {
    /// Name of the level or profile.
    pub level: String,
    /// Granted, refused or undecided.
    pub outcome: Grant,
    /// Whether the target claims it.
    pub claimed: bool,
    /// Whether everything that it demands was seen to hold although the target does not claim it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub met: bool,
    /// Whether this kind of target cannot show it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unobservable: bool,
    /// The requirements that refuse it or leave it undecided, with verdict and reason; empty when granted.
    pub because: Vec<Because>,
    /// Requirements of the level that no case judges yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uncovered: Vec<String>,
}

/// One requirement that stands between a target and a level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Because {
    /// Its id.
    pub requirement: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Why it was not run, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotRun>,
}

/// An option of the protocol, and whether the target offers it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FeatureRecord {
    /// Name.
    pub feature: String,
    /// What it is.
    pub about: String,
    /// Whether it was found.
    pub state: FeatureState,
    /// What to do where it was not found and should have been.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub advice: String,
    /// The exchanges of the probe.
    pub exchanges: Vec<Exchange>,
}

/// What a probe found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FeatureState {
    /// The target offers it.
    Offered,
    /// The target does not offer it.
    Absent,
    /// The answer says neither; the cases that need it are run and judged.
    Unclear,
    /// The probe could not be put.
    Unknown,
}

/// What came of one requirement over all of its cases.
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
    /// Why it was not run, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotRun>,
    /// Why no case covers it: `gap`, or `untestable: ` and the catalogue's reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncovered: Option<String>,
    /// Entries of the errata register that bear on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errata: Vec<String>,
    /// The cases that cover it.
    pub cases: Vec<String>,
}

/// What came of one case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaseRecord {
    /// `<protocol>/<suite>#<case>`, with `[<row>]` for a row of a table, and with `@ws`, `@tcp`, `@tree` or `@adapter` where the same
    /// case is put over several transports.
    pub id: String,
    /// What carried the question, and so the verdict.
    pub transport: Transport,
    /// One sentence, or the empty string.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub about: String,
    /// The worst of its findings.
    pub verdict: Verdict,
    /// Why it was not run, if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<NotRun>,
    /// The reason in words: why it was not run, is inconclusive, or ended in an error.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub because: String,
    /// The requirements it covers.
    pub covers: Vec<String>,
    /// Requirements of `covers` that it decided, with what came of each.
    #[serde(default)]
    pub outcomes: BTreeMap<String, Verdict>,
    /// When its first step was taken, in milliseconds after the start of the run: its present time.
    #[serde(default)]
    pub started_ms: u64,
    /// The same of its twin.
    #[serde(default)]
    pub twin_started_ms: u64,
    /// Milliseconds from its first step to its last.
    pub elapsed_ms: u64,
    /// Where it is written: `file:line:column`.
    pub at: String,
    /// Departures from what was expected.
    pub findings: Vec<FindingRecord>,
    /// Which of several permitted readings were seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub readings: Vec<ReadingRecord>,
    /// What was sent and received, in order.
    pub exchanges: Vec<Exchange>,
    /// The same case without its edits, where it has any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub twin: Vec<Exchange>,
    /// The edits that make it a negative case, in words, with the step they belong to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<EditRecord>,
    /// The command that puts the same question again.
    pub replay: String,
}

/// One deliberate defect of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct EditRecord {
    /// The step whose message has it.
    pub step: usize,
    /// For example `remove /title`.
    pub edit: String,
}

/// One observed departure from what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FindingRecord {
    /// The requirement that it concerns.
    pub requirement: String,
    /// What it weighs.
    pub verdict: Verdict,
    /// What had to be seen.
    pub expected: String,
    /// What was seen.
    pub observed: String,
    /// Which part of the answer was looked at, as a JSON Pointer into the observation.
    pub path: String,
    /// Index into `exchanges` of the case, if one exchange shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchange: Option<usize>,
    /// Where the expectation is written: `file:line:column`.
    pub at: String,
    /// Whether only the strict profile counts it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strict_only: bool,
    /// What the suite's author adds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// One of several permitted readings that was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReadingRecord {
    /// The reading, in words.
    pub reading: String,
    /// Whether the ruling only tolerates it: a warning in lenient, a failure in strict.
    pub tolerated: bool,
    /// Where the expectation is written.
    pub at: String,
}

/// A case or requirement that the target's owner set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaiverRecord {
    /// The case pattern or requirement id.
    pub what: String,
    /// Why, in the owner's words.
    pub reason: String,
    /// Where it is written.
    pub at: String,
    /// Why it no longer applies: it matches nothing, or what it excuses now passes. Makes the run exit 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<String>,
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

    /// Cases that were put to the target.
    pub fn judged(&self) -> u64 {
        self.pass + self.warn + self.fail
    }
}
