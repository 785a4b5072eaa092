//! Matchers and template functions.

use std::fmt::Write as _;

use super::page::{Page, cell, code};
use crate::matcher::{Compiler, Matcher};
use crate::plan::Knowledge;
use crate::template::FUNCTIONS;

/// The page of matchers: those of every protocol, then those of each.
pub(super) fn matchers(known: &[Knowledge]) -> Page {
    let mut text =
        String::from("# Matchers\n\nA matcher is a key of an expectation: what must hold for the value at a place.\n");
    let general: Vec<&dyn Matcher> = Compiler::new(&[]).matchers().collect();
    table(&mut text, "matcher", general.iter().map(|matcher| (matcher.name(), matcher.summary(), matcher.example())));
    for knowledge in known.iter().filter(|knowledge| !knowledge.protocol.matchers().is_empty()) {
        let _ = writeln!(text, "\n## Only in suites of {}\n", knowledge.protocol.slug());
        let own = knowledge.protocol.matchers().iter();
        table(&mut text, "matcher", own.map(|matcher| (matcher.name(), matcher.summary(), matcher.example())));
    }
    Page { file: "matchers.md".to_owned(), title: "Matchers".to_owned(), text }
}

/// The page of template functions.
pub(super) fn functions(known: &[Knowledge]) -> Page {
    let mut text = String::from("# Functions\n\nA function computes a value inside `${…}`.\n");
    table(&mut text, "function", FUNCTIONS.iter().map(|function| (function.name, function.summary, function.example)));
    for knowledge in known.iter().filter(|knowledge| !knowledge.protocol.functions().is_empty()) {
        let _ = writeln!(text, "\n## Only in suites of {}\n", knowledge.protocol.slug());
        let own = knowledge.protocol.functions().iter();
        table(&mut text, "function", own.map(|function| (function.name, function.summary, function.example)));
    }
    Page { file: "functions.md".to_owned(), title: "Functions".to_owned(), text }
}

fn table<'r>(text: &mut String, what: &str, rows: impl Iterator<Item = (&'r str, &'r str, &'r str)>) {
    let _ = writeln!(text, "\n| {what} | description | example |\n|---|---|---|");
    for (name, summary, example) in rows {
        let _ = writeln!(text, "| `{name}` | {} | {} |", cell(summary), code(example));
    }
}
