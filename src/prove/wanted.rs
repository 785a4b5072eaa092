//! The names at the ends of a case's paths, and the values in its expectations. The bug that a case tests for typically gives a
//! member one of these values.

use std::collections::BTreeSet;

use crate::plan::lists;
use crate::source::{Node, Yaml};
use crate::suite::Case;
use crate::value::Value;

/// Maximum number of values that are tried for one case.
const VALUES: usize = 40;

/// Names and values in the expectations of a case.
#[derive(Default)]
pub(super) struct Wanted {
    names: BTreeSet<String>,
    values: Vec<Value>,
}

impl Wanted {
    /// The names and values of a case.
    pub(super) fn of(case: &Case) -> Self {
        let mut wanted = Self::default();
        for expectation in case.all_steps().into_iter().flat_map(lists).flatten() {
            wanted.name(&expectation.at.value.to_string());
            wanted.look(&expectation.node);
        }
        wanted
    }

    /// Whether a path of the case has the same last token as `place`, a JSON Pointer.
    pub(super) fn names(&self, place: &str) -> bool {
        place.rsplit('/').next().is_some_and(|last| self.names.contains(last))
    }

    /// The values.
    pub(super) fn values(&self) -> &[Value] {
        &self.values
    }

    fn name(&mut self, path: &str) {
        if let Some(last) = path.rsplit('/').next().filter(|last| !last.is_empty()) {
            self.names.insert(last.to_owned());
        }
    }

    fn look(&mut self, node: &Node) {
        let value = match &node.value {
            Yaml::Map(members) => {
                for (key, member) in members {
                    match (&member.value, key.name.as_str()) {
                        (Yaml::Text(path), "at") => self.name(path),
                        // Descriptions and requirement ids.
                        (_, "reading" | "note" | "covers") => {}
                        _ => self.look(member),
                    }
                }
                return;
            }
            Yaml::Sequence(items) => return items.iter().for_each(|item| self.look(item)),
            Yaml::Text(text) if text.contains("${") => return,
            Yaml::Text(text) => Value::text(text.as_str()),
            Yaml::Number(number) => number.clone(),
            Yaml::Bool(yes) => Value::Bool(*yes),
            Yaml::Null => Value::Null,
        };
        if self.values.len() < VALUES && !self.values.contains(&value) {
            self.values.push(value);
        }
    }
}
