//! The keys of data files as tables: what the readers check, what the JSON Schemas say and what the manual lists.
//!
//! A [`Shape`] describes one kind of map, such as a case or a step. Readers open a map with `Fields::new(node, &SHAPE, …)`, so
//! a key that is in no table cannot be read, and a key that is in a table is never unknown.

/// One kind of map in a data file.
#[derive(Debug)]
pub struct Shape {
    /// With its article, as messages name it: `a case`.
    pub name: &'static str,
    /// Its definition in the JSON Schema.
    pub title: &'static str,
    /// What it is, in one sentence.
    pub about: &'static str,
    /// Its keys, in the order in which an author writes them.
    pub keys: &'static [KeyRow],
    /// What keys that are not in the table mean.
    pub others: Others,
    /// Keys of which the map has to have some.
    pub choice: Choice,
    /// `(key, word, other)`: where `key` is `word`, `other` is required.
    pub implies: &'static [(&'static str, &'static str, &'static str)],
    /// Whether `${row.NAME}` may stand for a value, because the map belongs to a table of cases.
    pub rows: bool,
}

impl Shape {
    /// A map of which nothing is known but its name, for the other members of a constant to differ from.
    pub const PLAIN: Self = Self {
        name: "",
        title: "",
        about: "",
        keys: &[],
        others: Others::Mistakes,
        choice: Choice::Any,
        implies: &[],
        rows: false,
    };

    /// The row of a key.
    pub fn key(&self, name: &str) -> Option<&KeyRow> {
        self.keys.iter().find(|row| row.name == name)
    }

    /// The names of all keys.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().map(|row| row.name)
    }
}

/// What keys outside the table mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They are mistakes.
    Mistakes,
    /// They are the author's own.
    Own,
    /// They stand in another table: matchers, or the keys of a kind of vector. The reader looks them up.
    Listed,
}

/// How many of some keys a map has.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    /// There is no such rule.
    Any,
    /// Exactly one of these.
    OneOf(&'static [&'static str]),
    /// At least one of these.
    SomeOf(&'static [&'static str]),
}

impl Choice {
    /// The keys, separated by commas, for a hint.
    pub fn list(&self) -> String {
        match self {
            Self::Any => String::new(),
            Self::OneOf(keys) | Self::SomeOf(keys) => keys.join(", "),
        }
    }
}

/// One key of a map.
#[derive(Clone, Copy, Debug)]
pub struct KeyRow {
    /// The key, in kebab-case.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Whether every map of this kind has it.
    pub required: bool,
    /// What holds where it is left out.
    pub default: Option<&'static str>,
    /// What it says, in one sentence.
    pub about: &'static str,
    /// The key with a value, as an author writes it.
    pub example: &'static str,
    /// Earlier spellings, which are mistakes that name this one.
    pub formerly: &'static [&'static str],
}

impl KeyRow {
    /// A key that may be left out.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str, example: &'static str) -> Self {
        Self { name, kind, required: false, default: None, about, example, formerly: &[] }
    }

    /// The same, and every map of this kind has it.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same, with what holds where it is left out.
    #[must_use]
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// The same, with its earlier spellings.
    #[must_use]
    pub const fn formerly(mut self, names: &'static [&'static str]) -> Self {
        self.formerly = names;
        self
    }
}

/// What the value of a key is.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// A text that matches a regular expression.
    Pattern(&'static str),
    /// One of several words, each with what it means.
    Word(&'static [(&'static str, &'static str)]),
    /// One or several of several words.
    Words(&'static [(&'static str, &'static str)]),
    /// One text, or a list of texts.
    Texts,
    /// A whole number that is not negative.
    Number,
    /// This number and no other.
    Exactly(u64),
    /// `true` or `false`.
    Flag,
    /// A duration: `250ms`, `5s`, `2m`.
    Duration,
    /// A duration, or the name of one under `timeouts` of the manifest.
    Time,
    /// Any value, with templates in its texts.
    Value,
    /// A list of any values, with templates in their texts.
    Values,
    /// Any value, without templates.
    Plain,
    /// A map of this shape.
    Map(&'static Shape),
    /// A list of maps of this shape.
    Maps(&'static Shape),
    /// As [`Kind::Maps`], with at least one.
    SomeMaps(&'static Shape),
    /// A text, or a map of this shape.
    TextOr(&'static Shape),
    /// A text, number or boolean, or a map of this shape.
    ScalarOr(&'static Shape),
    /// A map from names to values of a kind.
    Named(&'static Kind),
    /// A list of whole numbers.
    Numbers,
    /// The name of a kind of vector.
    VectorKind,
}

impl Kind {
    /// The kind in words, for the manual.
    pub fn words(&self) -> String {
        let quoted = |words: &[(&str, &str)], last: &str| {
            let words: Vec<String> = words.iter().map(|(word, _)| format!("`{word}`")).collect();
            match words.split_last() {
                Some((end, rest)) if !rest.is_empty() => format!("{} {last} {end}", rest.join(", ")),
                _ => words.concat(),
            }
        };
        match self {
            Self::Text | Self::Pattern(_) => "text".to_owned(),
            Self::Word(words) => quoted(words, "or"),
            Self::Words(words) => format!("one or several of {}", quoted(words, "and")),
            Self::Texts => "text or list of texts".to_owned(),
            Self::Number => "number".to_owned(),
            Self::Exactly(number) => format!("`{number}`"),
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Duration => "duration".to_owned(),
            Self::Time => "duration, or name of a timeout".to_owned(),
            Self::Value => "any value, with templates".to_owned(),
            Self::Values => "list of values, with templates".to_owned(),
            Self::Plain => "any value".to_owned(),
            Self::Map(shape) => shape.name.to_owned(),
            Self::Maps(shape) | Self::SomeMaps(shape) => format!("list, each {}", shape.name),
            Self::TextOr(shape) => format!("text, or {}", shape.name),
            Self::ScalarOr(shape) => format!("text, number or boolean, or {}", shape.name),
            Self::Named(kind) => format!("map from names, each to {}", kind.words()),
            Self::Numbers => "list of numbers".to_owned(),
            Self::VectorKind => "name of a kind of vector".to_owned(),
        }
    }

    /// The shapes that it leads to.
    pub fn shape(&self) -> Option<&'static Shape> {
        match self {
            Self::Map(shape)
            | Self::Maps(shape)
            | Self::SomeMaps(shape)
            | Self::TextOr(shape)
            | Self::ScalarOr(shape) => Some(shape),
            Self::Named(kind) => kind.shape(),
            _ => None,
        }
    }
}

/// Every shape that `root` leads to, itself first, each once.
pub fn reachable(root: &'static Shape) -> Vec<&'static Shape> {
    let mut found = vec![root];
    let mut next = 0;
    while let Some(shape) = found.get(next) {
        for inner in shape.keys.iter().filter_map(|row| row.kind.shape()) {
            if !found.iter().any(|known| std::ptr::eq(*known, inner)) {
                found.push(inner);
            }
        }
        next += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    static LEAF: Shape = Shape { name: "a leaf", title: "Leaf", ..Shape::PLAIN };
    static TREE: Shape = Shape {
        name: "a tree",
        title: "Tree",
        keys: &[
            KeyRow::new("leaf", Kind::Map(&LEAF), "", ""),
            KeyRow::new("trees", Kind::Named(&Kind::Maps(&TREE)), "", ""),
        ],
        ..Shape::PLAIN
    };

    #[test]
    fn a_shape_that_contains_itself_is_listed_once() {
        let names: Vec<_> = reachable(&TREE).iter().map(|shape| shape.name).collect();
        assert_eq!(names, ["a tree", "a leaf"]);
    }
}
