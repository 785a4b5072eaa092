//! Faults of key selection.

/// `key-numeric-order`: Sorts key-2 before key-10.
pub(in crate::amp_core) fn number(id: &str) -> (String, u64) {
    let digits = id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (id[..digits].to_owned(), id[digits..].parse().unwrap_or(0))
}
