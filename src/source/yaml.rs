//! YAML with spans: a tree whose nodes have places.

use std::sync::Arc;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::{Diagnostic, Source, Span};
use crate::value::Value;
use crate::wire::json;

/// A node of a YAML file.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Its content.
    pub value: Yaml,
    /// Its place.
    pub span: Span,
}

/// The content of a node.
#[derive(Clone, Debug, PartialEq)]
pub enum Yaml {
    /// An empty node, `null` or `~`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in JSON's notation, with its spelling kept.
    Number(Value),
    /// Text.
    Text(String),
    /// A sequence.
    Sequence(Vec<Node>),
    /// A mapping. Keys are unique; the reader rejects duplicates.
    Map(Vec<(Key, Node)>),
}

/// A key of a mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// Its text.
    pub name: String,
    /// Its place.
    pub span: Span,
}

impl Node {
    /// Its kind, for messages.
    pub fn kind(&self) -> &'static str {
        match self.value {
            Yaml::Null => "nothing",
            Yaml::Bool(_) => "true or false",
            Yaml::Number(_) => "a number",
            Yaml::Text(_) => "text",
            Yaml::Sequence(_) => "a list",
            Yaml::Map(_) => "a map",
        }
    }

    /// A value as a node that is at one place, as if the file of `span` had it there.
    pub fn of(value: &Value, span: &Span) -> Self {
        let name = |key: &Value| key.as_text().unwrap_or_default().to_owned();
        let value = match value {
            Value::Null => Yaml::Null,
            Value::Bool(flag) => Yaml::Bool(*flag),
            Value::Text(text) => Yaml::Text(text.clone()),
            Value::Array(items) => Yaml::Sequence(items.iter().map(|item| Self::of(item, span)).collect()),
            Value::Map(members) => {
                let member = |(key, value): &(Value, Value)| {
                    (Key { name: name(key), span: span.clone() }, Self::of(value, span))
                };
                Yaml::Map(members.iter().map(member).collect())
            }
            other => Yaml::Number(other.clone()),
        };
        Self { value, span: span.clone() }
    }

    /// The node as a value, without places.
    pub fn to_value(&self) -> Value {
        match &self.value {
            Yaml::Null => Value::Null,
            Yaml::Bool(flag) => Value::Bool(*flag),
            Yaml::Number(number) => number.clone(),
            Yaml::Text(text) => Value::Text(text.clone()),
            Yaml::Sequence(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            Yaml::Map(members) => {
                Value::Map(members.iter().map(|(key, node)| (Value::text(&key.name), node.to_value())).collect())
            }
        }
    }

    /// The member `name`, if this is a mapping.
    pub fn member(&self, name: &str) -> Option<&Self> {
        match &self.value {
            Yaml::Map(members) => members.iter().find(|(key, _)| key.name == name).map(|(_, node)| node),
            _ => None,
        }
    }

    /// The span of the deepest existing node on the way to `path`.
    pub fn span_at(&self, path: &crate::value::Path) -> Span {
        let mut node = self;
        for token in path.tokens() {
            let next = match &node.value {
                Yaml::Map(members) => members.iter().find(|(key, _)| key.name == *token).map(|(_, node)| node),
                Yaml::Sequence(items) => token.parse().ok().and_then(|index: usize| items.get(index)),
                _ => None,
            };
            match next {
                Some(next) => node = next,
                None => break,
            }
        }
        node.span.clone()
    }
}

/// Reads one YAML document.
///
/// # Errors
///
/// The first syntax error, or every number that is not in JSON notation.
pub fn parse(source: &Arc<Source>) -> Result<Node, Vec<Diagnostic>> {
    let options = serde_saphyr::options! { with_snippet: false, strict_booleans: true };
    let raw: Spanned<Raw> = serde_saphyr::from_str_with_options(&source.text, options).map_err(|error| {
        let span = error.location().map_or_else(
            || Span::file(source),
            |location| match location.span().byte_offset() {
                Some(start) => span_of(source, start, 1),
                None => at_line_column(source, location.line(), location.column()),
            },
        );
        vec![Diagnostic::new(&span, one_line(&error.without_snippet().to_string()))]
    })?;
    let mut problems = Vec::new();
    let node = convert(source, raw, &mut problems);
    if problems.is_empty() { Ok(node) } else { Err(problems) }
}

/// The message without the place that the parser adds; the diagnostic shows it better.
fn one_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    let line = line.split(" at line ").next().unwrap_or(line);
    line.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c == ' ').to_owned()
}

fn span_of(source: &Arc<Source>, start: u64, length: u64) -> Span {
    let start = usize::try_from(start).unwrap_or(usize::MAX);
    let length = usize::try_from(length).unwrap_or(0);
    Span::new(source, start, start.saturating_add(length))
}

fn at_line_column(source: &Arc<Source>, line: u64, column: u64) -> Span {
    let line = usize::try_from(line).unwrap_or(1).max(1);
    let column = usize::try_from(column).unwrap_or(1).max(1);
    let start: usize = source.text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    let in_line =
        source.text.get(start..).unwrap_or_default().chars().take(column - 1).map(char::len_utf8).sum::<usize>();
    Span::new(source, start + in_line, start + in_line + 1)
}

fn convert(source: &Arc<Source>, raw: Spanned<Raw>, problems: &mut Vec<Diagnostic>) -> Node {
    let location = raw.referenced.span();
    let span = match (location.byte_offset(), location.byte_len()) {
        (Some(start), Some(length)) => span_of(source, start, length.max(1)),
        _ => at_line_column(source, raw.referenced.line(), raw.referenced.column()),
    };
    let value = match raw.value {
        Raw::Null => Yaml::Null,
        Raw::Bool(flag) => Yaml::Bool(flag),
        Raw::Number => {
            // YAML has more notations than JSON (017, 1_000, .5, .inf); only the common ones are accepted, so that
            // the number sent is the number written.
            // For an alias, this is the place of its anchor.
            let defined = raw.defined.span();
            let there = match (defined.byte_offset(), defined.byte_len()) {
                (Some(start), Some(length)) => span_of(source, start, length.max(1)),
                _ => span.clone(),
            };
            let written = there.text().trim();
            match json::parse(written.as_bytes()) {
                Ok(number) if number.is_number() => Yaml::Number(number),
                _ => {
                    problems.push(
                        Diagnostic::new(&span, format!("the number {written} is not in JSON notation"))
                            .hint("if it is text, write it in quotes"),
                    );
                    Yaml::Null
                }
            }
        }
        Raw::Text(text) => Yaml::Text(text),
        Raw::Sequence(items) => Yaml::Sequence(items.into_iter().map(|item| convert(source, item, problems)).collect()),
        Raw::Map(members) => Yaml::Map(
            members
                .into_iter()
                .map(|(key, value)| {
                    let location = key.referenced.span();
                    let span = match (location.byte_offset(), location.byte_len()) {
                        (Some(start), Some(length)) => span_of(source, start, length.max(1)),
                        _ => at_line_column(source, key.referenced.line(), key.referenced.column()),
                    };
                    (Key { name: key.value, span }, convert(source, value, problems))
                })
                .collect(),
        ),
    };
    Node { value, span }
}

enum Raw {
    Null,
    Bool(bool),
    Number,
    Text(String),
    Sequence(Vec<Spanned<Self>>),
    Map(Vec<(Spanned<String>, Spanned<Self>)>),
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RawVisitor)
    }
}

struct RawVisitor;

impl<'de> Visitor<'de> for RawVisitor {
    type Value = Raw;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a YAML node")
    }

    fn visit_unit<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_none<E>(self) -> Result<Raw, E> {
        Ok(Raw::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Raw, D::Error> {
        Raw::deserialize(deserializer)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Raw, E> {
        Ok(Raw::Bool(flag))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Raw, E> {
        Ok(Raw::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Raw::Sequence(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Raw, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = access.next_entry()? {
            members.push(member);
        }
        Ok(Raw::Map(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Arc<Source> {
        Arc::new(Source { name: "t.yaml".into(), text: text.into() })
    }

    #[test]
    fn a_number_behind_an_alias_is_read_at_its_anchor() {
        let text = "a: &row { n: 0.90, list: [1, 2] }\nb: *row\n";
        let source = Arc::new(Source { name: "x.yaml".into(), text: text.into() });
        let node = parse(&source).expect("no mistake");
        assert_eq!(node.member("b").map(Node::to_value), node.member("a").map(Node::to_value));
    }

    #[test]
    fn every_node_has_a_place() {
        let text = "cases:\n  - case: é-x\n    covers: [A, B]\n    n: 5.0\n    t: 'q'\n";
        let node = parse(&source(text)).unwrap();
        let cases = node.member("cases").unwrap();
        let Yaml::Sequence(items) = &cases.value else { panic!() };
        let case = items[0].member("case").unwrap();
        assert_eq!((case.span.place().as_str(), case.span.text()), ("t.yaml:2:11", "é-x"));
        let covers = items[0].member("covers").unwrap();
        let Yaml::Sequence(ids) = &covers.value else { panic!() };
        assert_eq!((ids[1].span.place().as_str(), ids[1].span.text()), ("t.yaml:3:17", "B"));
        assert_eq!(items[0].member("n").unwrap().value, Yaml::Number(Value::Decimal("5.0".into())));
        assert_eq!(items[0].member("t").unwrap().value, Yaml::Text("q".into()));
        assert_eq!(items[0].span.line_column().0, 2);
    }

    #[test]
    fn numbers_outside_json_notation_are_rejected() {
        for number in ["017", "1_000", "0x1f", ".5", ".inf", "+1"] {
            let Err(problems) = parse(&source(&format!("n: {number}\n"))) else { panic!("{number} was read") };
            assert_eq!(problems[0].span.place(), "t.yaml:1:4", "{number}");
        }
    }

    #[test]
    fn words_stay_text_and_repeated_keys_are_rejected() {
        let node = parse(&source("a: no\nb: yes\nc: ~\nd: 1e400x\ne: on\n")).unwrap();
        assert_eq!(node.member("a").unwrap().value, Yaml::Text("no".into()));
        assert_eq!(node.member("e").unwrap().value, Yaml::Text("on".into()));
        assert_eq!(node.member("c").unwrap().value, Yaml::Null);
        let problems = parse(&source("a: 1\nb: 2\na: 3\n")).unwrap_err();
        assert_eq!(problems[0].span.line_column(), (3, 1), "{problems:?}");
    }

    #[test]
    fn a_syntax_error_has_a_place() {
        let problems = parse(&source("a: [1, 2\nb: 3\n")).unwrap_err();
        assert!(problems[0].span.line_column().0 >= 1, "{problems:?}");
    }
}
