//! What a campaign shows and writes while it runs: its progress, a log, and a file for each finding.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::exit::Failure;
use crate::report::{files, printable};
use crate::{explore, fuzz};

/// Between two lines of progress in a pipe.
const PAUSE: Duration = Duration::from_secs(10);

/// Shows the progress of a campaign, writes each finding at once, and writes the log.
pub(super) struct Watching<'o> {
    out: &'o Path,
    quiet: bool,
    bar: ProgressBar,
    plain: bool,
    printed: Mutex<Instant>,
    log: Option<Mutex<File>>,
    failure: Mutex<Option<Failure>>,
}

impl<'o> Watching<'o> {
    /// Creates the log file. Nothing is shown yet, and nothing at all with `quiet`; findings go to the folder `out`.
    ///
    /// # Errors
    ///
    /// [`Failure::Usage`] if the log file cannot be written.
    pub(super) fn new(out: &'o Path, quiet: bool, log: Option<&Path>) -> Result<Self, Failure> {
        let log = log.map(|path| {
            File::create(path)
                .map_err(|error| Failure::usage(format!("cannot write {}: {error}", path.display())))
                .map(Mutex::new)
        });
        let terminal = std::io::stderr().is_terminal() && std::env::var_os("CI").is_none();
        let bar = if terminal && !quiet {
            ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr())
        } else {
            ProgressBar::hidden()
        };
        if let Ok(style) = ProgressStyle::with_template("{prefix} {spinner} {msg}") {
            bar.set_style(style);
        }
        let plain = !terminal && !quiet;
        let printed = Mutex::new(Instant::now());
        Ok(Self { out, quiet, bar, plain, printed, log: log.transpose()?, failure: Mutex::new(None) })
    }

    /// Says that it begins.
    pub(super) fn begin(&self, slug: &str, target: &str, what: &str) {
        self.bar.set_prefix(slug.to_owned());
        if self.plain {
            let _ = writeln!(anstream::stderr(), "{slug}: {}: {what}", printable::line(target));
        }
    }

    /// Removes the progress from the terminal.
    ///
    /// # Errors
    ///
    /// The first failure to write a finding or the log.
    pub(super) fn end(self) -> Result<(), Failure> {
        self.bar.finish_and_clear();
        match self.failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(failure) => Err(failure),
            None => Ok(()),
        }
    }

    fn fail(&self, failure: Failure) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failure);
    }

    fn show(&self, line: &str) {
        self.bar.set_message(line.to_owned());
        self.bar.tick();
        let mut printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        if self.plain && printed.elapsed() >= PAUSE {
            *printed = Instant::now();
            let _ = writeln!(anstream::stderr(), "{line}");
        }
    }

    fn log(&self, line: impl FnOnce() -> serde_json::Value) {
        let Some(log) = &self.log else { return };
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if let Err(error) = writeln!(log, "{}", line()) {
            self.fail(Failure::usage(format!("cannot write the log: {error}")));
        }
    }

    /// Written at once, so that a killed campaign keeps its findings.
    fn found(&self, case: &str, text: &str, what: &str) {
        if let Err(error) = files::write_bytes(&finding_file(self.out, case), text.as_bytes()) {
            self.fail(error.into());
        }
        self.bar.suspend(|| {
            if !self.quiet {
                let _ = writeln!(anstream::stderr(), "found: {}", printable::short(what, 200));
            }
        });
    }
}

impl fuzz::Watcher for Watching<'_> {
    fn progress(&self, progress: &fuzz::Progress) {
        self.show(&format!(
            "{} inputs, {:.0} a second, {} kinds of answers, {} findings, {:.0} s",
            progress.inputs,
            progress.rate(),
            progress.answers.len(),
            progress.findings,
            progress.elapsed.as_secs_f64()
        ));
    }

    fn input(&self, number: u64, seed: &str, edits: &[String], answer: &str) {
        self.log(|| serde_json::json!({ "input": number, "seed": seed, "edits": edits, "answer": answer }));
    }

    fn finding(&self, finding: &fuzz::Finding) {
        self.found(&finding.case, &finding.text, &finding.what);
    }
}

impl explore::Watcher for Watching<'_> {
    fn progress(&self, progress: &explore::Progress) {
        self.show(&format!(
            "{} sequences, {} transitions, {} findings, {:.0} s",
            progress.sequences,
            progress.reached.len(),
            progress.findings,
            progress.elapsed.as_secs_f64()
        ));
    }

    fn sequence(&self, number: u64, transport: &str, steps: &[String], outcome: &str) {
        self.log(
            || serde_json::json!({ "sequence": number, "transport": transport, "steps": steps, "outcome": outcome }),
        );
    }

    fn finding(&self, finding: &explore::Finding) {
        let what = format!("{} {}: {}", finding.requirement, finding.operation, finding.observed);
        self.found(&finding.case, &finding.text, &what);
    }
}

/// The file of a finding, named after the suite of its case.
pub(super) fn finding_file(out: &Path, case: &str) -> PathBuf {
    let suite = case.split('#').next().unwrap_or_default();
    // Generated names have no other characters; an edited state file must not lead to another folder.
    let name: String = suite
        .rsplit('/')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    out.join(format!("{name}.yaml"))
}
