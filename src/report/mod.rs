//! Reports: the record of a run, rendered in several formats.
//!
//! Each format is one file and one row of [`FORMATS`], or of the table of its protocol, and reads only the [`RunRecord`].
//! Text from a target is hostile: [`printable`] filters it before a format escapes it. [`files`] writes reports to disk; the
//! command line decides which, and where.

use std::io;

use crate::record::RunRecord;

mod badge;
mod baseline;
mod cause;
pub mod compare;
mod diff;
pub mod evidence;
pub mod files;
mod html;
pub mod json;
mod junit;
mod markdown;
pub mod printable;
mod sarif;
mod shape;
pub mod text;
mod view;

pub use cause::{Reason, reasons};

/// A way to write a record.
#[derive(Clone, Copy, Debug)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// Name of its file if only a directory is given.
    pub file_name: &'static str,
    /// One line for `--help`.
    pub summary: &'static str,
    /// Writes it, with a line end after the last line.
    pub write: fn(&RunRecord, &mut dyn io::Write) -> io::Result<()>,
    /// Whether the exchanges go to a file beside it ([`evidence`]), unless it goes to a device or a pipe.
    pub has_evidence: bool,
}

/// Every format that is independent of a protocol, in the order in which the manual lists them.
pub const FORMATS: &[Format] = &[
    Format {
        name: "json",
        file_name: "report.json",
        summary: "the whole record; rejudge, compare and report read it back",
        write: json::write,
        has_evidence: true,
    },
    Format {
        name: "html",
        file_name: "report.html",
        summary: "one self-contained page with every exchange",
        write: html::write,
        has_evidence: false,
    },
    Format {
        name: "junit",
        file_name: "junit.xml",
        summary: "JUnit XML for CI systems, requirement ids as properties",
        write: junit::write,
        has_evidence: false,
    },
    Format {
        name: "markdown",
        file_name: "summary.md",
        summary: "a short page for a CI job summary or a pull request",
        write: markdown::write,
        has_evidence: false,
    },
    Format {
        name: "sarif",
        file_name: "report.sarif",
        summary: "SARIF 2.1.0 for code scanning: findings at the lines of the suites",
        write: sarif::write,
        has_evidence: false,
    },
    Format {
        name: "badge-svg",
        file_name: "badge.svg",
        summary: "an image that names the granted levels",
        write: badge::write_svg,
        has_evidence: false,
    },
    Format {
        name: "badge-json",
        file_name: "badge.json",
        summary: "the same for the endpoint badge of shields.io",
        write: badge::write_json,
        has_evidence: false,
    },
    Format {
        name: "text",
        file_name: "report.txt",
        summary: "the terminal summary, without colour",
        write: text::write,
        has_evidence: false,
    },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_file_names_are_unique() {
        let names: BTreeSet<_> = FORMATS.iter().map(|f| f.name).collect();
        let files: BTreeSet<_> = FORMATS.iter().map(|f| f.file_name).collect();
        assert_eq!(names.len(), FORMATS.len());
        assert_eq!(files.len(), FORMATS.len());
    }

    #[test]
    fn each_format_is_documented() {
        for row in FORMATS {
            assert!(!row.summary.is_empty() && !row.summary.ends_with('.'), "{}", row.name);
        }
    }
}
