//! Differences between a message and its copy, as they are found (binding, section 7).

use super::block::Vocabulary;
use super::{knowledge, message, number, settings};
use crate::protocol::ObservationContext;
use crate::value::{Path, Value};
use crate::wire::show;

/// Differences of one copy at most.
const DIFFERENCES: usize = 200;

/// One difference between a message and its copy.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Difference {
    /// The row of [`ROWS`].
    pub(super) row: &'static str,
    /// The place in the message.
    pub(super) at: Path,
    /// What was sent, or is required.
    pub(super) expected: String,
    /// What is in the copy.
    pub(super) observed: String,
}

/// The differences that were found so far.
pub(super) struct Differences {
    pub(super) list: Vec<Difference>,
}

impl Differences {
    pub(super) fn note(&mut self, row: &'static str, at: &Path, expected: impl Into<String>, observed: Option<&Value>) {
        if self.list.len() < DIFFERENCES {
            let observed = observed.map_or_else(|| "nothing".to_owned(), show);
            self.list.push(Difference { row, at: at.clone(), expected: expected.into(), observed });
        }
    }

    /// Compares two values at a place; what differs belongs to `row`, and what is new to `added`, if that is given.
    pub(super) fn value(
        &mut self,
        row: &'static str,
        added: Option<&'static str>,
        at: &Path,
        sent: &Value,
        copy: Option<&Value>,
    ) {
        let Some(copy) = copy else {
            // A lost null is a value whose type was not preserved, too.
            if matches!(sent, Value::Null | Value::Array(_) | Value::Map(_)) {
                self.note("types", at, show(sent), None);
            }
            return self.note(row, at, show(sent), None);
        };
        if sent.type_name() != copy.type_name() {
            self.note("types", at, format!("a value of type {}", sent.type_name()), Some(copy));
            return self.note(row, at, show(sent), Some(copy));
        }
        match (sent, copy) {
            (Value::Map(members), Value::Map(_)) => {
                for (key, value) in members {
                    let Some(name) = key.as_text() else { continue };
                    self.value(row, added, &at.child(name), value, copy.member(name));
                }
                for (key, value) in copy.as_map().unwrap_or_default() {
                    if let (Some(added), Some(name)) = (added, key.as_text())
                        && sent.member(name).is_none()
                    {
                        self.note(added, &at.child(name), "no new member", Some(value));
                    }
                }
            }
            (Value::Array(sents), Value::Array(copies)) => {
                if sents.len() == copies.len() && !sent.same_as(copy) && same_items(sents, copies) {
                    self.note("array-order", at, show(sent), Some(copy));
                    return self.note(row, at, show(sent), Some(copy));
                }
                if sents.len() != copies.len() {
                    let kept: Vec<&Value> = sents.iter().filter(|item| contains(copies, item)).collect();
                    let order: Vec<&Value> = copies.iter().filter(|item| contains(sents, item)).collect();
                    if kept.len() > copies.len() || !kept.iter().zip(&order).all(|(a, b)| a.same_as(b)) {
                        self.note("array-order", at, show(sent), Some(copy));
                    }
                    return self.note(row, at, show(sent), Some(copy));
                }
                for (index, (sent, copy)) in sents.iter().zip(copies).enumerate() {
                    self.value(row, added, &at.child(index.to_string()), sent, Some(copy));
                }
            }
            _ if sent.is_number() => {
                if !sent.same_as(copy) {
                    self.note(row, at, show(sent), Some(copy));
                } else if !number::same(sent, copy) {
                    self.note("numbers", at, show(sent), Some(copy));
                }
            }
            _ if sent != copy => self.note(row, at, show(sent), Some(copy)),
            _ => {}
        }
    }
}

fn contains(items: &[Value], wanted: &Value) -> bool {
    items.iter().any(|item| item.same_as(wanted))
}

fn same_items(left: &[Value], right: &[Value]) -> bool {
    let mut rest: Vec<&Value> = right.iter().collect();
    left.iter().all(|item| {
        let found = rest.iter().position(|other| other.same_as(item));
        found.map(|at| rest.remove(at)).is_some()
    })
}

/// What the comparison needs to know of the target.
pub(super) struct Rules {
    pub(super) vocabulary: Vocabulary,
    /// The place of header blocks; `None` for a target without them.
    pub(super) blocks_at: Option<Path>,
    /// Names of members that identify an added node or edge (E17).
    pub(super) marks: Vec<String>,
    /// The URI of the node.
    pub(super) node_uri: String,
    /// The hops that the message took.
    pub(super) hops: i128,
}

impl Rules {
    /// The rules for a target, after `hops` hops.
    pub(super) fn of(context: &ObservationContext<'_>, hops: i128) -> Self {
        let marks = context.target.setting("augmentation_marks").and_then(Value::as_array).unwrap_or_default().iter();
        let uri = settings::word(context.target, "node_uri").unwrap_or(knowledge::NODE_URI);
        Self {
            vocabulary: Vocabulary::of(context.target),
            blocks_at: message::blocks_at(context.target, context.known).and_then(|place| Path::parse(&place).ok()),
            marks: marks.filter_map(Value::as_text).map(str::to_owned).collect(),
            node_uri: uri.to_owned(),
            hops,
        }
    }
}
