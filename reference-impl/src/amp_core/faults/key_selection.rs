//! Faults of key selection.

use crate::amp_core::did;
use crate::amp_core::document::{Document, Method};

/// `key-fragment-suffix`: The first method whose id ends with the fragment.
pub(in crate::amp_core) fn ending<'d>(document: &'d Document, did: &str) -> Option<&'d Method> {
    document.methods.iter().find(|method| method.id.ends_with(did::fragment(did).unwrap_or_default()))
}

/// `key-numeric-order`: Sorts key-2 before key-10.
pub(in crate::amp_core) fn number(id: &str) -> (String, u64) {
    let digits = id.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (id[..digits].to_owned(), id[digits..].parse().unwrap_or(0))
}
