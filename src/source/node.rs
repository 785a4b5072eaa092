//! The tree of a data file: nodes with places.

use super::Span;
use crate::value::Value;

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
            Value::Text(text) => Yaml::Text(text.to_string()),
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
            Yaml::Text(text) => Value::text(text.clone()),
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
