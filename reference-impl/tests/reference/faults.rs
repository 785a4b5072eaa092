//! Every fault is planted once, names requirements, and is observable: the same conversation with the server goes
//! otherwise than without it. Which check catches it is for proofmark to prove.

use std::path::Path;
use std::sync::Arc;

use crate::support::conversation::{conversation, long_conversation};
use crate::support::{agentic, config, set};
use proofmark_reference::{Config, Fault, Needs};

/// Maximum number of concurrent conversations.
const CONVERSATIONS: usize = 40;

#[test]
fn the_table_is_well_formed() {
    let table = agentic().faults();
    for (index, fault) in table.iter().enumerate() {
        assert!(table[..index].iter().all(|other| other.name != fault.name), "{} occurs twice", fault.name);
        assert!(!fault.breaks.is_empty() && fault.breaks.iter().all(|id| id.starts_with("AGENTIC-")), "{}", fault.name);
        assert!(fault.summary.ends_with('.') && ["L0", "L1", "L2", "L3"].contains(&fault.level), "{}", fault.name);
    }
}

#[test]
fn each_reason_is_for_a_fault_that_exists_and_for_requirements_that_it_does_not_declare() {
    for implementation in proofmark_reference::ALL {
        let faults = implementation.faults();
        for also in implementation.also() {
            for name in also.faults {
                assert!(faults.iter().any(|fault| fault.name == *name), "{}: {name}", implementation.slug());
            }
            let declared =
                |id: &&str| faults.iter().any(|fault| also.faults == [fault.name] && fault.breaks.contains(id));
            assert_eq!(also.breaks.iter().find(|id| declared(id)), None, "{:?}", also.faults);
        }
    }
}

#[test]
fn every_fault_is_planted_exactly_once() {
    // The other protocols have faults of their own, some by the same names.
    let source = source(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agentic"));
    for Fault { name, .. } in agentic().all_faults() {
        // At a line of its own, or as a row of a table of alike faults.
        let forms = [format!("is(\"{name}\")"), format!("fault, \"{name}\", "), format!("(\"{name}\", &[")];
        let places: usize = forms.iter().map(|form| source.matches(form).count()).sum();
        assert_eq!(places, 1, "{name} is planted {places} times");
    }
}

/// All program text under `folder`, without tests.
fn source(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            text.push_str(&self::source(&path));
        } else {
            let file = std::fs::read_to_string(&path).expect("readable");
            text.push_str(file.split("#[cfg(test)]\nmod tests").next().unwrap_or_default());
        }
    }
    text
}

/// Faults that take more than the conversations here, such as hundreds of objects; `proofmark prove` catches them.
const LONGER: &[&str] = &[
    "latest-of-last-hundred",
    "awaiting-list-first-hundred",
    "export-first-hundred-sessions",
    "export-pages-by-start",
    "awaiting-list-newest-twenty",
    "awaiting-list-includes-reviewed",
    "supersede-keeps-created-at",
    "odd-parameter-500",
    "flag-finds-newest-fifty",
    "move-leaves-a-gap",
    "restore-restores-all",
    "import-loses-every-101st",
    "answers-outlive-flags",
    "answers-outlive-imports",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_shows() {
    let plain = conversation(faulty(None)).await;
    assert!(conversation(faulty(None)).await == plain, "the conversation is not repeatable");
    let said = Arc::new(Said {
        without_search: conversation(set(faulty(None), &[("search", "off")])).await,
        second_level: conversation(Config { level: Some("L2".into()), ..faulty(None) }).await,
        with_sessions: conversation(set(faulty(None), &[("sessions", "on")])).await,
        long: long_conversation(faulty(None)).await,
        plain,
    });
    let mut silent = Vec::new();
    for several in agentic().faults().chunks(CONVERSATIONS) {
        let shown: Vec<_> = several.iter().map(|fault| tokio::spawn(shows(fault, Arc::clone(&said)))).collect();
        for (fault, shown) in several.iter().zip(shown) {
            if !shown.await.expect("the conversation ends") {
                silent.push(fault);
            }
        }
    }
    silent.retain(|fault| !LONGER.contains(&fault.name));
    let mut unseen = Vec::new();
    for fault in silent {
        // Between others what a fault does late can come too late: alone it has the machine.
        if !shows(fault, Arc::clone(&said)).await {
            unseen.push(fault.name);
        }
    }
    assert!(unseen.is_empty(), "{} faults without an observable effect: {unseen:?}", unseen.len());
}

/// What the reference says without a fault.
struct Said {
    plain: Vec<String>,
    without_search: Vec<String>,
    second_level: Vec<String>,
    with_sessions: Vec<String>,
    long: Vec<String>,
}

/// Whether a fault changes what the reference says.
async fn shows(fault: &'static Fault, said: Arc<Said>) -> bool {
    let expected = match fault.needs {
        Needs::Setup("auth") | Needs::Nothing => &said.plain,
        Needs::Level("L2") => &said.second_level,
        Needs::Setting("search", "off") => &said.without_search,
        Needs::Setting("sessions", "on") => &said.with_sessions,
        other => panic!("no conversation for a server with {other:?}"),
    };
    conversation(faulty(Some(fault.name))).await != *expected
        || long_conversation(faulty(Some(fault.name))).await != said.long
}

fn faulty(fault: Option<&str>) -> Config {
    let clock = Some("2026-01-20T00:00:00Z".into());
    set(Config { fault: fault.map(str::to_owned), clock, ..config() }, &[("auth", "key=key-owner")])
}
