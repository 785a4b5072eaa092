//! Every case against the reference implementation, as an endpoint and as a library, lenient and strict: one test for each
//! suite, which names every case that fails.
//!
//! Under `cargo test` all cases of a protocol run concurrently against one server, once; the tests look their verdicts up.
//! Under `cargo nextest run`, which gives each test a process, only the cases of that test's suite run.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use libtest_mimic::{Failed, Trial};
use proofmark::bundle::Bundle;
use proofmark::cli::reference::{Reference, Start};
use proofmark::exchange::{TargetClass, Transport};
use proofmark::judge;
use proofmark::plan::{self, Knowledge, LoadError, Selection};
use proofmark::protocol;
use proofmark::record::CaseRecord;
use proofmark::run::{Runner, Silent};
use proofmark::source::Diagnostic;
use proofmark::target::Target;
use proofmark::template::Clock;
use proofmark::verdict::{NotRun, Profile, Verdict};
use proofmark::walk::{Context, Facts, Features, Transcript};
use proofmark::wire::json;
use proofmark_reference::{Implementation, Setup};

/// A fixed random seed, so that failures are reproducible.
const SEED: u64 = 1;

const PROFILES: [(&str, Profile); 2] = [("lenient", Profile::Lenient), ("strict", Profile::Strict)];

/// The verdict of each case, by profile and id.
type Judged = BTreeMap<(&'static str, String), CaseRecord>;

/// The tests: one for each protocol, which runs its cases, and the others. `only` is the whole name of one, if the process runs
/// only that test: then only its setup is prepared.
pub(crate) fn trials(only: Option<&str>) -> (Vec<Trial>, Vec<Trial>) {
    let (mut runs, mut lookups) = (Vec::new(), Vec::new());
    for implementation in proofmark_reference::ALL {
        let slug = implementation.slug();
        let (suites, alone) = match only {
            None => (suites(slug), false),
            Some(name) => {
                let suite = name.strip_prefix("reference::").filter(|suite| suite.split('/').next() == Some(slug));
                (suite.map(str::to_owned).into_iter().collect(), true)
            }
        };
        let judged: Arc<OnceLock<Judged>> = Arc::default();
        for suite in &suites {
            let trials = if *suite == suites[0] { &mut runs } else { &mut lookups };
            let (judged, suites, suite) = (Arc::clone(&judged), suites.clone(), suite.clone());
            trials.push(Trial::test(format!("reference::{suite}"), move || {
                let only = if alone { vec![format!("{suite}#*")] } else { Vec::new() };
                let all = judged.get_or_init(|| run_cases(*implementation, only, &suites));
                conforms(&suite, all, alone)
            }));
        }
    }
    (runs, lookups)
}

/// The names of all suites of a protocol, without parsing the cases, which takes most of a second.
fn suites(slug: &str) -> Vec<String> {
    let mut suites = Vec::new();
    for (name, text) in proofmark_data::FILES {
        if name.starts_with(&format!("suites/{slug}/")) {
            suites.extend(
                text.lines().find_map(|line| line.strip_prefix("suite: ")).map(|suite| suite.trim().to_owned()),
            );
        } else if let Some(file) = name.strip_prefix(&format!("vectors/{slug}/")) {
            suites.push(format!("{slug}/vectors/{}", file.trim_end_matches(".json")));
        }
    }
    suites
}

/// The suite of a case.
fn suite_of(id: &str) -> &str {
    id.split('#').next().unwrap_or_default()
}

/// The reference as a target, before it is started.
fn target() -> Target {
    Target::new(TargetClass::Reference, "the embedded reference implementation")
}

fn ordinary(implementation: &dyn Implementation) -> &'static Setup {
    implementation.setups().first().expect("a setup")
}

fn load(slug: &str) -> Knowledge {
    let protocol = protocol::find(slug).expect("a protocol of the reference is one of proofmark's");
    match plan::load(protocol, &Bundle::new(proofmark_data::FILES)) {
        Ok(knowledge) => knowledge,
        Err(LoadError::Missing(what)) => panic!("{what}"),
        Err(LoadError::Mistakes(found)) => panic!("{:#?}", found.iter().map(Diagnostic::to_string).collect::<Vec<_>>()),
    }
}

/// Runs the cases against a new reference implementation in its ordinary setup. A case that has nothing to judge there, such as
/// a sweep over the messages of a role that does not work in that setup, runs in the setups with other roles, too, until it does.
fn run_cases(implementation: &'static dyn Implementation, only: Vec<String>, suites: &[String]) -> Judged {
    let knowledge = &load(implementation.slug());
    let (alone, ordinary) = (!only.is_empty(), ordinary(implementation));
    let mut judged = run_in(implementation, ordinary, knowledge, only, suites);
    if alone {
        return judged; // without the cases of the other suites there is nothing to judge in any setup
    }
    let with_other_roles = |setup: &&Setup| implementation.roles(setup.name) != implementation.roles(ordinary.name);
    for setup in implementation.setups().iter().filter(with_other_roles) {
        let idle = |(key, case): (&(&'static str, String), &CaseRecord)| {
            case.reason == Some(NotRun::NotExercised) && !comes_up_elsewhere(case, key.0, &judged, false)
        };
        if !judged.iter().any(idle) {
            break;
        }
        let there = run_in(implementation, setup, knowledge, Vec::new(), suites);
        for (key, case) in there.into_iter().filter(|(_, case)| case.verdict != Verdict::NotRun) {
            if judged.get(&key).is_none_or(|known| known.verdict == Verdict::NotRun) {
                judged.insert(key, case);
            } else if case.verdict != Verdict::Pass {
                judged.insert((key.0, format!("{} in setup {}", key.1, setup.name)), case);
            }
        }
    }
    judged
}

/// Runs the cases in one setup and judges the answers once for each profile.
fn run_in(
    implementation: &'static dyn Implementation,
    setup: &'static Setup,
    knowledge: &Knowledge,
    only: Vec<String>,
    suites: &[String],
) -> Judged {
    let all = only.is_empty();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let clock = Clock(i128::from(chrono::Utc::now().timestamp_millis()) * 1_000_000);
        let begun = Instant::now();
        let start = Start {
            implementation,
            knowledge,
            setup,
            fault: None,
            variant: setup.variant,
            clock,
            in_memory: false,
            begun,
        };
        let mut target = target();
        let started = Reference::start(&start, &mut target).await;
        let (reference, connections) = started.unwrap_or_else(|failure| panic!("{}", failure.message()));
        let plan = plan::build(knowledge, &target, &Selection { only, ..Selection::default() });
        for case in plan.cases.iter().filter(|_| all) {
            assert!(
                suites.iter().any(|suite| suite == suite_of(&case.id)),
                "no test is about the suite of {}",
                case.id
            );
        }
        let facts = Facts { seed: SEED, identity_seed: SEED, clock, profile: Profile::Lenient };
        let (_cancel, cancelled) = tokio::sync::watch::channel(false);
        let runner = Runner::new(&connections, &target.limits, begun);
        let transcript = runner.run_all(&plan, facts, cancelled, &Silent).await;
        connections.close().await;
        reference.stop().await;
        assert_eq!(transcript.cut_short, None, "the run was cut short");
        results_have_their_types(knowledge, &transcript);
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

/// Every result of a method has the type that the pages for authors of adapters give.
fn results_have_their_types(knowledge: &Knowledge, transcript: &Transcript) {
    let Some(library) = knowledge.protocol.library() else { return };
    let exchanges = transcript.cases.iter().flatten().flat_map(|case| case.exchanges.iter().chain(&case.twin));
    let mut wrong = BTreeMap::new();
    for exchange in exchanges.filter(|exchange| exchange.sent.transport == Transport::Adapter) {
        let Some(signature) = library.signature(&exchange.sent.method) else { continue };
        let Ok(answer) = json::parse(&exchange.received.body.0) else { continue };
        let Some(result) = answer.member("result") else { continue };
        if let Some(why) = library.mismatch(signature, result) {
            wrong.entry(signature.method).or_insert_with(|| format!("{why}: {}", json::compact(result)));
        }
    }
    assert!(wrong.is_empty(), "results that do not have the type in methods.rs: {wrong:#?}");
}

/// Features that the reference lacks over every transport: it does not assign package ids, refuses an assert that has an end, answers
/// success by the result and not by PROC_OK, and has no error codes of a vendor.
const NEVER_COMES_UP: &[&str] = &[
    "agentic/members#assigns-package-ids-in-recommended-form",
    "agentic/rounds#reads-only-inputs-of-assert[end]",
    "amp-core/bodies-of-senders#reports-processing-as-map[proc-ok]",
    "amp-core/error-senders#sends-vendor-codes-with-category-of-first-digit",
];

/// Whether a case may stay without a result: the reference never does this, or does it over another transport
/// and passes there. If one case runs alone, a sweep over all messages has nothing to check.
fn comes_up_elsewhere(case: &CaseRecord, profile: &str, all: &Judged, alone: bool) -> bool {
    let over_any = |id: &str| id.split('@').next().unwrap_or_default().to_owned();
    let name = over_any(&case.id);
    let passes = |(key, other): (&(&str, String), &CaseRecord)| {
        key.0 == profile && over_any(&other.id) == name && other.verdict == Verdict::Pass
    };
    let table = name.split('[').next().unwrap_or_default();
    alone || [name.as_str(), table].iter().any(|name| NEVER_COMES_UP.contains(name)) || all.iter().any(passes)
}

/// Every case of the suite passed, or could not run for a reason that is not the target's fault.
fn conforms(suite: &str, all: &Judged, alone: bool) -> Result<(), Failed> {
    let mut seen = false;
    let mut wrong = String::new();
    for ((profile, id), case) in all.iter().filter(|((_, id), _)| suite_of(id) == suite) {
        seen = true;
        let excused = match case.reason {
            Some(NotRun::NotExercised) => comes_up_elsewhere(case, profile, all, alone),
            Some(NotRun::NotClaimed | NotRun::Unobservable) => true,
            _ => false,
        };
        match case.verdict {
            Verdict::Pass => {}
            Verdict::NotRun if excused => {}
            verdict => {
                wrong.push_str(&format!("\n{profile} {id}: {verdict} at {}", case.at));
                if !case.because.is_empty() {
                    wrong.push_str(&format!("\n  {}", case.because));
                }
                for finding in &case.findings {
                    wrong.push_str(&format!(
                        "\n  {} {}: expected {} at {:?}, observed {} ({})",
                        finding.requirement,
                        finding.verdict,
                        finding.expected,
                        finding.path,
                        finding.observed,
                        finding.at
                    ));
                }
                wrong.push_str(&format!("\n  proofmark check --reference --only '{id}' --seed {SEED}"));
            }
        }
    }
    if !seen {
        return Err("the run judged no case of the suite".into());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.into()) }
}
