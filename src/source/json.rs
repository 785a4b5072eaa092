//! JSON data files as the same located tree as YAML ones.

use std::sync::Arc;

use super::node::{Key, Node, Yaml};
use super::{Diagnostic, Source, Span};
use crate::value::Value;
use crate::wire::json::{OddityKind, read_with_spans};

/// Reads one JSON document.
///
/// # Errors
///
/// The first syntax error, or every repeated member name.
pub fn parse_json(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    let (document, spans) = read_with_spans(source.text.as_bytes()).map_err(|error| {
        let span = Span::new(source, error.offset, error.offset + 1);
        vec![Diagnostic::new(&span, format!("invalid JSON: {}", error.reason))]
    })?;
    let repeated: Vec<_> = document
        .oddities
        .iter()
        .filter_map(|oddity| match &oddity.kind {
            OddityKind::DuplicateMember(name) => {
                let span = Span::new(source, oddity.offset, oddity.offset + name.len() + 2);
                Some(Diagnostic::new(&span, format!("the key `{name}` is defined twice")))
            }
            _ => None,
        })
        .collect();
    if !repeated.is_empty() {
        return Err(repeated);
    }
    let mut spans = spans.into_iter().map(|(start, end)| Span::new(source, start, end));
    Ok(locate(document.value, &mut spans, &Span::file(source)))
}

/// Combines a value with its spans, which are in the same order.
fn locate(value: Value, spans: &mut dyn Iterator<Item = Span>, whole: &Span) -> Node {
    let mut next = || spans.next().unwrap_or_else(|| whole.clone());
    let span = next();
    let value = match value {
        Value::Bool(flag) => Yaml::Bool(flag),
        Value::Text(text) => Yaml::Text(text.into()),
        Value::Array(items) => Yaml::Sequence(items.into_iter().map(|item| locate(item, spans, whole)).collect()),
        Value::Map(members) => Yaml::Map(
            members
                .into_iter()
                .map(|(key, value)| {
                    let name = key.as_text().unwrap_or_default().to_owned();
                    let span = spans.next().unwrap_or_else(|| whole.clone());
                    (Key { name, span }, locate(value, spans, whole))
                })
                .collect(),
        ),
        number @ (Value::Integer(_) | Value::Decimal(_)) => Yaml::Number(number),
        _ => Yaml::Null,
    };
    Node { value, span }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_have_places() {
        let text = "{\n  \"a\": [1, {\"b\": \"\\ud83d\\ude80\"}]\n}";
        let source = Arc::new(Source { name: "v.json".into(), text: text.into() });
        let node = parse_json(&source).unwrap();
        let inner = node.member("a").unwrap();
        let Yaml::Sequence(items) = &inner.value else { panic!() };
        let b = items[1].member("b").unwrap();
        assert_eq!(b.span.place(), "v.json:2:18");
        assert_eq!(b.value, Yaml::Text("🚀".into()));
    }
}
