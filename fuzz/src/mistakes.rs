//! Properties of every mistake reported for a data file.

use std::sync::Arc;

use proofmark::source::{Diagnostic, Source};

/// A data file.
pub(crate) fn source(name: &str, text: &str) -> Arc<Source> {
    Arc::new(Source { name: name.to_owned(), text: text.to_owned().into() })
}

/// The data, if it has no mistakes; otherwise the mistakes are printed in every format.
pub(crate) fn none<T>(result: Result<T, Vec<Diagnostic>>) -> Option<T> {
    result.map_err(|diagnostics| print(&diagnostics)).ok()
}

/// Prints the mistakes.
///
/// # Panics
///
/// If the list is empty, a mistake has no message or place, or a terminal escape is printed.
pub(crate) fn print(diagnostics: &[Diagnostic]) {
    assert!(!diagnostics.is_empty(), "there are mistakes, but none is named");
    for diagnostic in diagnostics {
        assert!(!diagnostic.message.is_empty(), "{diagnostic} says nothing");
        let text = &diagnostic.span.source().text;
        let (line, column) = diagnostic.span.line_column();
        let there = text.split('\n').nth(line - 1).is_some_and(|found| column <= found.chars().count() + 1);
        assert!(there, "{diagnostic} lies outside of the file");
        let plain = diagnostic.render(false);
        assert!(!plain.contains('\u{1b}'), "a terminal escape gets through: {plain:?}");
        diagnostic.render(true);
        assert!(diagnostic.to_string().contains(':'));
    }
}
