//! Tables of cases: `for-each` turns one case into one case per row.
//! Rows are substituted before the case is read, so that a row may hold any part of a case: an id, a list of edits, a
//! whole expectation. Places remain those of the
//! row.

use std::collections::HashSet;

use super::keys::ROW;
use crate::source::{Diagnostic, Key, Node, Problems, Yaml};
use crate::suggest;

/// The case with each `${row.NAME}` replaced by the member `NAME` of `row`.
pub(super) fn fill(node: &Node, row: &Node, problems: &mut Problems) -> Node {
    match &node.value {
        Yaml::Text(text) => fill_text(node, text, row, problems),
        Yaml::Sequence(items) => Node {
            value: Yaml::Sequence(items.iter().map(|item| fill(item, row, problems)).collect()),
            span: node.span.clone(),
        },
        Yaml::Map(members) => Node {
            value: Yaml::Map(
                members
                    .iter()
                    .map(|(key, value)| {
                        let name = match fill_text(
                            &Node { value: Yaml::Null, span: key.span.clone() },
                            &key.name,
                            row,
                            problems,
                        )
                        .value
                        {
                            Yaml::Text(name) => name,
                            _ => key.name.clone(),
                        };
                        (Key { name, span: key.span.clone() }, fill(value, row, problems))
                    })
                    .collect(),
            ),
            span: node.span.clone(),
        },
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => node.clone(),
    }
}

/// Reports each member of a row that its case does not use, because it has no effect: often a misspelt key. Cases may share rows, so a
/// member counts as used if another case with the same row uses it.
pub(super) fn note_unused(cases: &[Node], problems: &mut Problems) {
    let tables: Vec<Table<'_>> = cases.iter().filter_map(Table::of).collect();
    let mut noted = HashSet::new();
    for (position, table) in tables.iter().enumerate() {
        for (row, key, value) in table.unused() {
            let others = tables.iter().enumerate().filter(|(other, _)| *other != position).map(|(_, other)| other);
            if others.into_iter().any(|other| other.uses(row, key, value))
                || !noted.insert((name_of(row), key.name.as_str()))
            {
                continue;
            }
            let hint = match suggest::nearest(&key.name, ROW.names()) {
                Some(near) => {
                    format!("did you mean `{near}`? Otherwise use it as `${{row.{}}}`, or remove it", key.name)
                }
                None => format!("use it as `${{row.{}}}`, or remove it", key.name),
            };
            problems.note(Diagnostic::new(&key.span, format!("no case uses `{}` of this row", key.name)).hint(hint));
        }
    }
}

/// The rows of a case, and the names of the members that it uses.
struct Table<'n> {
    rows: &'n [Node],
    used: HashSet<&'n str>,
}

impl<'n> Table<'n> {
    fn of(case: &'n Node) -> Option<Self> {
        let Some(Node { value: Yaml::Sequence(rows), .. }) = case.member("for-each") else { return None };
        let mut used = HashSet::new();
        names(case, &mut used);
        Some(Self { rows, used })
    }

    /// The members that the case does not use, with their rows.
    fn unused(&self) -> impl Iterator<Item = (&'n Node, &'n Key, &'n Node)> + '_ {
        let members = self.rows.iter().filter_map(|row| match &row.value {
            Yaml::Map(members) => Some((row, members)),
            _ => None,
        });
        let members = members.flat_map(|(row, members)| members.iter().map(move |(key, value)| (row, key, value)));
        members
            .filter(|(_, key, _)| !self.used.contains(key.name.as_str()) && !ROW.names().any(|name| name == key.name))
    }

    /// Whether it has this row, with this value of a member, and uses it.
    fn uses(&self, row: &Node, key: &Key, value: &Node) -> bool {
        let same = |own: &Node| {
            name_of(own) == name_of(row) && own.member(&key.name).is_some_and(|own| own.to_value() == value.to_value())
        };
        self.used.contains(key.name.as_str()) && self.rows.iter().any(same)
    }
}

fn name_of(row: &Node) -> Option<&str> {
    match row.member("row").map(|name| &name.value) {
        Some(Yaml::Text(name)) => Some(name),
        _ => None,
    }
}

/// The names of the members of a row that the texts in `node` use.
fn names<'n>(node: &'n Node, into: &mut HashSet<&'n str>) {
    match &node.value {
        Yaml::Text(text) => names_in(text, into),
        Yaml::Sequence(items) => items.iter().for_each(|item| names(item, into)),
        Yaml::Map(members) => members.iter().for_each(|(key, value)| {
            names_in(&key.name, into);
            names(value, into);
        }),
        Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => {}
    }
}

fn names_in<'n>(text: &'n str, into: &mut HashSet<&'n str>) {
    let uses = text.split(OPEN).skip(1);
    into.extend(uses.filter_map(|rest| rest.split_once('}')).map(|(name, _)| name));
}

const OPEN: &str = "${row.";

fn fill_text(node: &Node, text: &str, row: &Node, problems: &mut Problems) -> Node {
    let find = |name: &str, problems: &mut Problems| {
        let found = row.member(name);
        if found.is_none() {
            problems.note(
                Diagnostic::new(&row.span, format!("the row has no `{name}`, which the case references"))
                    .hint(format!("the case references it at {}", node.span.place())),
            );
        }
        found
    };
    if let Some(name) = text.strip_prefix(OPEN).and_then(|rest| rest.strip_suffix('}'))
        && !name.contains(['}', '/'])
    {
        return find(name, problems).cloned().unwrap_or_else(|| node.clone());
    }
    let mut filled = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(OPEN) {
        filled.push_str(&rest[..at]);
        let inner = &rest[at + OPEN.len()..];
        let Some(end) = inner.find('}') else { break };
        match find(&inner[..end], problems).map(|found| &found.value) {
            Some(Yaml::Text(value)) => filled.push_str(value),
            Some(Yaml::Number(number)) => filled.push_str(&crate::wire::json::compact(number)),
            Some(_) => problems.note(Diagnostic::new(
                &node.span,
                format!("`{}` of a row is used inside a text and must be text or a number", &inner[..end]),
            )),
            None => {}
        }
        rest = &inner[end + 1..];
    }
    filled.push_str(rest);
    Node { value: Yaml::Text(filled), span: node.span.clone() }
}
