//! Reads the maps of data files, and collects every mistake.

use super::{Diagnostic, Kind, Located, Node, Shape, Span, Yaml};
use crate::suggest::nearest;

/// The mistakes found so far.
#[derive(Debug, Default)]
pub struct Problems(pub Vec<Diagnostic>);

impl Problems {
    /// Adds a mistake, ignoring duplicates at the same place: a table of cases is read once for each row.
    pub fn note(&mut self, diagnostic: Diagnostic) {
        if !self.0.contains(&diagnostic) {
            self.0.push(diagnostic);
        }
    }

    /// `value` if there are no mistakes, else all of them, in the order of the file.
    ///
    /// # Errors
    ///
    /// The collected diagnostics, if any.
    pub fn check<T>(mut self, value: T) -> Result<T, Vec<Diagnostic>> {
        Diagnostic::sort(&mut self.0);
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

/// The members of one map, read by the table of its shape. [`Fields::finish`] reports unknown ones.
pub struct Fields<'n> {
    shape: &'static Shape,
    span: Span,
    members: Vec<(&'n super::Key, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// The members of `node`, which should be a map of this shape. Reports a mistake (and has no members) if it is
    /// not a map, and one for each missing required key and each key with an earlier name.
    pub fn new(node: &'n Node, shape: &'static Shape, problems: &mut Problems) -> Self {
        #[cfg(test)]
        asked::begin(shape.name);
        let Yaml::Map(members) = &node.value else {
            problems.note(Diagnostic::new(&node.span, format!("{} must be a map, not {}", shape.name, node.kind())));
            return Self { shape, span: node.span.clone(), members: Vec::new() };
        };
        let mut members: Vec<_> = members.iter().map(|(key, node)| (key, node)).collect();
        let mut renamed = Vec::new();
        members.retain(|(key, _)| {
            let new = shape.keys.iter().find(|row| row.formerly.contains(&key.name.as_str()));
            let Some(new) = new.filter(|_| shape.key(&key.name).is_none()) else { return true };
            problems.note(
                Diagnostic::new(&key.span, format!("`{}` was renamed to `{}`", key.name, new.name))
                    .hint(format!("write `{}`", new.example)),
            );
            renamed.push(new.name);
            false
        });
        for row in shape.keys.iter().filter(|row| row.required) {
            // A misspelled key is reported once, not also as a missing one.
            let meant = |key: &super::Key| {
                shape.key(&key.name).is_none() && nearest(&key.name, shape.names()) == Some(row.name)
            };
            let found =
                renamed.contains(&row.name) || members.iter().any(|(key, _)| key.name == row.name || meant(key));
            if !found {
                problems.note(Diagnostic::new(&node.span, format!("{} needs the key `{}`", shape.name, row.name)));
            }
        }
        Self { shape, span: node.span.clone(), members }
    }

    /// The span of the map.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// Its shape.
    pub fn shape(&self) -> &'static Shape {
        self.shape
    }

    /// The member `name`, if present.
    ///
    /// # Panics
    ///
    /// In a debug build, if the table of the shape lacks the key: the reader and the table disagree.
    pub fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        debug_assert!(self.shape.key(name).is_some(), "the table of {} has no `{name}`", self.shape.name);
        #[cfg(test)]
        asked::note(self.shape.name, name);
        let at = self.members.iter().position(|(key, _)| key.name == name)?;
        Some(self.members.remove(at).1)
    }

    /// As [`Fields::take`], and checks in a debug build that the table declares the expected kind.
    fn take_as(&mut self, name: &'static str, expected: fn(&Kind) -> bool) -> Option<&'n Node> {
        debug_assert!(
            self.shape.key(name).is_some_and(|row| expected(&row.kind)),
            "`{name}` of {} is read as a kind of value that its table does not declare",
            self.shape.name
        );
        self.take(name)
    }

    /// The member `name`, required because of another key; reports a mistake if it is missing.
    pub fn require(&mut self, name: &'static str, problems: &mut Problems) -> Option<&'n Node> {
        let found = self.take(name);
        if found.is_none() && !self.shape.key(name).is_some_and(|row| row.required) {
            let message = format!("{} needs the key `{name}`", self.shape.name);
            problems.note(Diagnostic::new(&self.span, message));
        }
        found
    }

    /// The member `name` as text, or `None` if it is missing; reports a mistake if it is not text.
    pub fn text(&mut self, name: &'static str, problems: &mut Problems) -> Option<Located<String>> {
        let expected = |kind: &Kind| {
            matches!(
                kind,
                Kind::Text
                    | Kind::Pattern(_)
                    | Kind::Word(_)
                    | Kind::Duration
                    | Kind::Time
                    | Kind::VectorKind
                    | Kind::Value
            )
        };
        text_of(self.take_as(name, expected)?, name, problems)
    }

    /// The member `name` as text, required because of another key; reports a mistake if it is missing.
    pub fn required_text(&mut self, name: &'static str, problems: &mut Problems) -> Option<Located<String>> {
        let node = self.require(name, problems)?;
        text_of(node, name, problems)
    }

    /// The member `name` as a list of texts; a single text is a list of one. Empty if it is missing.
    pub fn texts(&mut self, name: &'static str, problems: &mut Problems) -> Vec<Located<String>> {
        match self.take_as(name, |kind| matches!(kind, Kind::Texts | Kind::Words(_))) {
            None => Vec::new(),
            Some(Node { value: Yaml::Sequence(items), .. }) => {
                items.iter().filter_map(|item| text_of(item, name, problems)).collect()
            }
            Some(one) => text_of(one, name, problems).into_iter().collect(),
        }
    }

    /// The member `name` as a list of texts, as read by [`Fields::texts`]; `None` if it is missing.
    pub fn texts_if_any(&mut self, name: &'static str, problems: &mut Problems) -> Option<Vec<Located<String>>> {
        let is_there = self.members.iter().any(|(key, _)| key.name == name);
        let texts = self.texts(name, problems);
        is_there.then_some(texts)
    }

    /// The member `name` as a list. Empty if it is missing; reports a mistake if it is not a list.
    pub fn list(&mut self, name: &'static str, problems: &mut Problems) -> &'n [Node] {
        match self.take_as(name, |kind| matches!(kind, Kind::Maps(_) | Kind::SomeMaps(_) | Kind::Values)) {
            None => &[],
            Some(Node { value: Yaml::Sequence(items), .. }) => items,
            Some(other) => {
                problems.note(Diagnostic::new(&other.span, format!("`{name}` must be a list, not {}", other.kind())));
                &[]
            }
        }
    }

    /// The member `name` as a boolean; false if it is missing.
    pub fn flag(&mut self, name: &'static str, problems: &mut Problems) -> bool {
        match self.take_as(name, |kind| matches!(kind, Kind::Flag)) {
            None => false,
            Some(Node { value: Yaml::Bool(flag), .. }) => *flag,
            Some(other) => {
                problems.note(Diagnostic::new(
                    &other.span,
                    format!("`{name}` must be true or false, not {}", other.kind()),
                ));
                false
            }
        }
    }

    /// The member `name` as a whole number.
    pub fn number(&mut self, name: &'static str, problems: &mut Problems) -> Option<Located<u64>> {
        let node = self.take_as(name, |kind| matches!(kind, Kind::Number | Kind::Exactly(_)))?;
        let number = match &node.value {
            Yaml::Number(number) => number.as_integer().and_then(|integer| u64::try_from(integer).ok()),
            _ => None,
        };
        if number.is_none() {
            problems.note(Diagnostic::new(&node.span, format!("`{name}` must be a non-negative integer")));
        }
        number.map(|value| Located { value, span: node.span.clone() })
    }

    /// The members that were not read yet, for a caller that interprets them.
    pub fn rest(&mut self) -> Vec<(&'n super::Key, &'n Node)> {
        std::mem::take(&mut self.members)
    }

    /// Reports every member that was not read.
    pub fn finish(self, problems: &mut Problems) {
        for (key, _) in &self.members {
            problems.note(match self.shape.key(&key.name) {
                None => unknown_key(self.shape, key),
                Some(row) => Diagnostic::new(&key.span, format!("`{}` does not apply here", key.name)).hint(row.about),
            });
        }
    }
}

/// The diagnostic for a key that `shape` does not have.
pub(super) fn unknown_key(shape: &Shape, key: &super::Key) -> Diagnostic {
    let diagnostic = Diagnostic::new(&key.span, format!("{} has no key `{}`", shape.name, key.name));
    match nearest(&key.name, shape.names()) {
        Some(name) => diagnostic.did_you_mean(Some(name)),
        None => diagnostic.hint(format!("valid keys: {}", shape.names().collect::<Vec<_>>().join(", "))),
    }
}

fn text_of(node: &Node, name: &str, problems: &mut Problems) -> Option<Located<String>> {
    match &node.value {
        Yaml::Text(text) => Some(Located { value: text.clone(), span: node.span.clone() }),
        _ => {
            let mut diagnostic = Diagnostic::new(&node.span, format!("`{name}` must be text, not {}", node.kind()));
            if matches!(node.value, Yaml::Number(_) | Yaml::Bool(_)) {
                diagnostic = diagnostic.hint("write it in quotes");
            }
            problems.note(diagnostic);
            None
        }
    }
}

/// Records the keys that readers read, to compare them with the tables.
#[cfg(test)]
pub(crate) mod asked {
    use std::cell::RefCell;
    use std::collections::{BTreeMap, BTreeSet};

    /// The keys of each kind of map ("a case").
    pub(crate) type Keys = BTreeMap<&'static str, BTreeSet<&'static str>>;

    thread_local! {
        static KEYS: RefCell<Keys> = const { RefCell::new(Keys::new()) };
    }

    /// Records that a map of this kind is read.
    pub(super) fn begin(what: &'static str) {
        KEYS.with_borrow_mut(|keys| {
            keys.entry(what).or_default();
        });
    }

    pub(super) fn note(what: &'static str, key: &'static str) {
        KEYS.with_borrow_mut(|keys| keys.entry(what).or_default().insert(key));
    }

    /// Every key that readers on this thread read during `work`.
    pub(crate) fn during(work: impl FnOnce()) -> Keys {
        KEYS.take();
        work();
        KEYS.take()
    }
}
