//! The standard capability identifiers (section 9) and the reserved operation names (E41, E47).

/// The groups with their identifiers, in the order of the specification.
pub(crate) const GROUPS: &[(&str, &[&str])] = &[
    ("Text Processing", &["text-analysis", "sentiment-analysis", "summarization", "translation", "question-answering"]),
    ("Data Processing", &["data-extraction", "data-transformation", "data-validation"]),
    ("Generation", &["text-generation", "code-generation", "image-generation"]),
    ("Reasoning", &["logical-reasoning", "mathematical-reasoning", "causal-reasoning"]),
    ("Specialized", &["web-search", "tool-use", "memory-retrieval"]),
];

/// Operation names, which stand where capability ids stand.
pub(crate) const RESERVED: &[&str] =
    &["registration", "discovery", "context-create", "context-get", "context-update", "context-merge", "context-fork"];

/// Whether an id is standard or reserved.
#[must_use]
pub(crate) fn is_known(id: &str) -> bool {
    RESERVED.contains(&id) || GROUPS.iter().any(|(_, ids)| ids.contains(&id))
}
