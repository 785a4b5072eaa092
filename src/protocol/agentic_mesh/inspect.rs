//! What is wrong with a message or a copy of it, without a target: for a comparison with another implementation.

use super::block::Vocabulary;
use super::difference::Rules;
use super::{compare, defect, knowledge, message};
use crate::exchange::TargetClass;
use crate::target::Target;
use crate::value::{Path, Value};

/// Why no node may process these bytes; `None` if one may, or if it is open.
#[must_use]
pub fn defect(bytes: &[u8]) -> Option<String> {
    defect::find(bytes).map(|found| format!("{}: {}", found.requirement, found.because))
}

/// The members of a message that are missing or spoilt in the copy that an intermediary forwarded.
#[must_use]
pub fn spoilt(sent: &Value, copy: &Value) -> Vec<String> {
    let rules = Rules {
        vocabulary: Vocabulary::of(&Target::new(TargetClass::Endpoint, "another implementation")),
        blocks_at: Path::parse(message::BLOCKS).ok(),
        marks: Vec::new(),
        node_uri: knowledge::NODE_URI.to_owned(),
        hops: 1,
    };
    let found = compare::compare(sent, copy, &rules).into_iter();
    let words = |found: super::difference::Difference| {
        format!("{} at {}: {} became {}", found.row, found.at, found.expected, found.observed)
    };
    found.map(words).collect()
}
