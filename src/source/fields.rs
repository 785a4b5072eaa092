//! Taking a map of a data file apart, and noting every mistake on the way.

use super::{Diagnostic, Located, Node, Span, Yaml};
use crate::suggest::nearest;

/// The mistakes found so far.
#[derive(Debug, Default)]
pub struct Problems(pub Vec<Diagnostic>);

impl Problems {
    /// Notes one more. The same mistake at the same place is noted once, since a table of cases is read once a row.
    pub fn note(&mut self, diagnostic: Diagnostic) {
        if !self.0.contains(&diagnostic) {
            self.0.push(diagnostic);
        }
    }

    /// `value` if nothing is wrong, else everything that is.
    ///
    /// # Errors
    ///
    /// The diagnostics noted, if there are any.
    pub fn check<T>(self, value: T) -> Result<T, Vec<Diagnostic>> {
        if self.0.is_empty() { Ok(value) } else { Err(self.0) }
    }
}

/// The members of one map. Every key has to be asked for; [`Fields::finish`] reports the others.
pub struct Fields<'n> {
    what: &'static str,
    span: Span,
    members: Vec<(&'n super::Key, &'n Node)>,
    asked: Vec<&'static str>,
}

impl<'n> Fields<'n> {
    /// The members of `node`, which should be `what` ("a case"). Notes a problem and has no members if it is no map.
    pub fn new(node: &'n Node, what: &'static str, problems: &mut Problems) -> Self {
        #[cfg(test)]
        asked::begin(what);
        let members = match &node.value {
            Yaml::Map(members) => members.iter().map(|(key, node)| (key, node)).collect(),
            _ => {
                problems.note(Diagnostic::new(&node.span, format!("{what} is a map, not {}", node.kind())));
                Vec::new()
            }
        };
        Self { what, span: node.span.clone(), members, asked: Vec::new() }
    }

    /// Where the map starts.
    pub fn span(&self) -> &Span {
        &self.span
    }

    /// The member `name`, if it is there.
    pub fn take(&mut self, name: &'static str) -> Option<&'n Node> {
        self.asked.push(name);
        #[cfg(test)]
        asked::note(self.what, name, false);
        let at = self.members.iter().position(|(key, _)| key.name == name)?;
        Some(self.members.remove(at).1)
    }

    /// The member `name`; a problem if it is not there.
    pub fn require(&mut self, name: &'static str, problems: &mut Problems) -> Option<&'n Node> {
        let found = self.take(name);
        #[cfg(test)]
        asked::note(self.what, name, true);
        if found.is_none() {
            let message = format!("{} needs a `{name}`", self.what);
            problems.note(Diagnostic::new(&self.span, message));
        }
        found
    }

    /// The member `name` as text, or `None` if it is not there; a problem if it is no text.
    pub fn text(&mut self, name: &'static str, problems: &mut Problems) -> Option<Located<String>> {
        let node = self.take(name)?;
        text_of(node, name, problems)
    }

    /// The member `name` as text; a problem if it is not there.
    pub fn required_text(&mut self, name: &'static str, problems: &mut Problems) -> Option<Located<String>> {
        let node = self.require(name, problems)?;
        text_of(node, name, problems)
    }

    /// The member `name` as a list of texts; one text stands for a list of one. Empty if it is not there.
    pub fn texts(&mut self, name: &'static str, problems: &mut Problems) -> Vec<Located<String>> {
        match self.take(name) {
            None => Vec::new(),
            Some(Node { value: Yaml::Sequence(items), .. }) => {
                items.iter().filter_map(|item| text_of(item, name, problems)).collect()
            }
            Some(one) => text_of(one, name, problems).into_iter().collect(),
        }
    }

    /// The member `name` as a list. Empty if it is not there; a problem if it is no list.
    pub fn list(&mut self, name: &'static str, problems: &mut Problems) -> &'n [Node] {
        match self.take(name) {
            None => &[],
            Some(Node { value: Yaml::Sequence(items), .. }) => items,
            Some(other) => {
                problems.note(Diagnostic::new(&other.span, format!("`{name}` is a list, not {}", other.kind())));
                &[]
            }
        }
    }

    /// The member `name` as true or false; false if it is not there.
    pub fn flag(&mut self, name: &'static str, problems: &mut Problems) -> bool {
        match self.take(name) {
            None => false,
            Some(Node { value: Yaml::Bool(flag), .. }) => *flag,
            Some(other) => {
                problems.note(Diagnostic::new(&other.span, format!("`{name}` is true or false, not {}", other.kind())));
                false
            }
        }
    }

    /// The member `name` as a whole number.
    pub fn number(&mut self, name: &'static str, problems: &mut Problems) -> Option<Located<u64>> {
        let node = self.take(name)?;
        let number = match &node.value {
            Yaml::Number(number) => number.as_integer().and_then(|integer| u64::try_from(integer).ok()),
            _ => None,
        };
        if number.is_none() {
            problems.note(Diagnostic::new(&node.span, format!("`{name}` is a whole number")));
        }
        number.map(|value| Located { value, span: node.span.clone() })
    }

    /// The members that nobody asked for, for a caller that gives them meaning.
    pub fn rest(&mut self) -> Vec<(&'n super::Key, &'n Node)> {
        std::mem::take(&mut self.members)
    }

    /// Notes every member that nobody asked for.
    pub fn finish(self, problems: &mut Problems) {
        for (key, _) in &self.members {
            problems.note(unknown_key(self.what, key, &self.asked));
        }
    }

    /// Every key that was asked for.
    pub fn asked(&self) -> &[&'static str] {
        &self.asked
    }
}

/// The diagnostic for a key that `what` does not have.
pub(super) fn unknown_key(what: &str, key: &super::Key, known: &[&str]) -> Diagnostic {
    let diagnostic = Diagnostic::new(&key.span, format!("{what} has no key `{}`", key.name));
    match nearest(&key.name, known.iter().copied()) {
        Some(name) => diagnostic.did_you_mean(Some(name)),
        None => diagnostic.hint(format!("it has {}", known.join(", "))),
    }
}

fn text_of(node: &Node, name: &str, problems: &mut Problems) -> Option<Located<String>> {
    match &node.value {
        Yaml::Text(text) => Some(Located { value: text.clone(), span: node.span.clone() }),
        _ => {
            let mut diagnostic = Diagnostic::new(&node.span, format!("`{name}` is text, not {}", node.kind()));
            if matches!(node.value, Yaml::Number(_) | Yaml::Bool(_)) {
                diagnostic = diagnostic.hint("put it in quotes");
            }
            problems.note(diagnostic);
            None
        }
    }
}

/// Which keys readers ask for: what the schemas for editors are held against.
#[cfg(test)]
pub(crate) mod asked {
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    /// The keys of each kind of map ("a case"), and whether each is demanded.
    pub(crate) type Keys = BTreeMap<&'static str, BTreeMap<&'static str, bool>>;

    thread_local! {
        static KEYS: RefCell<Keys> = const { RefCell::new(Keys::new()) };
    }

    /// A map of this kind is taken apart.
    pub(super) fn begin(what: &'static str) {
        KEYS.with_borrow_mut(|keys| {
            keys.entry(what).or_default();
        });
    }

    pub(super) fn note(what: &'static str, key: &'static str, demanded: bool) {
        KEYS.with_borrow_mut(|keys| *keys.entry(what).or_default().entry(key).or_default() |= demanded);
    }

    /// Everything that readers on this thread ask for while `work` goes on.
    pub(crate) fn during(work: impl FnOnce()) -> Keys {
        KEYS.take();
        work();
        KEYS.take()
    }
}
