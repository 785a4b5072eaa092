//! Values as suites write them, templates included.

use super::keys::BUILT;
use crate::source::{Diagnostic, Fields, Node, Problems, Span, Yaml};
use crate::value::{Path, Value};
use crate::wire::json;

/// A value as a suite writes it, not yet rendered.
#[derive(Clone, Debug)]
pub enum Expr {
    /// A value without templates.
    Constant(Value),
    /// Text with templates.
    Template(Template, Span),
    /// A list that contains templates.
    List(Vec<Self>),
    /// A map whose names or values contain templates.
    Map(Vec<(Self, Self)>),
    /// `{ base: NAME, set: {…}, remove: […] }`: a named object of the protocol, or a binding, with changes.
    Built {
        /// The object or binding.
        base: String,
        /// Places to set, in order.
        set: Vec<(Path, Self)>,
        /// Places to remove, after setting.
        remove: Vec<Path>,
        /// Where it is written.
        span: Span,
    },
}

/// Text with `${…}` in it.
#[derive(Clone, Debug)]
pub struct Template {
    pub(super) parts: Vec<Part>,
}

#[derive(Clone, Debug)]
pub(super) enum Part {
    Text(String),
    /// The words between the braces: a binding with an optional path, or a function with its arguments.
    Call(Vec<String>),
}

/// Why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A `${` without the closing brace.
    #[error("`${{` without a closing brace")]
    Unclosed,
    /// A `${}`.
    #[error("empty template `${{}}`")]
    Empty,
}

impl Template {
    /// Reads a template. `$${` escapes `${`.
    ///
    /// # Errors
    ///
    /// See [`TemplateError`].
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("${") {
            if rest[..at].ends_with('$') {
                literal.push_str(&rest[..at]);
                literal.push('{');
                rest = &rest[at + 2..];
                continue;
            }
            literal.push_str(&rest[..at]);
            let inner = &rest[at + 2..];
            let end = inner.find('}').ok_or(TemplateError::Unclosed)?;
            let words: Vec<String> = inner[..end].split_whitespace().map(str::to_owned).collect();
            if words.is_empty() {
                return Err(TemplateError::Empty);
            }
            if !literal.is_empty() {
                parts.push(Part::Text(std::mem::take(&mut literal)));
            }
            parts.push(Part::Call(words));
            rest = &inner[end + 1..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Ok(Self { parts })
    }

    fn is_constant(&self) -> bool {
        self.parts.iter().all(|part| matches!(part, Part::Text(_)))
    }
}

impl Expr {
    /// Reads an expression: `{ json: TEXT }`, `{ base: NAME, … }`, or any YAML, with templates in its texts and names.
    pub fn read(node: &Node, problems: &mut Problems) -> Self {
        match &node.value {
            Yaml::Text(text) => Self::template(text, &node.span, problems),
            Yaml::Sequence(items) => simplify_list(items.iter().map(|item| Self::read(item, problems)).collect()),
            Yaml::Map(members) => match members.as_slice() {
                [(key, value)] if key.name == "json" => Self::json(value, problems),
                _ if members.iter().any(|(key, _)| key.name == "base") => Self::built(node, problems),
                _ => simplify_map(
                    members
                        .iter()
                        .map(|(key, value)| {
                            (Self::template(&key.name, &key.span, problems), Self::read(value, problems))
                        })
                        .collect(),
                ),
            },
            Yaml::Null | Yaml::Bool(_) | Yaml::Number(_) => Self::Constant(node.to_value()),
        }
    }

    /// Reads a JSON text whose strings and names may hold templates.
    pub fn json(node: &Node, problems: &mut Problems) -> Self {
        let Yaml::Text(text) = &node.value else {
            problems.note(Diagnostic::new(&node.span, format!("`json` must be a text with JSON, not {}", node.kind())));
            return Self::Constant(Value::Null);
        };
        match json::parse(text.as_bytes()) {
            Ok(value) => Self::lift(&value, &node.span, problems),
            Err(error) => {
                problems.note(Diagnostic::new(&node.span, format!("invalid JSON: {error}")));
                Self::Constant(Value::Null)
            }
        }
    }

    fn lift(value: &Value, span: &Span, problems: &mut Problems) -> Self {
        match value {
            Value::Text(text) => Self::template(text, span, problems),
            Value::Array(items) => simplify_list(items.iter().map(|item| Self::lift(item, span, problems)).collect()),
            Value::Map(members) => simplify_map(
                members
                    .iter()
                    .map(|(key, value)| (Self::lift(key, span, problems), Self::lift(value, span, problems)))
                    .collect(),
            ),
            other => Self::Constant(other.clone()),
        }
    }

    fn template(text: &str, span: &Span, problems: &mut Problems) -> Self {
        match Template::parse(text) {
            Ok(template) if template.is_constant() => {
                let text = template.parts.iter().map(|part| match part {
                    Part::Text(text) => text.as_str(),
                    Part::Call(_) => "",
                });
                Self::Constant(Value::Text(text.collect()))
            }
            Ok(template) => Self::Template(template, span.clone()),
            Err(error) => {
                problems.note(Diagnostic::new(span, error.to_string()).hint("to write `${` literally, use `$${`"));
                Self::Constant(Value::Null)
            }
        }
    }

    fn built(node: &Node, problems: &mut Problems) -> Self {
        let mut fields = Fields::new(node, &BUILT, problems);
        let base = fields.required_text("base", problems);
        let mut set = Vec::new();
        if let Some(node) = fields.take("set") {
            if let Yaml::Map(members) = &node.value {
                for (key, value) in members {
                    if let Some(path) = read_path(&key.name, &key.span, problems) {
                        set.push((path, Self::read(value, problems)));
                    }
                }
            } else {
                problems.note(Diagnostic::new(&node.span, "`set` must be a map from places to values"));
            }
        }
        let remove =
            fields.texts("remove", problems).iter().filter_map(|text| read_path(text, &text.span, problems)).collect();
        fields.finish(problems);
        Self::Built { base: base.map(|text| text.value).unwrap_or_default(), set, remove, span: node.span.clone() }
    }

    /// The value, if it has no templates.
    pub fn constant(&self) -> Option<&Value> {
        match self {
            Self::Constant(value) => Some(value),
            _ => None,
        }
    }

    /// Visits every `${…}` of the expression, with its words: a name or function, and its arguments.
    pub fn visit<'e>(&'e self, visitor: &mut dyn FnMut(&'e [String], &'e Span)) {
        match self {
            Self::Constant(_) => {}
            Self::Template(template, span) => {
                for part in &template.parts {
                    if let Part::Call(words) = part {
                        visitor(words, span);
                    }
                }
            }
            Self::List(items) => items.iter().for_each(|item| item.visit(visitor)),
            Self::Map(members) => members.iter().for_each(|(name, value)| {
                name.visit(visitor);
                value.visit(visitor);
            }),
            Self::Built { base, set, span, .. } => {
                visitor(std::slice::from_ref(base), span);
                set.iter().for_each(|(_, value)| value.visit(visitor));
            }
        }
    }
}

/// Reads a path; notes a problem if it is invalid, or holds a template, which has no value there.
pub fn read_path(text: &str, span: &Span, problems: &mut Problems) -> Option<Path> {
    if text.contains("${") {
        problems.note(
            Diagnostic::new(span, format!("a place has no expressions, and `{text}` has one"))
                .hint("write a row for each place: `${row.…}` is filled in anywhere"),
        );
        return None;
    }
    match Path::parse(text) {
        Ok(path) => Some(path),
        Err(error) => {
            problems.note(Diagnostic::new(span, format!("invalid path `{text}`: {error}")));
            None
        }
    }
}

fn simplify_list(items: Vec<Expr>) -> Expr {
    if items.iter().all(|item| item.constant().is_some()) {
        Expr::Constant(Value::Array(items.iter().filter_map(Expr::constant).cloned().collect()))
    } else {
        Expr::List(items)
    }
}

fn simplify_map(members: Vec<(Expr, Expr)>) -> Expr {
    if members.iter().all(|(name, value)| name.constant().is_some() && value.constant().is_some()) {
        Expr::Constant(Value::Map(
            members
                .into_iter()
                .filter_map(|(name, value)| Some((name.constant()?.clone(), value.constant()?.clone())))
                .collect(),
        ))
    } else {
        Expr::Map(members)
    }
}
