//! Exit codes, and the error messages of those other than 0.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | everything asked for is conformant, or with a baseline no failure is new |
//! | 1 | at least one violation, or a stale waiver, or a stale or expired entry of a baseline |
//! | 2 | wrong usage, configuration, suite or vector file |
//! | 3 | undecided: inconclusive or error where a verdict was required, or nothing was judged |
//! | 70 | proofmark itself failed |

use std::io::{IsTerminal, Write};

use crate::bundle::BundleError;
use crate::plan::LoadError;
use crate::source::Diagnostic;

/// Exit code of wrong usage.
pub const USAGE: u8 = 2;

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The arguments, or a file that they name, are invalid: the error and a hint.
    Usage(String, Option<String>),
    /// Mistakes in data files.
    Mistakes(Vec<Diagnostic>),
    /// No verdict could be reached: the error and a hint.
    Undecided(String, Option<String>),
    /// proofmark or the operating system failed.
    Internal(String),
    /// The reader of the output closed the pipe, as `head` does.
    Unread,
}

impl Failure {
    /// Its exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::Usage(..) | Self::Mistakes(_) => USAGE,
            Self::Undecided(..) => 3,
            Self::Internal(_) => 70,
            Self::Unread => 0,
        }
    }

    /// The error in one line, without the hint.
    pub fn message(&self) -> String {
        match self {
            Self::Usage(what, _) | Self::Undecided(what, _) | Self::Internal(what) => what.clone(),
            Self::Mistakes(diagnostics) => format!("{} mistakes in data files", diagnostics.len()),
            Self::Unread => "the output was closed".to_owned(),
        }
    }

    /// Prints the error to standard error.
    pub fn print(&self) {
        let mut out = anstream::stderr();
        let colour = std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        let mut say = |text: &str| {
            let _ = writeln!(out, "{text}");
        };
        match self {
            Self::Usage(what, hint) | Self::Undecided(what, hint) => {
                say(&format!("error: {what}"));
                if let Some(hint) = hint {
                    say(&format!("  help: {hint}"));
                }
            }
            Self::Mistakes(diagnostics) => {
                for diagnostic in diagnostics {
                    say(&diagnostic.render(colour));
                    say("");
                }
                let count = diagnostics.len();
                say(&format!("error: {count} mistake{} in data files", if count == 1 { "" } else { "s" }));
            }
            Self::Unread => {}
            Self::Internal(what) => say(&format!("proofmark failed: {what}")),
        }
    }

    /// Wrong usage without a hint.
    pub fn usage(what: impl Into<String>) -> Self {
        Self::Usage(what.into(), None)
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Missing(what) => {
                Self::Usage(what, Some("a suite folder needs requirements.yaml and protocol.yaml".into()))
            }
            LoadError::Mistakes(diagnostics) => Self::Mistakes(diagnostics),
        }
    }
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        Self::usage(error.to_string())
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::Internal(error.to_string()),
        }
    }
}

impl From<crate::report::files::WriteError> for Failure {
    fn from(error: crate::report::files::WriteError) -> Self {
        Self::Usage(format!("cannot {error}: {}", error.source), None)
    }
}
