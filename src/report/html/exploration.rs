//! The part of the page about an exploration: which transitions of the model were reached.

use std::collections::BTreeMap;

use crate::record::ExplorationRecord;
use crate::report::printable;

/// Width of the rectangle of one transition, and the gap behind it.
const WIDTH: usize = 10;

pub(super) struct ExplorationView {
    pub(super) summary: String,
    pub(super) end: String,
    pub(super) groups: Vec<GroupView>,
}

/// Transitions of one kind of move.
pub(super) struct GroupView {
    pub(super) name: String,
    pub(super) cells: Vec<CellView>,
    pub(super) width: usize,
    pub(super) extent: String,
    /// Those that were not reached.
    pub(super) missed: String,
}

pub(super) struct CellView {
    pub(super) x: usize,
    pub(super) class: &'static str,
    pub(super) title: String,
}

pub(super) fn view(record: &ExplorationRecord) -> ExplorationView {
    let mut groups: BTreeMap<&str, Vec<(&str, u64)>> = BTreeMap::new();
    for (name, times) in &record.transitions {
        let (group, name) = name.split_once(": ").unwrap_or((name.as_str(), name.as_str()));
        groups.entry(group).or_default().push((name, *times));
    }
    let reached = record.transitions.values().filter(|times| **times > 0).count();
    ExplorationView {
        summary: format!(
            "{reached} of {} transitions of the model reached, {} sequences, {} steps in {}",
            record.transitions.len(),
            record.sequences,
            record.steps,
            printable::duration(record.elapsed_ms)
        ),
        end: printable::short(&record.end, 300),
        groups: groups.into_iter().map(|(name, transitions)| group(name, &transitions)).collect(),
    }
}

fn group(name: &str, transitions: &[(&str, u64)]) -> GroupView {
    let cell = |(index, (name, times)): (usize, &(&str, u64))| CellView {
        x: index * WIDTH,
        class: match times {
            0 => "never",
            1..=9 => "seldom",
            _ => "often",
        },
        title: printable::short(&format!("{name}: {times}"), 120),
    };
    let missed: Vec<&str> = transitions.iter().filter(|(_, times)| *times == 0).map(|(name, _)| *name).collect();
    GroupView {
        name: printable::short(name, 60),
        cells: transitions.iter().enumerate().map(cell).collect(),
        width: transitions.len() * WIDTH,
        extent: format!("{} of {}", transitions.len() - missed.len(), transitions.len()),
        missed: printable::short(&missed.join("; "), 400),
    }
}
