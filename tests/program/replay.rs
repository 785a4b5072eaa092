//! Every input of the fuzz corpora and every reproducer, through the fuzz targets, without a fuzzer.
//!
//! A reproducer under `reproducers/open/` shows an open bug: it has to keep failing, so that the test fails once the bug
//! is fixed and the file has to move to `reproducers/`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use libtest_mimic::{Failed, Trial};
use proofmark_fuzz::{TARGETS, Target};

/// One test for each folder of inputs, and one for the table of targets.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("replay::every_target_is_complete", complete)];
    for target in TARGETS {
        trials.push(Trial::test(format!("replay::corpus::{}", target.name), || passes(target, "corpus", false)));
        trials
            .push(Trial::test(format!("replay::reproducers::{}", target.name), || passes(target, "reproducers", true)));
        trials.push(Trial::test(format!("replay::open::{}", target.name), || still_fails(target)));
    }
    trials
}

/// The package of the fuzz targets.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// The files of a target, in the order of their names.
fn inputs(folder: &str, target: &Target) -> Vec<PathBuf> {
    let folder = root().join(folder).join(target.name);
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect();
    files.sort();
    files
}

fn holds(target: &Target, path: &Path) -> Result<bool, Failed> {
    let data = std::fs::read(path)?;
    proofmark_fuzz::sample::take_all();
    Ok(catch_unwind(AssertUnwindSafe(|| (target.run)(&data))).is_ok())
}

fn passes(target: &Target, folder: &str, may_be_empty: bool) -> Result<(), Failed> {
    let files = inputs(folder, target);
    if files.is_empty() && !may_be_empty {
        return Err(format!("fuzz/{folder}/{} has no inputs", target.name).into());
    }
    for path in &files {
        if !holds(target, path)? {
            return Err(format!("{}: the property does not hold: {}", path.display(), target.property).into());
        }
    }
    Ok(())
}

fn still_fails(target: &Target) -> Result<(), Failed> {
    for path in inputs("reproducers/open", target) {
        if holds(target, &path)? {
            return Err(format!("{} is mended: move it to reproducers/{}/", path.display(), target.name).into());
        }
    }
    Ok(())
}

fn complete() -> Result<(), Failed> {
    let root = root();
    let manifest = std::fs::read_to_string(root.join("Cargo.toml"))?;
    let mut before = "";
    for target in TARGETS {
        if target.name <= before {
            return Err(format!("{} is out of order or there twice", target.name).into());
        }
        before = target.name;
        if !manifest.contains(&format!("name = \"{}\"", target.name)) {
            return Err(format!("{} has no [[bin]]", target.name).into());
        }
        if !root.join(format!("fuzz_targets/{}.rs", target.name)).is_file() {
            return Err(format!("{} has no program", target.name).into());
        }
    }
    for folder in ["corpus", "reproducers", "reproducers/open"] {
        let Ok(entries) = std::fs::read_dir(root.join(folder)) else { continue };
        for name in entries.flatten().filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()) {
            if name != "open" && !TARGETS.iter().any(|target| name == target.name) {
                return Err(format!("{folder}/{} belongs to no target", name.display()).into());
            }
        }
    }
    Ok(())
}
