//! The keys of data files.

use std::fmt::Write as _;

use super::page::{Page, cell, code};
use crate::schema::FILES;
use crate::source::{KeyRow, Shape, reachable};

/// A page for target files, one for suites with everything that belongs to them, and one for baselines.
pub fn pages() -> Vec<Page> {
    let pages: &[(&str, &str, &str, &[&str])] = &[
        (
            "target-file.md",
            "Target file",
            "A target file says how proofmark reaches an implementation and what the implementer claims. `proofmark init` writes a \
             commented one, `check --target FILE` uses it, `proofmark schema target` prints a JSON Schema for editors.",
            &["a target file"],
        ),
        (
            "suite-keys.md",
            "Suite keys",
            "The keys of files of cases, manifests, catalogues and vectors. `proofmark lint` checks these files, `proofmark schema` prints \
             JSON Schemas for editors.",
            &["a file of cases", "the manifest of a protocol", "a catalogue of requirements", "a file of vectors"],
        ),
        (
            "baseline-file.md",
            "Baseline file",
            "A baseline lists known failures. `proofmark baseline update` writes it, `check --baseline FILE` uses it.",
            &["a baseline"],
        ),
    ];
    pages
        .iter()
        .map(|(file, title, about, files)| {
            let mut text = format!("# {title}\n\n{about}\n");
            let mut shown: Vec<&'static Shape> = Vec::new();
            for (name, root) in FILES.iter().filter(|(name, _)| files.contains(name)) {
                if files.len() > 1 {
                    let _ = writeln!(text, "\nThe root is {name}: see the keys of {}.", root.name);
                }
                for shape in reachable(root) {
                    if !shown.iter().any(|known| std::ptr::eq(*known, shape)) {
                        shown.push(shape);
                    }
                }
            }
            for shape in shown.into_iter().filter(|shape| !shape.keys.is_empty()) {
                table(&mut text, shape);
            }
            Page { file: (*file).to_owned(), title: (*title).to_owned(), text }
        })
        .collect()
}

fn table(text: &mut String, shape: &Shape) {
    let _ = writeln!(text, "\n## Keys of {}\n\n{}\n", shape.name, shape.about);
    let _ = writeln!(text, "| key | value | description | example |\n|---|---|---|---|");
    for KeyRow { name, kind, about, default, example, required, .. } in shape.keys {
        let required = if *required { ", required" } else { "" };
        let default = default.map(|default| format!(" [default: {default}]")).unwrap_or_default();
        let (words, about) = (cell(&kind.words()), cell(&format!("{about}{default}")));
        let _ = writeln!(text, "| `{name}` | {words}{required} | {about} | {} |", code(example));
    }
}
