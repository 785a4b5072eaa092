//! Every case against the reference implementation, as an endpoint and as a library, lenient and strict: a test of its own.
//!
//! One server serves all tests of a process. Under `cargo test` all cases are put to it side by side, once; the tests only
//! look their verdict up. Under `cargo nextest run`, which gives each test a process, only that test's case is put.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use libtest_mimic::{Arguments, Failed, Trial};
use proofmark::bundle::Bundle;
use proofmark::judge::{self, Context, Facts, Features};
use proofmark::plan::{self, Knowledge, LoadError, Selection};
use proofmark::protocol;
use proofmark::record::CaseRecord;
use proofmark::run::{self, Silent};
use proofmark::source::Diagnostic;
use proofmark::target::Target;
use proofmark::template::Clock;
use proofmark::transport::adapter::{Adapter, Pipes};
use proofmark::transport::session::Dial;
use proofmark::transport::{Connections, http::Http};
use proofmark::verdict::{NotRun, Profile, Verdict};
use reference_impl::{Config, Protocol, Role};

/// Decides every generated value, so that a failure repeats.
const SEED: u64 = 1;

const PROFILES: [(&str, Profile); 2] = [("lenient", Profile::Lenient), ("strict", Profile::Strict)];

/// What came of each case, by profile and id.
type Judged = BTreeMap<(&'static str, String), CaseRecord>;

fn main() {
    let arguments = Arguments::from_args();
    let mut trials = Vec::new();
    for protocol in reference_impl::protocols() {
        let knowledge = Arc::new(load(protocol.slug()));
        let filter = arguments.filter.iter().find(|_| arguments.exact);
        let asked = filter.and_then(|name| name.split_once(' ')).filter(|(_, id)| id.starts_with(protocol.slug()));
        let (ids, only) = match asked {
            // A whole name: there is no need to look what else there is.
            Some((_, id)) => (vec![id.to_owned()], vec![id.to_owned()]),
            None => (ids(&knowledge), Vec::new()),
        };
        let judged: Arc<OnceLock<Judged>> = Arc::default();
        for (profile, _) in PROFILES {
            for id in &ids {
                let (judged, knowledge, only, id) =
                    (Arc::clone(&judged), Arc::clone(&knowledge), only.clone(), id.clone());
                trials.push(Trial::test(format!("{profile} {id}"), move || {
                    let alone = !only.is_empty();
                    let all = judged.get_or_init(|| put(*protocol, &knowledge, only));
                    let case = all.get(&(profile, id)).ok_or("the run did not judge the case")?;
                    conforms(case, profile, all, alone)
                }));
            }
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The ids of all cases, by both paths to the reference.
fn ids(knowledge: &Knowledge) -> Vec<String> {
    let protocol = reference_impl::protocols().iter().find(|known| known.slug() == knowledge.protocol.slug());
    let url = "http://127.0.0.1:1".parse().expect("a URL");
    let target = target(*protocol.expect("a protocol of the reference"), url, Some("127.0.0.1:1"));
    // Nothing is selected, so nothing is made ready.
    let nothing = Selection { only: vec![String::new()], ..Selection::default() };
    plan::build(knowledge, &target, &nothing).cases.iter().map(|ready| ready.id.clone()).collect()
}

fn load(slug: &str) -> Knowledge {
    let protocol = protocol::find(slug).expect("a protocol of the reference is one of proofmark's");
    match plan::load(protocol, &Bundle::embedded()) {
        Ok(knowledge) => knowledge,
        Err(LoadError::Missing(what)) => panic!("{what}"),
        Err(LoadError::Mistakes(found)) => panic!("{:#?}", found.iter().map(Diagnostic::to_string).collect::<Vec<_>>()),
    }
}

/// Puts the cases to a new reference implementation and judges the answers once for each profile.
fn put(protocol: Protocol, knowledge: &Knowledge, only: Vec<String>) -> Judged {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let handle = reference_impl::serve(config(protocol)).await.expect("the reference starts");
        let url: url::Url = handle.url().parse().expect("a URL");
        let tcp = handle.tcp_address().map(|address| address.to_string());
        let target = target(protocol, url.clone(), tcp.as_deref());
        let connections = Connections {
            http: Some(Http::new(&url, &target).expect("an HTTP client")),
            dial: Dial::new(&target),
            adapter: Some(Adapter::in_process(move || pipes(protocol))),
            tamper: None,
        };
        let plan = plan::build(knowledge, &target, &Selection { only, ..Selection::default() });
        let clock = Clock(i128::from(chrono::Utc::now().timestamp_millis()) * 1_000_000);
        let facts = Facts { seed: SEED, identity_seed: SEED, clock, profile: Profile::Lenient };
        let (_cancel, cancelled) = tokio::sync::watch::channel(false);
        let (transcript, _) = run::run(&plan, facts, &connections, Instant::now(), cancelled, &Silent).await;
        connections.close().await;
        handle.stop().await;
        assert_eq!(transcript.cut_short, None, "the run was cut short");
        let mut judged = Judged::new();
        for (name, profile) in PROFILES {
            let facts = Facts { profile, ..facts };
            let features = Features::read(&plan, facts, &transcript);
            let record = judge::protocol(&Context { plan: &plan, facts, features }, &transcript);
            judged.extend(record.cases.into_iter().map(|case| ((name, case.id.clone()), case)));
        }
        judged
    })
}

/// The reference with all that it has.
fn config(protocol: Protocol) -> Config {
    let mut config = Config::new(protocol);
    let documents = proofmark::protocol::amp_core::fixtures::preload(std::iter::empty());
    config.amp.documents = vec![proofmark::wire::json::compact(&documents)];
    config.amp.trusted_relays =
        vec![proofmark::protocol::amp_core::identity::Identity::named("relay").did().to_owned()];
    config.amp.role = Role::Both;
    config.amp.control = true;
    config
}

/// The same as a target.
fn target(protocol: Protocol, url: url::Url, tcp: Option<&str>) -> Target {
    let mut target = Target::endpoint(url);
    target.adapter = Some(vec!["the reference".to_owned()]);
    if protocol == Protocol::AmpCore {
        target.tcp = tcp.and_then(|address| proofmark::target::parse_tcp(address).ok());
        target.level = Some("full".to_owned());
        target
            .options
            .extend(["relay", "federation", "initiator", "failing-requests"].map(|option| (option.to_owned(), true)));
    }
    proofmark::protocol::find(protocol.slug()).expect("a protocol of proofmark").complete(&mut target);
    target
}

/// The reference as a library behind a pair of pipes.
fn pipes(protocol: Protocol) -> Pipes {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (read, write) = tokio::io::split(theirs);
    // It ends with our end of the pipe.
    tokio::spawn(async move { reference_impl::serve_adapter(config(protocol), read, write).await });
    let (read, write) = tokio::io::split(ours);
    (Box::new(write), Box::new(read))
}

/// What the reference never does over any transport: it makes no package ids itself, answers what succeeds by its result and
/// not by PROC_OK, and has no error codes of a vendor.
const NEVER_COMES_UP: &[&str] = &[
    "agentic/members#makes-package-ids-in-the-recommended-form",
    "amp-core/bodies-of-senders#reports-on-processing-with-a-map[proc-ok]",
    "amp-core/error-senders#sends-codes-of-vendors-in-the-category-of-their-first-digit",
];

/// Whether it is no fault that nothing came of a case: the reference never does this, or does it over another transport
/// and passes there. Where one case was put alone, a sweep over what all of them bring has nothing to look at.
fn comes_up_elsewhere(case: &CaseRecord, profile: &str, all: &Judged, alone: bool) -> bool {
    let over_any = |id: &str| id.split('@').next().unwrap_or_default().to_owned();
    let name = over_any(&case.id);
    let passes = |(key, other): (&(&str, String), &CaseRecord)| {
        key.0 == profile && over_any(&other.id) == name && other.verdict == Verdict::Pass
    };
    let table = name.split('[').next().unwrap_or_default();
    alone || [name.as_str(), table].iter().any(|name| NEVER_COMES_UP.contains(name)) || all.iter().any(passes)
}

/// The case passed, or could not be put for a reason that is no fault of a target.
fn conforms(case: &CaseRecord, profile: &str, all: &Judged, alone: bool) -> Result<(), Failed> {
    let excused = match case.reason {
        Some(NotRun::NotExercised) => comes_up_elsewhere(case, profile, all, alone),
        Some(NotRun::NotClaimed | NotRun::Unobservable) => true,
        _ => false,
    };
    match case.verdict {
        Verdict::Pass => Ok(()),
        Verdict::NotRun if excused => Ok(()),
        verdict => {
            let mut message = format!("{verdict} at {}", case.at);
            if !case.because.is_empty() {
                message.push_str(&format!("\n{}", case.because));
            }
            for finding in &case.findings {
                message.push_str(&format!(
                    "\n{} {}: expected {} at {:?}, observed {} ({})",
                    finding.requirement, finding.verdict, finding.expected, finding.path, finding.observed, finding.at
                ));
            }
            message.push_str(&format!("\nproofmark check --reference --only '{}' --seed {SEED}", case.id));
            Err(message.into())
        }
    }
}
