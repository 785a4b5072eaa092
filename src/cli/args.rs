//! The arguments of every command.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::protocol;
use crate::report::printable;

/// Conformance test harness and fuzzer for agent protocols.
#[derive(Debug, Parser)]
#[command(
    name = "proofmark",
    version,
    about,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
#[command(after_help = "Examples:
  proofmark check --reference --protocol agentic --level L1
  proofmark check http://127.0.0.1:8787 --protocol agentic
  proofmark explain AGENTIC-6.6-02

Exit codes:
  0  conformant, or with --baseline no new failures
  1  at least one violation, a stale waiver, or a stale or expired entry
     of a baseline
  2  wrong usage, or a mistake in a data file
  3  undecided: a required verdict is inconclusive, or no case was judged
  70 proofmark itself failed")]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Check a target against the specification: the main job
    Check(Box<CheckOptions>),
    /// Fuzz a target with generated messages, and write each finding as a case
    Fuzz(Box<FuzzOptions>),
    /// Explore a target with sequences of operations that no one wrote, judged by a model of the protocol
    Explore(Box<ExploreOptions>),
    /// Copy a case that `fuzz` or `explore` wrote into a suites folder
    Promote(PromoteOptions),
    /// Serve the reference implementation
    Serve(ServeOptions),
    /// Run the reference implementation as an adapter, check an adapter against the adapter protocol rules, or print the methods
    Adapter(AdapterOptions),
    /// Verify the suites: each planted fault is caught, and trivial targets pass no case
    Prove(ProveOptions),
    /// Read all suites and vectors and report every mistake
    #[command(after_help = "Examples:
  proofmark lint
  proofmark lint --suites suites --protocol agentic")]
    Lint(DataOptions),
    /// List cases
    List(ListOptions),
    /// Print which requirements are covered by cases
    Coverage(CoverageOptions),
    /// Compare the vectors with proofmark's own encoders and decoders
    Vectors(VectorsOptions),
    /// Judge the exchanges of a record again, without a network
    Rejudge(RejudgeOptions),
    /// Render reports from a record
    Report(ReportOptions),
    /// Compare two records, or one case in several records
    Compare(CompareOptions),
    /// Write the known failures of a target to a file, for `check --baseline`
    Baseline(BaselineOptions),
    /// Print a JSON Schema for editors
    Schema(SchemaOptions),
    /// Write the reference pages of the manual, as Markdown
    ReferencePages(ReferencePagesOptions),
    /// Write a commented target file
    Init(InitOptions),
    /// Write a template of a case or of an adapter, or the fixture for a read-only target
    New(NewOptions),
    /// Explain a requirement or a case: specification text, rulings, cases, and the faults that they catch
    Explain(ExplainOptions),
    /// Print a completion script for a shell
    Completions(CompletionsOptions),
}

/// Which data files to use.
#[derive(Clone, Debug, Default, Args)]
pub struct DataOptions {
    /// Suites to use instead of the embedded ones: a folder with the layout of suites/
    #[arg(long, value_name = "DIR")]
    pub suites: Option<PathBuf>,
    /// Vectors to use instead of the embedded ones: a folder with the layout of vectors/
    #[arg(long, value_name = "DIR")]
    pub vectors: Option<PathBuf>,
    /// Additional file of cases, such as one that `fuzz` wrote; may be repeated
    #[arg(long, value_name = "FILE")]
    pub cases: Vec<PathBuf>,
    /// Protocols, by slug [default: all]
    #[arg(long, short, value_name = "SLUG", value_delimiter = ',')]
    pub protocol: Vec<String>,
}

/// The implementation under test.
#[derive(Clone, Debug, Default, Args)]
pub struct TargetOptions {
    /// URL of an endpoint
    #[arg(value_name = "URL", conflicts_with_all = ["target", "adapter", "reference"])]
    pub url: Option<String>,
    /// Target file (see `proofmark init`)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["adapter", "reference"])]
    pub target: Option<PathBuf>,
    /// Command that wraps a library (JSON-RPC on stdin and stdout)
    #[arg(long, value_name = "CMD", conflicts_with = "reference")]
    pub adapter: Option<String>,
    /// A header field that every party sends, such as 'X-Api-Key: k'; may be repeated. A target file gives each party its own
    #[arg(long, value_name = "NAME: VALUE", conflicts_with_all = ["adapter", "reference"])]
    pub header: Vec<String>,
    /// The environment variable with the bearer token that every party sends
    #[arg(long, value_name = "VARIABLE", conflicts_with_all = ["adapter", "reference"])]
    pub bearer_env: Option<String>,
    /// Check the embedded reference implementation, as an endpoint and as a library
    #[arg(long)]
    pub reference: bool,
    /// Plant a fault in the embedded reference implementation (see `serve --list-faults`)
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub fault: Option<String>,
    /// Readings of the embedded reference implementation (see `serve --help`)
    #[arg(long, value_enum, default_value_t = VariantWord::Own, requires = "reference")]
    pub variant: VariantWord,
    /// Which readings `--variant mixed` mixes
    #[arg(long, value_name = "N", default_value_t = 1, requires = "variant")]
    pub variant_seed: u64,
    /// Setup of the embedded reference implementation, such as `auth` or `read-only` [default: default]
    #[arg(long, value_name = "NAME", requires = "reference")]
    pub setup: Option<String>,
}

/// Arguments of `check`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  proofmark check --reference --protocol agentic --level L1
  proofmark check http://127.0.0.1:8787 --protocol agentic
  proofmark check --adapter 'python3 my_adapter.py' --protocol agentic
  proofmark check --target target.yaml --only 'agentic/deposit#*'
  proofmark check --target target.yaml --report junit=out/junit.xml
  proofmark check --target target.yaml --failed bad/report.json
  proofmark check --target target.yaml --baseline baseline.yaml")]
pub struct CheckOptions {
    #[command(flatten)]
    pub at: TargetOptions,
    #[command(flatten)]
    pub data: DataOptions,
    /// Level that must be granted, such as L1; cases of levels that it does not include are skipped; may be repeated
    #[arg(long, value_name = "LEVEL")]
    pub level: Vec<String>,
    /// `strict` counts only the rulings of the errata, and a SHOULD as a MUST; the name of a conformance profile, such as
    /// `core`, is the level that must be granted; may be repeated
    #[arg(long, value_name = "PROFILE")]
    pub profile: Vec<String>,
    /// Cases to run, as a pattern with * and ?; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Run only the cases that failed, were inconclusive or ended in an error in this record
    #[arg(long, value_name = "REPORT.JSON", conflicts_with = "only")]
    pub failed: Option<PathBuf>,
    /// Requirements to check, by id; may be repeated
    #[arg(long, value_name = "ID")]
    pub requirement: Vec<String>,
    /// Run only part K of N of the cases, to split a run over several machines
    #[arg(long, value_name = "K/N")]
    pub shard: Option<crate::plan::Shard>,
    /// Random seed; the same seed sends the same messages [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Use new identities and ids even with --seed: for a target that keeps data of an earlier run
    #[arg(long)]
    pub new_ids: bool,
    /// Write each message in a legal spelling of HTTP, JSON or WebSocket, chosen by the seed; with KINDS, each message in all of
    /// these. What fails runs again in the plain spelling
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub spellings: Option<String>,
    /// Then run sequences of operations for this long, judged by a model of the protocol; what they find counts like a case
    #[arg(long, value_name = "TIME")]
    pub explore: Option<String>,
    /// Number of cases that run concurrently
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Time limit of one answer, such as 500ms or 10s
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Folder for report.json with its evidence, report.html, junit.xml and summary.md
    #[arg(long, value_name = "DIR", default_value = "reports/local")]
    pub out: PathBuf,
    /// Additional report, written to PATH; may be repeated
    #[arg(long, value_name = "FORMAT=PATH")]
    pub report: Vec<String>,
    /// File of known failures, which do not fail the run (see `proofmark baseline update --help`). No level is granted because
    /// of it
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Print the cases that would run, and exit
    #[arg(long)]
    pub list: bool,
    /// Run again whenever the target file, a suite, a vector, a file of cases or the baseline has changed
    #[arg(long, conflicts_with = "list")]
    pub watch: bool,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
    /// Print each undecided case and each case that did not run
    #[arg(long, short)]
    pub verbose: bool,
}

/// Arguments of `fuzz`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  proofmark fuzz --reference --protocol agentic --for 60s
  proofmark fuzz http://127.0.0.1:8787 --protocol agentic --for 10m --seed 7
  proofmark fuzz --target target.yaml --transport ws,tcp --rate 100
  proofmark fuzz --target target.yaml --resume

Exit codes:
  0  no findings
  1  at least one finding
  3  undecided: the target accepts no message or stopped answering, or the campaign was interrupted")]
pub struct FuzzOptions {
    #[command(flatten)]
    pub at: TargetOptions,
    #[command(flatten)]
    pub data: DataOptions,
    /// Duration of the campaign, such as 60s or 10m
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub time: String,
    /// Stop after N inputs
    #[arg(long, value_name = "N")]
    pub inputs: Option<u64>,
    /// Random seed; the same seed sends the same inputs [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Use new identities and ids even with --seed: for a target that keeps data of an earlier campaign
    #[arg(long)]
    pub new_ids: bool,
    /// Resume the campaign in the folder --out, with its seed
    #[arg(long, conflicts_with = "seed")]
    pub resume: bool,
    /// Maximum number of inputs per second
    #[arg(long, value_name = "N")]
    pub rate: Option<f64>,
    /// Number of inputs that are sent concurrently
    #[arg(long, value_name = "N", default_value_t = 32)]
    pub jobs: usize,
    /// Transports: http, ws, tcp, adapter [default: all that the target has]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Time limit of one answer; a slower answer is a finding
    #[arg(long, value_name = "TIME", default_value = "5s")]
    pub timeout: String,
    /// How long to wait for a target that stopped answering
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub patience: String,
    /// Stop after N findings
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub findings: usize,
    /// Folder for fuzz.json and a file for each finding
    #[arg(long, value_name = "DIR", default_value = "reports/fuzz")]
    pub out: PathBuf,
    /// Log file: one line per input, with its number, seed message, edits and answer
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print only errors and findings
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `explore`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  proofmark explore --reference --protocol agentic --for 60s --seed 1
  proofmark explore http://127.0.0.1:8787 --protocol agentic

Exit codes:
  0  no finding
  1  at least one finding
  2  wrong usage
  3  no sequence could be judged, or the target stopped answering")]
pub struct ExploreOptions {
    #[command(flatten)]
    pub at: TargetOptions,
    #[command(flatten)]
    pub data: DataOptions,
    /// Duration, such as 60s or 10m
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub time: String,
    /// Stop after N sequences
    #[arg(long, value_name = "N")]
    pub sequences: Option<u64>,
    /// Random seed; the same seed sends the same sequences [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Use new identities and ids even with --seed: for a target that keeps data of an earlier run
    #[arg(long)]
    pub new_ids: bool,
    /// Write each message in a legal spelling of HTTP, JSON or WebSocket, chosen by the seed; with KINDS, each message in all of
    /// these. What fails runs again in the plain spelling
    #[arg(long, value_name = "KINDS", num_args = 0..=1, require_equals = true, default_missing_value = "")]
    pub spellings: Option<String>,
    /// Number of sequences that run concurrently
    #[arg(long, value_name = "N", default_value_t = 16)]
    pub jobs: usize,
    /// Transports: http, ws, tcp, adapter [default: all that the target has]
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub transport: Vec<String>,
    /// Time limit of one answer
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub timeout: String,
    /// How long to wait for a target that stopped answering
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub patience: String,
    /// Stop after N findings
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub findings: usize,
    /// Folder for explore.json and a file for each finding
    #[arg(long, value_name = "DIR", default_value = "reports/explore")]
    pub out: PathBuf,
    /// Log file: one line per sequence, with its number, transport, steps and outcome
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print only errors and findings
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `promote`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "Examples:
  proofmark promote fuzz-1a2b3c4d.yaml --suites suites --name long-title")]
pub struct PromoteOptions {
    /// The file that `fuzz` or `explore` wrote
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Suites folder; the file becomes regressions/NAME.yaml of its protocol
    #[arg(long, value_name = "DIR")]
    pub suites: PathBuf,
    /// New name of the suite and of its file [default: unchanged]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
}

/// Which findings count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProfileWord {
    /// Every reading that the errata tolerate passes
    Lenient,
    /// Only the ruling passes
    Strict,
}

/// How to start the reference implementation of a protocol.
#[derive(Debug, Args)]
pub struct ReferenceOptions {
    /// Protocol, by slug
    #[arg(long, short, value_name = "SLUG", default_value = first_reference())]
    pub protocol: String,
    /// Plant a fault
    #[arg(long, value_name = "NAME")]
    pub fault: Option<String>,
    /// Readings to use where the specification allows several
    #[arg(long, value_enum, default_value_t = VariantWord::Own)]
    pub variant: VariantWord,
    /// Which readings `--variant mixed` mixes
    #[arg(long, value_name = "N", default_value_t = 1, requires = "variant")]
    pub variant_seed: u64,
    /// Level to implement, of a protocol that has levels [default: the highest]
    #[arg(long, value_name = "LEVEL")]
    pub level: Option<String>,
    /// Fixed current time, RFC 3339 [default: the system clock]
    #[arg(long, value_name = "INSTANT")]
    pub clock: Option<String>,
    /// A setting of the protocol; may be repeated. The settings are listed below
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

/// The protocol that is served without `--protocol`.
fn first_reference() -> &'static str {
    proofmark_reference::ALL.first().map_or("", |implementation| implementation.slug())
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(after_help = serve_help())]
pub struct ServeOptions {
    #[command(flatten)]
    pub reference: ReferenceOptions,
    /// Address to listen on
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8787")]
    pub listen: SocketAddr,
    /// SQLite file [default: in memory]
    #[arg(long, value_name = "FILE")]
    pub db: Option<PathBuf>,
    /// Print the faults and the requirements that they break, and exit
    #[arg(long)]
    pub list_faults: bool,
}

/// Examples of `serve`, and the settings of each protocol.
fn serve_help() -> String {
    let mut text = "Examples:
  proofmark serve --protocol agentic --listen 127.0.0.1:8787
  proofmark serve --protocol agentic --db relay.sqlite --fault title-limit-255
  proofmark serve --protocol agentic --variant other
  proofmark serve --protocol agentic --list-faults
"
    .to_owned();
    for implementation in proofmark_reference::ALL {
        text.push_str(&settings_help(*implementation));
    }
    text
}

/// The settings of one protocol, for help texts.
fn settings_help(implementation: &dyn proofmark_reference::Implementation) -> String {
    const INDENT: &str = "      ";
    let levels = implementation.levels().join(", ");
    let levels = if levels.is_empty() { levels } else { format!(" (levels {levels})") };
    let mut text = format!("\nSettings of {}{levels}:\n", implementation.slug());
    for setting in implementation.settings() {
        let repeats = if setting.repeats { "; may be repeated" } else { "" };
        let default = setting.default.map_or_else(String::new, |value| format!(" [default: {value}]"));
        let about = format!("{}{repeats}{default}", setting.summary.trim_end_matches('.'));
        text.push_str(&format!("  --set {}={}\n", setting.name, setting.value.placeholder()));
        for line in printable::wrap(&about, 80) {
            text.push_str(&format!("{INDENT}{line}\n"));
        }
    }
    text
}

/// Which readings the reference implementation takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum VariantWord {
    /// The rulings of the errata
    #[default]
    Own,
    /// Another tolerated reading, wherever the errata tolerate one: other statuses, envelopes and places of the hash, other
    /// spellings of JSON and of times, and so on. This variant is correct too: a case that it fails is a false positive
    Other,
    /// Some of the other readings, by `--variant-seed`. Each mixture is correct too
    Mixed,
}

/// Arguments of `adapter`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  proofmark adapter --protocol agentic --fault canonical-utf16-sort
  proofmark check --adapter 'proofmark adapter' --protocol agentic
  proofmark adapter check 'python3 my_adapter.py'
  proofmark adapter methods --protocol agentic",
    args_conflicts_with_subcommands = true
)]
pub struct AdapterOptions {
    #[command(subcommand)]
    pub command: Option<AdapterCommand>,
    #[command(flatten)]
    pub reference: ReferenceOptions,
}

/// Subcommands of `adapter`.
#[derive(Debug, Subcommand)]
pub enum AdapterCommand {
    /// Check an adapter against the adapter protocol rules, and say which methods it offers and what they unlock
    Check(AdapterCheckOptions),
    /// Print the methods of adapters: types of parameters and results, an example of each, and the cases that need it
    Methods(AdapterMethodsOptions),
}

/// Arguments of `adapter methods`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark adapter methods --protocol agentic
  proofmark adapter methods --protocol agentic --format markdown > methods.md
  proofmark adapter methods --protocol agentic --format json")]
pub struct AdapterMethodsOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// Output format; `markdown` also has the conventions, and `json` a whole conversation as an example
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Arguments of `adapter check`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark adapter check 'python3 my_adapter.py'
  proofmark adapter check 'node adapter.mjs' --timeout 2s

Exit codes:
  0  every rule is followed
  1  at least one rule is broken")]
pub struct AdapterCheckOptions {
    /// Command that wraps a library (JSON-RPC on stdin and stdout)
    #[arg(value_name = "CMD")]
    pub command: String,
    /// Time limit of one answer, such as 500ms or 10s [default: 10s]
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Print every method that the adapter does not offer, with the cases that it would add
    #[arg(long, short)]
    pub verbose: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
}

/// Output format of a command that prints data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    /// Human-readable
    Text,
    /// Machine-readable
    Json,
}

/// Arguments of `list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark list --protocol agentic --only 'agentic/deposit#*'
  proofmark list --what matchers")]
pub struct ListOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// What to list
    #[arg(long, value_enum, default_value_t = What::Cases)]
    pub what: What,
    /// Cases whose id matches; may be repeated
    #[arg(long, value_name = "GLOB")]
    pub only: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
}

/// What `list` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// Cases, with the requirements that they cover
    Cases,
    /// Operations, with their inputs
    Operations,
    /// Matchers, with an example of each
    Matchers,
    /// Template functions
    Functions,
    /// Features that a target may offer
    Features,
    /// Keys under `settings` of a target file
    Settings,
    /// Peers that proofmark hosts for a target, for `hosts` of a target file
    Hosts,
    /// Keys of every data file: suites, manifests, catalogues, vectors and target files
    Keys,
    /// Protocols
    Protocols,
}

/// Arguments of `prove`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark prove --protocol agentic
  proofmark prove --protocol agentic --suites suites --fault tags-sorted
  proofmark prove --protocol agentic --wire
  proofmark prove --protocol agentic --report html=proof.html

Exit codes:
  0  every fault is caught, the clean reference passes, and trivial targets pass no case
  1  at least one of these does not hold")]
pub struct ProveOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// Faults to plant, by name; may be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    pub fault: Vec<String>,
    /// Only cases whose id matches: `*` any text, `?` one character; may be repeated. Plants the faults that they should catch
    #[arg(long, value_name = "PATTERN")]
    pub only: Vec<String>,
    /// Run every case against every fault and trivial target, not only the cases that cover a broken requirement, and a sample;
    /// takes minutes
    #[arg(long)]
    pub all_cases: bool,
    /// Faults that run against every case, to measure how many requirements one fault fails; the seed selects them [default: 2 to
    /// 12, fewer in a long suite, and there against a share of the cases]
    #[arg(long, value_name = "N")]
    pub blame: Option<usize>,
    /// Change each member of each answer, one at a time, and list the changes that no case detects
    #[arg(long)]
    pub wire: bool,
    /// Explore the faults instead of running the suites against them: which faults exploration alone finds
    #[arg(long, conflicts_with_all = ["only", "all_cases", "blame", "wire", "report"])]
    pub explore: bool,
    /// Exploration of one fault at most, which ends with the first finding
    #[arg(long = "for", value_name = "TIME", default_value = "60s", requires = "explore")]
    pub time: String,
    /// Explore N of the faults, chosen by the seed [default: all]
    #[arg(long, value_name = "N", requires = "explore")]
    pub sample: Option<usize>,
    /// Random seed; the same seed sends the same messages [default: random]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of runs at once [default: 16 per processor, since most of them wait]
    #[arg(long, value_name = "N")]
    pub jobs: Option<usize>,
    /// Folder for proof.json, proof.md and matrix.csv, in a folder for each protocol
    #[arg(long, value_name = "DIR", default_value = "reports/prove")]
    pub out: PathBuf,
    /// Additional report of one protocol, written to PATH: html, json, markdown or csv; may be repeated
    #[arg(long, value_name = "FORMAT=PATH")]
    pub report: Vec<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
    /// Print no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `coverage`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark coverage --protocol agentic --level L1
  proofmark coverage --protocol agentic --clauses")]
pub struct CoverageOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// A level, with the levels that it includes; may be repeated
    #[arg(long, value_name = "LEVEL")]
    pub level: Vec<String>,
    /// Print each clause of each requirement with the cases that cover it
    #[arg(long)]
    pub clauses: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = DataFormat::Text)]
    pub format: DataFormat,
}

/// Arguments of `vectors`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark vectors --protocol agentic")]
pub struct VectorsOptions {
    #[command(flatten)]
    pub data: DataOptions,
}

/// Arguments of `rejudge`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark rejudge reports/local/report.json --profile strict")]
pub struct RejudgeOptions {
    /// The record
    #[arg(value_name = "REPORT.JSON")]
    pub record: PathBuf,
    #[command(flatten)]
    pub data: DataOptions,
    /// Which findings count [default: as in the record]
    #[arg(long, value_enum)]
    pub profile: Option<ProfileWord>,
    /// Folder for reports [default: none are written]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `report`.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:
  proofmark report reports/local/report.json --report html=site/index.html
  proofmark report merge shard-1.json shard-2.json --out reports/joined",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct ReportOptions {
    /// Join the records of shards instead
    #[command(subcommand)]
    pub command: Option<ReportCommand>,
    /// The record
    #[arg(value_name = "REPORT.JSON", required = true)]
    pub record: Option<PathBuf>,
    /// Report to render, and its file; may be repeated [default: the terminal summary]
    #[arg(long, value_name = "FORMAT=PATH")]
    pub report: Vec<String>,
    /// Print each undecided case and each case that did not run
    #[arg(long, short)]
    pub verbose: bool,
}

/// Subcommands of `report`.
#[derive(Debug, Subcommand)]
pub enum ReportCommand {
    /// Join the records of shards into one record, and write its reports
    Merge(MergeOptions),
}

/// Arguments of `report merge`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark report merge shard-1/report.json shard-2/report.json --out joined
  proofmark report merge a.json b.json --out joined --report text=joined.txt

All shards need the same --seed, target, selection, profile and suites. The
exit code is that of the whole run.")]
pub struct MergeOptions {
    /// The records of `check --shard K/N`
    #[arg(value_name = "REPORT.JSON", required = true)]
    pub records: Vec<PathBuf>,
    /// Folder for report.json with its evidence, report.html, junit.xml and summary.md
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Additional report, written to PATH; may be repeated
    #[arg(long, value_name = "FORMAT=PATH")]
    pub report: Vec<String>,
    #[command(flatten)]
    pub data: DataOptions,
    /// Print only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `compare`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark compare main/report.json reports/local/report.json
  proofmark compare old.json new.json --format markdown > comparison.md
  proofmark compare --case 'agentic/deposit#*' server-a.json server-b.json

Exit codes:
  0  no new failures
  1  a case fails or ends in an error, and did not before or for another cause
  2  wrong usage, or a file that is not a record")]
pub struct CompareOptions {
    /// The old and the new record; with --case any number of records
    #[arg(value_name = "REPORT.JSON", required = true)]
    pub records: Vec<PathBuf>,
    /// Print verdict and cause of this case in each record; a pattern with * and ? names several cases
    #[arg(long, value_name = "ID")]
    pub case: Option<String>,
    /// Output format
    #[arg(long, value_enum, default_value_t = PageFormat::Text)]
    pub format: PageFormat,
}

/// Output format of a command that prints data or a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// Human-readable
    Text,
    /// A page for a CI job summary or a pull request
    Markdown,
    /// Machine-readable
    Json,
}

/// Arguments of `baseline`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark baseline update reports/local/report.json --baseline baseline.yaml")]
pub struct BaselineOptions {
    #[command(subcommand)]
    pub command: BaselineCommand,
}

/// Subcommands of `baseline`.
#[derive(Debug, Subcommand)]
pub enum BaselineCommand {
    /// Add the failures of a record to a baseline, and remove entries that no longer hold
    Update(BaselineUpdateOptions),
}

/// Arguments of `baseline update`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark baseline update reports/local/report.json
  proofmark baseline update report.json --baseline known.yaml --not-run")]
pub struct BaselineUpdateOptions {
    /// The record
    #[arg(value_name = "REPORT.JSON")]
    pub record: PathBuf,
    /// Baseline to write; entries that still hold keep their text
    #[arg(long, value_name = "FILE", default_value = "baseline.yaml")]
    pub baseline: PathBuf,
    /// Also list the cases that did not run, so that every other case must run
    #[arg(long)]
    pub not_run: bool,
}

/// Arguments of `schema`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark schema suite > suite.schema.json")]
pub struct SchemaOptions {
    /// Kind of file
    #[arg(value_enum)]
    pub kind: SchemaKind,
}

/// Kinds of file with a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaKind {
    /// Files of cases
    Suite,
    /// Manifests of protocols
    Manifest,
    /// Requirement catalogues
    Requirements,
    /// Files of vectors
    Vectors,
    /// Target files
    Target,
    /// Baselines: known failures of a target
    Baseline,
    /// report.json
    Record,
}

/// Arguments of `reference-pages`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark reference-pages --out docs/src/reference
  proofmark reference-pages --suites my-suites --out pages")]
pub struct ReferencePagesOptions {
    #[command(flatten)]
    pub data: DataOptions,
    /// Folder for the pages; pages of the same name are replaced
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
}

/// Arguments of `init`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark init --url http://127.0.0.1:8787 > target.yaml")]
pub struct InitOptions {
    /// Protocol, by slug
    #[arg(long, short, value_name = "SLUG", default_value = protocol::ALL[0].slug())]
    pub protocol: String,
    /// URL of the target
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8787")]
    pub url: String,
    /// File to write, which must not exist yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of `new`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark new case --requirement AGENTIC-6.1-22
  proofmark new adapter --language rust --protocol agentic --out my-adapter
  proofmark new fixture --at 2026-01-02T03:04:05Z > fixture.ndjson
  proofmark new fixture --protocol amp-core > did-documents.ndjson")]
pub struct NewOptions {
    /// What to write
    #[arg(value_enum)]
    pub what: NewWhat,
    /// Protocol, by slug
    #[arg(long, short, value_name = "SLUG", default_value = protocol::ALL[0].slug())]
    pub protocol: String,
    /// Requirement that the case covers
    #[arg(long, value_name = "ID")]
    pub requirement: Option<String>,
    /// Programming language of the adapter
    #[arg(long, value_enum)]
    pub language: Option<Language>,
    /// Folder for the adapter, which must not hold one yet [default: adapter]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Reference time of the fixture, RFC 3339 [default: now]
    #[arg(long, value_name = "INSTANT")]
    pub at: Option<String>,
    /// Suites to use instead of the embedded ones: a folder with the layout of suites/
    #[arg(long, value_name = "DIR")]
    pub suites: Option<PathBuf>,
}

/// What `new` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum NewWhat {
    /// A template of a case
    Case,
    /// An adapter that answers "unsupported" to every method
    Adapter,
    /// NDJSON for a read-only target
    Fixture,
}

/// A language in which `new adapter` writes an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Language {
    /// Python 3.9 or newer
    Python,
    /// JavaScript with types in comments, for Node 18 or newer; `tsc --checkJs` checks the types
    Typescript,
    /// Rust 1.85 or newer
    Rust,
    /// Go 1.21 or newer
    Go,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  proofmark explain AGENTIC-6.1-22
  proofmark explain 'agentic/deposit#*'")]
pub struct ExplainOptions {
    /// Id of a requirement or of a case
    #[arg(value_name = "ID")]
    pub id: String,
    #[command(flatten)]
    pub data: DataOptions,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
#[command(after_help = "Example:
  proofmark completions bash > /etc/bash_completion.d/proofmark")]
pub struct CompletionsOptions {
    /// Shell
    #[arg(value_enum)]
    pub shell: clap_complete::Shell,
}
