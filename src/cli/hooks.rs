//! Runs the hooks of a target file.

use std::io::Write;
use std::process::Stdio;
use std::time::Duration;

use super::exit::Failure;
use super::init;
use crate::plan::Knowledge;
use crate::report::printable;
use crate::target::{FIXTURE, Hooks, Target};
use crate::template::Clock;

/// Maximum time of one hook.
const LIMIT: Duration = Duration::from_secs(2 * 60);

/// Number of lines of the output of a hook that failed.
const LINES: usize = 20;

/// Claims the feature of a loaded fixture for a target whose file says how to load it.
pub(super) fn claim(knowledge: &Knowledge, target: &mut Target) {
    let has = knowledge.manifest.features.iter().any(|feature| feature.name.value == FIXTURE);
    if has && !target.hooks.load.is_empty() {
        target.options.insert(FIXTURE.to_owned(), true);
    }
}

/// Empties the target and loads its fixture, whose times count from now, as far as the target file says how.
pub(super) async fn run(knowledge: &Knowledge, target: &Target, now: Clock) -> Result<(), Failure> {
    let hooks = &target.hooks;
    if !hooks.reset.is_empty() {
        call("reset", &hooks.reset, hooks).await?;
    }
    if !hooks.load.is_empty() {
        let lines = init::fixture(knowledge, now.0)?;
        let mut file = tempfile::Builder::new().prefix("fixture-").suffix(".ndjson").tempfile()?;
        file.write_all(lines.as_bytes())?;
        let path = file.path().display().to_string();
        let words: Vec<String> = hooks.load.iter().cloned().chain([path]).collect();
        call("load", &words, hooks).await?;
    }
    Ok(())
}

async fn call(name: &str, words: &[String], hooks: &Hooks) -> Result<(), Failure> {
    let undecided = |what: String, hint: Option<String>| {
        Failure::Undecided(format!("the hook `{name}` of the target {}", printable::line(&what)), hint)
    };
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let running = tokio::process::Command::new(program)
        .args(arguments)
        .current_dir(&hooks.directory)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = match tokio::time::timeout(LIMIT, running).await {
        Ok(ended) => ended.map_err(|error| undecided(format!("cannot run {program}: {error}"), None))?,
        Err(_) => return Err(undecided(format!("did not end within {} s", LIMIT.as_secs()), None)),
    };
    if ended.status.success() {
        return Ok(());
    }
    let said = [ended.stdout, ended.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().collect();
    let last: String = lines[lines.len().saturating_sub(LINES)..]
        .iter()
        .map(|line| format!("\n    {}", printable::line(line)))
        .collect();
    let hint = (!last.is_empty()).then(|| format!("its last output:{last}"));
    Err(undecided(format!("failed: {}", ended.status), hint))
}
