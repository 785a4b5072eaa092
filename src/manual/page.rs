//! A page of the manual, and how text is written into its tables.

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its file name.
    pub file: String,
    /// Its title.
    pub title: String,
    /// Its text, which begins with the title as a heading.
    pub text: String,
}

/// A text in a cell of a table.
pub fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

/// Code in a cell of a table; empty for an empty text.
pub(super) fn code(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("`{}`", cell(text)) }
}
