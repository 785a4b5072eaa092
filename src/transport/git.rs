//! The `git` program, started so that neither the machine nor the repository decides what it does: no hooks, filters, network or
//! configuration.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Options that make `git` ignore the configuration of the repository.
const SAFE: &[&str] = &[
    "--no-pager",
    "--literal-pathspecs",
    "--no-replace-objects",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.sshCommand=false",
    "-c",
    "core.alternateRefsCommand=",
    "-c",
    "credential.helper=",
    "-c",
    "protocol.allow=never",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "log.showSignature=false",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
];

/// Variables of the environment that are passed on. On Windows no program starts without the second.
const KEPT: &[&str] = &["PATH", "SystemRoot"];

/// A command in a folder, without arguments of its own. A repository around the folder is not found.
pub(super) fn command(folder: &Path) -> Command {
    let mut command = Command::new(program());
    command
        .args(SAFE)
        .current_dir(folder)
        .env_clear()
        .envs(KEPT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_ATTR_NOSYSTEM", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("GIT_ALLOW_PROTOCOL", "none")
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_OPTIONAL_LOCKS", "0")
        .envs(folder.parent().map(|parent| ("GIT_CEILING_DIRECTORIES", parent)));
    command
}

/// The path of the program. A program that is named by its path starts without a copy of the memory of this process, which
/// takes longer than what git does.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let name = format!("git{}", std::env::consts::EXE_SUFFIX);
        let found = std::env::split_paths(&path).map(|folder| folder.join(&name)).find(|file| file.is_file());
        found.unwrap_or_else(|| PathBuf::from("git"))
    })
}
