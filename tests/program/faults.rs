//! A fault planted in the reference implementation is caught: exit 1, a finding on a requirement that the fault breaks, with the
//! expected and the observed value, and a replay command that reproduces it.
//!
//! One test for each fault of a sample of each protocol, and for those that need their own setup. `proofmark prove` plants all
//! faults; `PROOFMARK_ALL_FAULTS=1` does so here.

use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::{Failed, Trial};
use proofmark_reference::{Fault, Implementation, Needs};
use serde_json::Value;

pub(crate) fn trials() -> Vec<Trial> {
    let all = std::env::var_os("PROOFMARK_ALL_FAULTS").is_some();
    // How far apart the sampled faults are, and whether those that need a setting of their own can be set up here.
    let samples = [("agentic", 60, true), ("amp-core", 120, false)];
    // Only a sweep sees it: the command has to name the case that makes the target send the message too.
    let seen_by_a_sweep = ["hello-ack-with-selected-v"];
    samples
        .into_iter()
        .flat_map(|(slug, apart, special)| {
            let protocol = proofmark_reference::find(slug).expect("a reference implementation");
            let faults = protocol.faults().iter().enumerate();
            let plain = |fault: &Fault| fault.needs == Needs::Nothing;
            let chosen = faults.filter(move |(index, fault)| {
                (all || index % apart == 0 || !plain(fault) || seen_by_a_sweep.contains(&fault.name))
                    && (special || plain(fault))
            });
            chosen.map(move |(_, fault)| {
                Trial::test(format!("faults::{}::{}", protocol.slug(), fault.name), move || caught(protocol, fault))
            })
        })
        .collect()
}

fn caught(protocol: &dyn Implementation, fault: &Fault) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let serving = match fault.needs {
        Needs::Setup("auth") => Some(Serving::start(fault, folder.path())?),
        _ => None,
    };
    let mut words: Vec<String> = match &serving {
        Some(serving) => vec!["check".into(), "--target".into(), serving.target.clone()],
        None => ["check", "--reference", "--fault", fault.name].map(str::to_owned).to_vec(),
    };
    words.extend(["--protocol".into(), protocol.slug().to_owned()]);
    for id in fault.breaks {
        words.extend(["--requirement".into(), (*id).to_owned()]);
    }
    let out = folder.path().join("first");
    let mut code = proofmark(&words, &out)?;
    let mut record = read(&out)?;
    if violations(&record, fault).is_empty() {
        // Tolerated readings, and a SHOULD, count only in the strict profile.
        words.extend(["--profile".into(), "strict".into()]);
        code = proofmark(&words, &out)?;
        record = read(&out)?;
    }
    let broken = violations(&record, fault);
    let (case, finding) = broken.first().ok_or_else(|| {
        let states: Vec<String> = fault.breaks.iter().map(|id| format!("{id}: {}", outcome(&record, id))).collect();
        format!("no requirement of `{}` fails: {}", fault.name, states.join(", "))
    })?;
    if code != 1 {
        return Err(format!("a violation ends with exit 1, not {code}").into());
    }
    for key in ["expected", "observed", "at"] {
        if finding[key].as_str().unwrap_or_default().is_empty() {
            return Err(format!("the finding has no `{key}`: {finding}").into());
        }
    }
    let id = case["id"].as_str().unwrap_or_default();
    let replay = case["replay"].as_str().unwrap_or_default();
    let words = split(replay);
    let out = folder.path().join("again");
    let code = proofmark(&words[1..], &out)?;
    let again = read(&out)?;
    let repeated = violations(&again, fault).iter().any(|(case, _)| case["id"] == id);
    if code != 1 || !repeated {
        return Err(format!("the replay command does not repeat the failure of {id} (exit {code}): {replay}").into());
    }
    Ok(())
}

/// Cases with a failing finding on a requirement that the fault breaks.
fn violations<'r>(record: &'r Value, fault: &Fault) -> Vec<(&'r Value, &'r Value)> {
    let cases =
        record["protocols"].as_array().into_iter().flatten().flat_map(|p| p["cases"].as_array().into_iter().flatten());
    cases
        .filter_map(|case| {
            let findings = case["findings"].as_array()?;
            let broken = |finding: &&Value| {
                finding["verdict"] == "fail" && fault.breaks.iter().any(|id| finding["requirement"] == *id)
            };
            Some((case, findings.iter().find(broken)?))
        })
        .filter(|(case, _)| case["verdict"] == "fail")
        .collect()
}

fn outcome(record: &Value, id: &str) -> String {
    let requirements = record["protocols"][0]["requirements"].as_array().into_iter().flatten();
    let found = requirements.into_iter().find(|requirement| requirement["id"] == id);
    found.map_or_else(|| "unknown".to_owned(), |found| format!("{} {}", found["verdict"], found["reason"]))
}

fn proofmark(words: &[String], out: &Path) -> Result<i32, Failed> {
    let status = Command::new(env!("CARGO_BIN_EXE_proofmark"))
        .args(words)
        .args(["--quiet", "--out"])
        .arg(out)
        .env("PROOFMARK_TEST_KEY", "key-a")
        .env("PROOFMARK_TEST_OTHER_KEY", "key-b")
        .env("PROOFMARK_TEST_WRONG_KEY", "not-a-key")
        .stdout(Stdio::null())
        .status()?;
    Ok(status.code().unwrap_or(-1))
}

fn read(out: &Path) -> Result<Value, Failed> {
    let bytes = std::fs::read(out.join("report.json")).map_err(|error| format!("no report: {error}"))?;
    Ok(serde_json::from_slice(&bytes)?)
}

/// The words of a command, split as by a POSIX shell.
fn split(command: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for character in command.chars() {
        match (character, quoted) {
            ('\'', _) => quoted = !quoted,
            (' ', false) => words.push(String::new()),
            _ => words.last_mut().expect("there is always one").push(character),
        }
    }
    words
}

/// A reference server that demands credentials, and the target file that has them.
struct Serving {
    child: std::process::Child,
    target: String,
}

impl Serving {
    fn start(fault: &Fault, folder: &Path) -> Result<Self, Failed> {
        use std::io::{BufRead, BufReader};
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["serve", "--protocol", "agentic", "--listen", "127.0.0.1:0", "--fault", fault.name])
            .args(["--set", "auth=key-a=pm-actor-a", "--set", "auth=key-b=pm-actor-b"])
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or("no output")?).read_line(&mut line)?;
        let url = line.split_whitespace().find(|word| word.starts_with("http")).ok_or("the server names no URL")?;
        let target = folder.join("target.yaml");
        std::fs::write(
            &target,
            format!(
                "protocol: agentic\nurl: {url}\nfeatures: {{ auth: true }}\ncredentials:\n  a: {{ env: PROOFMARK_TEST_KEY, prefix: 'Bearer ' }}\n  b: {{ env: PROOFMARK_TEST_OTHER_KEY, prefix: 'Bearer ' }}\n  wrong: {{ env: PROOFMARK_TEST_WRONG_KEY, prefix: 'Bearer ' }}\n"
            ),
        )?;
        Ok(Self { child, target: target.display().to_string() })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
