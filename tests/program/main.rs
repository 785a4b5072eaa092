//! Everything that runs the `proofmark` program, in one test binary.
//!
//! Most of these tests wait for a target that is slow or silent. In one binary a test of one module waits in parallel
//! with a test of another, and far more of them run at a time than the machine has cores.
//!
//! A module lists its tests in `trials`. `#[test]` has no effect here: this binary does not use the default test harness.

mod adapters;
mod agentic_mesh;
mod cli;
mod explore;
mod false_positives;
mod faults;
mod fuzz;
mod hostile;
mod launch;
mod meshai;
mod prove;
mod reference;
mod replay;
mod spellings;
mod support;
mod task_amp;
mod tokens;
mod variant;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use libtest_mimic::{Arguments, Trial};

/// As in the program, since runs in this process allocate as much.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Number of concurrent tests on two cores: enough to keep both busy while other tests wait.
const TESTS_FOR_EACH_CORE: usize = 6;

/// The functions of a module as tests, each named `MODULE::FUNCTION`.
#[macro_export]
macro_rules! trials {
    ($($name:ident),* $(,)?) => {
        vec![$({
            let module = module_path!().rsplit("::").next().unwrap_or_default();
            let name = format!("{module}::{}", stringify!($name));
            libtest_mimic::Trial::test(name.clone(), || {
                $crate::timed(name, $name);
                Ok(())
            })
        }),*]
    };
}

/// How many of the slowest tests are named at the end.
const SLOWEST: usize = 12;

/// How long the tests took that passed so far.
static TOOK: Mutex<Vec<(Duration, String)>> = Mutex::new(Vec::new());

/// Runs a test, and notes how long it took.
fn timed(name: String, test: fn()) {
    let begun = Instant::now();
    test();
    TOOK.lock().expect("no test panics here").push((begun.elapsed(), name));
}

#[expect(clippy::print_stdout, reason = "what the harness says stands there as well")]
fn main() {
    let words: Vec<String> = std::env::args().collect();
    if words.get(1).is_some_and(|word| word == "--be") {
        return adapters::be(&words[2]);
    }
    let mut arguments = Arguments::from_args();
    let cores = std::thread::available_parallelism().map_or(2, usize::from);
    arguments.test_threads.get_or_insert(cores * TESTS_FOR_EACH_CORE);
    // cargo-nextest runs one test by its whole name, in its own process.
    let only = arguments.filter.as_deref().filter(|_| arguments.exact);
    let mut trials = crate::trials![no_function_is_marked_as_a_test];
    // The longest tests start first, so that none of them is left at the end. The others of `reference` look up what the first of
    // each protocol finds, so they come last: before, they would occupy their threads with waiting.
    let (runs, lookups) = reference::trials(only);
    for long in [
        runs,
        false_positives::trials(),
        spellings::trials(),
        fuzz::trials(),
        explore::trials(),
        prove::trials(),
        variant::trials(),
    ] {
        trials.extend(long);
    }
    trials.extend(mixed(vec![
        hostile::trials(),
        agentic_mesh::trials(),
        meshai::trials(),
        task_amp::trials(),
        adapters::trials(),
        faults::trials(),
        cli::trials(),
        launch::trials(),
        tokens::trials(),
        replay::trials(),
    ]));
    trials.extend(lookups);
    let conclusion = libtest_mimic::run(&arguments, trials);
    let mut took = std::mem::take(&mut *TOOK.lock().expect("no test panics here"));
    took.sort_by_key(|(time, _)| std::cmp::Reverse(*time));
    // With the time that each waited for the others.
    for (time, name) in took.iter().take(SLOWEST).filter(|(time, _)| time.as_secs() > 0) {
        println!("slow      {:>4} s  {name}", time.as_secs());
    }
    conclusion.exit();
}

/// The tests of all modules, interleaved evenly, so that waiting tests run in parallel with working ones.
fn mixed(modules: Vec<Vec<Trial>>) -> Vec<Trial> {
    let mut placed = Vec::new();
    for trials in modules {
        let count = trials.len();
        placed.extend(trials.into_iter().enumerate().map(|(index, trial)| (index * 10_000 / count, trial)));
    }
    placed.sort_by_key(|(place, _)| *place);
    placed.into_iter().map(|(_, trial)| trial).collect()
}

/// A function with `#[test]` would never run in this binary.
fn no_function_is_marked_as_a_test() {
    let mut folders = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/program")];
    let mut seen = 0;
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(folder).expect("a folder of tests").flatten().map(|entry| entry.path()) {
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            seen += 1;
            let text = std::fs::read_to_string(&path).expect("a source file");
            let marked = text.lines().position(|line| line.trim() == "#[test]").map(|line| line + 1);
            assert_eq!(marked, None, "{}: add the function to `trials` and remove the attribute", path.display());
        }
    }
    assert!(seen > 10, "{seen} files");
}
