//! `check --watch`: the same run again whenever a file that it reads has changed.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, SystemTime};

use super::args::CheckOptions;
use super::exit::Failure;
use crate::report::printable;

/// Between two looks at the files.
const PAUSE: Duration = Duration::from_millis(300);

/// Files that are looked at, at most: a folder of suites has hundreds.
const FILES: usize = 10_000;

/// The time and length of each file.
type Stamps = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// Runs the command of this process without `--watch`, and again after each change, until the process is ended.
///
/// Each run is a process of its own, so that Ctrl-C ends it as it ends any run, and this process with it.
///
/// # Errors
///
/// [`Failure::Usage`] if no option names a file that could change.
pub(super) fn run(options: &CheckOptions) -> Result<u8, Failure> {
    let roots = roots(options);
    if roots.is_empty() {
        let hint = "give --target, --suites, --vectors, --cases or --baseline";
        return Err(Failure::Usage("--watch: no file that could change".into(), Some(hint.into())));
    }
    let program = std::env::current_exe().map_err(|error| Failure::Internal(format!("cannot start again: {error}")))?;
    let words: Vec<OsString> = std::env::args_os().skip(1).filter(|word| word != "--watch").collect();
    loop {
        let before = stamps(&roots);
        let status = Command::new(&program).args(&words).status();
        let status = status.map_err(|error| Failure::Internal(format!("cannot start again: {error}")))?;
        let code = status.code().map_or_else(|| "a signal".to_owned(), |code| format!("exit code {code}"));
        say(&format!("{code}; watching {} files, Ctrl-C ends", before.len()));
        let changed = change(&roots, &before);
        say(&format!("{} changed", printable::line(&changed.display().to_string())));
    }
}

/// Waits until a file differs from `before`, and until the files rest. Returns one that differs.
fn change(roots: &[&Path], before: &Stamps) -> PathBuf {
    let mut last = before.clone();
    loop {
        thread::sleep(PAUSE);
        let now = stamps(roots);
        // An editor writes in several steps: a file may be gone for a moment.
        if now == last
            && let Some(path) = differing(before, &now)
        {
            return path;
        }
        last = now;
    }
}

fn differing(before: &Stamps, now: &Stamps) -> Option<PathBuf> {
    let changed = now.iter().find(|(path, stamp)| before.get(*path) != Some(stamp));
    changed.or_else(|| before.iter().find(|(path, _)| !now.contains_key(*path))).map(|(path, _)| path.clone())
}

/// The files and folders that the run reads.
fn roots(options: &CheckOptions) -> Vec<&Path> {
    let data = &options.data;
    let named = [&options.at.target, &data.suites, &data.vectors, &options.baseline];
    named.into_iter().flatten().chain(&data.cases).map(PathBuf::as_path).collect()
}

fn stamps(roots: &[&Path]) -> Stamps {
    let mut stamps = Stamps::new();
    let mut open: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
    while let Some(path) = open.pop()
        && stamps.len() < FILES
    {
        let Ok(found) = std::fs::metadata(&path) else { continue };
        if found.is_dir() {
            // Links to folders could lead round in circles.
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            let inside = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
            open.extend(inside.map(|entry| entry.path()));
        } else {
            stamps.insert(path, (found.modified().ok(), found.len()));
        }
    }
    stamps
}

/// Progress, not a result: it goes where the progress of a run goes.
fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "proofmark: {line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_an_addition_and_a_removal_are_seen() {
        let folder = tempfile::tempdir().expect("a folder");
        let inner = folder.path().join("inner");
        std::fs::create_dir(&inner).expect("a folder");
        std::fs::write(inner.join("a"), "one").expect("a file");
        let roots = [folder.path()];
        let look = || stamps(&roots);
        let first = look();
        assert_eq!((first.len(), differing(&first, &look())), (1, None));
        std::fs::write(inner.join("a"), "longer").expect("a file");
        assert_eq!(differing(&first, &look()), Some(inner.join("a")));
        let second = look();
        std::fs::write(inner.join("b"), "").expect("a file");
        assert_eq!(differing(&second, &look()), Some(inner.join("b")));
        let third = look();
        std::fs::remove_file(inner.join("b")).expect("removed");
        assert_eq!(differing(&third, &look()), Some(inner.join("b")));
    }
}
