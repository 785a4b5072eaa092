//! Generated cases, and the local server that they run against.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;
use std::{fs, io};

use proofmark::bundle::Bundle;
use proofmark::judge;
use proofmark::plan::{self, Knowledge, Plan, Selection};
use proofmark::protocol;
use proofmark::record::ProtocolRecord;
use proofmark::run::{Runner, Silent};
use proofmark::target::Target;
use proofmark::template::Clock;
use proofmark::transport::Connections;
use proofmark::verdict::Profile;
use proofmark::walk::{Context, Facts, Features, Transcript};
use proofmark_reference::Handle;
use tokio::runtime::Runtime;
use url::Url;

use crate::side_by_side::Cost;

/// How many cases a workload has.
pub const CASES: usize = 1_000;

/// Concurrent cases, or requests of the raw client: the default of `proofmark check`.
pub const JOBS: usize = 16;

/// What the cases of a workload do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// One GET and three assertions on the answer.
    Read,
    /// Two requests, of which the second stores a new package, and three assertions on its answer.
    Write,
}

impl Work {
    /// The name in figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// The cases in the form of a suite.
    fn suite(self, cases: usize) -> String {
        let mut text = format!("suite: agentic/bench-{}\ncases:\n", self.name());
        for number in 0..cases {
            match self {
                Self::Read => write!(
                    text,
                    "  - case: reads-{number}
    covers: [AGENTIC-11.5-02]
    steps:
      - send: describe
        expect:
          - {{ at: /status, equals: 200 }}
          - {{ at: /body/protocol_version, equals: \"0.1\" }}
          - {{ at: /body/conformance_level, one-of: [L0, L1, L2, L3] }}
"
                ),
                Self::Write => write!(
                    text,
                    "  - case: writes-{number}
    covers: [AGENTIC-8.1-10]
    let:
      p: {{ base: min }}
    steps:
      - send: deposit
        with: {{ package: \"${{p}}\" }}
        expect:
          - {{ at: /status, one-of: [200, 201] }}
          - {{ at: /package/package_id, equals: \"${{p/package_id}}\" }}
          - {{ at: /package/title, equals: \"${{p/title}}\" }}
"
                ),
            }
            .expect("a string grows");
        }
        text
    }
}

/// The files of agentic that its cases need.
const NEEDED: [&str; 3] = ["protocol.yaml", "requirements.yaml", "errata.md"];

/// Writes a folder for `--suites` with the cases of a workload.
///
/// # Errors
///
/// Those of the file system.
pub fn write_suites(work: Work, cases: usize, folder: &Path) -> io::Result<()> {
    let embedded = Bundle::new(proofmark_data::FILES);
    let folder = folder.join("agentic");
    fs::create_dir_all(&folder)?;
    for name in NEEDED {
        let file = embedded.file("agentic", name).expect("the binary embeds it");
        fs::write(folder.join(name), file.text.as_bytes())?;
    }
    fs::write(folder.join("bench.yaml"), work.suite(cases))
}

/// The embedded catalogue and manifest of agentic, with the cases of a workload instead of its own.
pub fn knowledge(work: Work, cases: usize) -> Knowledge {
    let embedded = Bundle::new(proofmark_data::FILES);
    let mut bundle = Bundle::default();
    for name in NEEDED {
        let file = embedded.file("agentic", name).expect("the binary embeds it");
        bundle = bundle.with_file(&file.name, &file.text);
    }
    let bundle = bundle.with_file("suites/agentic/bench.yaml", &work.suite(cases));
    let protocol = protocol::find("agentic").expect("agentic is implemented");
    plan::load(protocol, &bundle).expect("the cases have no mistakes")
}

/// The reference implementation with its state in memory, on its own thread.
///
/// It runs on one thread, so that it takes at most one core from its clients.
pub struct Server {
    runtime: Runtime,
    handle: Option<Handle>,
    /// Its base URL.
    pub url: Url,
}

impl Server {
    /// Starts it on a free port of the loopback interface.
    pub fn start() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .expect("the machine can start a thread");
        let agentic = proofmark_reference::find("agentic").expect("a reference implementation");
        let handle = runtime.block_on(agentic.serve(agentic.config())).expect("a port is free");
        let url = Url::parse(handle.url("http").expect("it listens")).expect("its URL is one");
        Self { runtime, handle: Some(handle), url }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(handle) = self.handle.take() {
            self.runtime.block_on(handle.stop());
        }
    }
}

/// `url` as a target.
pub fn target(url: &Url) -> Target {
    let mut target = Target::endpoint(url.clone());
    target.limits.jobs = JOBS;
    target
}

/// The time of every run.
pub fn clock() -> Facts {
    let clock = proofmark::template::parse_time("2026-01-02T03:04:05Z").map(Clock).expect("it is a time");
    Facts { seed: 1, identity_seed: 1, clock, profile: Profile::Lenient }
}

/// Builds the plan, runs every case and judges it: the work of `proofmark check` between reading its files and writing its
/// reports.
///
/// # Panics
///
/// If the target cannot be reached, or a case does not pass: failed work must not be measured.
pub fn run(runtime: &Runtime, knowledge: &Knowledge, target: &Target) -> (Cost, Transcript, ProtocolRecord) {
    let connections = Connections::new(target).expect("an HTTP client can be made");
    // The run is never cancelled: the sender is kept until its end.
    let (keep, cancel) = tokio::sync::watch::channel(false);
    let (cost, (transcript, judged)) = Cost::of_program(|| {
        let plan: Plan<'_> = plan::build(knowledge, target, &Selection::default());
        let runner = Runner::new(&connections, &target.limits, Instant::now());
        let transcript = runtime.block_on(runner.run_all(&plan, clock(), cancel, &Silent));
        let features = Features::read(&plan, clock(), &transcript);
        let judged = judge::protocol(&Context { plan: &plan, facts: clock(), features }, &transcript);
        (transcript, judged)
    });
    drop(keep);
    let bad = judged.cases.iter().find(|case| case.verdict != proofmark::verdict::Verdict::Pass);
    assert!(bad.is_none(), "{bad:?}");
    (cost, transcript, judged)
}
