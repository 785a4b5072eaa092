//! Lists the files of `suites/` and `vectors/` as Rust, for `lib.rs` to include.
//!
//! `suites` and `vectors` in this folder are links to the folders of the repository, so that a published package contains the
//! files. A system without links has text files in their place, and the folders of the repository are read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() {
    let package = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let repository = package.parent().expect("the package is in a folder");
    let root = if package.join("suites").is_dir() { &package } else { repository };
    let mut files = Vec::new();
    for folder in ["suites", "vectors"] {
        collect(&root.join(folder), &mut files);
    }
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.strip_prefix(root).expect("below the root").to_string_lossy().replace('\\', "/");
        writeln!(code, "    ({name:?}, include_str!({:?})),", file.display().to_string()).expect("a string grows");
    }
    code.push(']');
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets it"));
    std::fs::write(out.join("files.rs"), code).expect("the build folder can be written");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    println!("cargo:rerun-if-changed={}", folder.display());
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let wanted = ["yaml", "json", "md"].iter().any(|ending| path.extension().is_some_and(|found| found == *ending));
        if path.is_dir() {
            collect(&path, files);
        } else if wanted {
            files.push(path);
        }
    }
}
