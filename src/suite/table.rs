//! Tables of cases: `for-each` turns one case into one case per row.
//! Rows are substituted before the case is read, so that a row may hold any part of a case: an id, a list of edits, a
//! whole expectation. Places remain those of the
//! row.

use crate::source::{Diagnostic, Key, Node, Problems, Yaml};

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

fn fill_text(node: &Node, text: &str, row: &Node, problems: &mut Problems) -> Node {
    const OPEN: &str = "${row.";
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
