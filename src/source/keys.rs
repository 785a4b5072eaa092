//! Tables of the keys of data files: the readers check them, and the JSON Schemas and the manual are generated from
//! them.
//!
//! A [`Shape`] describes one kind of map, such as a case or a step. Readers open a map with `Fields::new(node, &SHAPE,
//! …)`, so a key outside the table cannot be read, and a key in the table is never unknown.

/// One kind of map in a data file.
#[derive(Debug)]
pub struct Shape {
    /// Its name in messages, with an article: `a case`.
    pub name: &'static str,
    /// The name of its definition in the JSON Schema.
    pub title: &'static str,
    /// Its description, in one sentence.
    pub about: &'static str,
    /// Its keys, in their usual order.
    pub keys: &'static [KeyRow],
    /// The meaning of keys outside the table.
    pub others: Others,
    /// Keys of which the map must have one or more.
    pub choice: Choice,
    /// `(key, word, other)`: where `key` is `word`, `other` is required.
    pub implies: &'static [(&'static str, &'static str, &'static str)],
    /// Whether `${row.NAME}` may stand for a value, because the map belongs to a table of cases.
    pub rows: bool,
}

impl Shape {
    /// An empty shape, as the base of struct update syntax.
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

/// The meaning of keys outside the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    /// They are errors.
    Mistakes,
    /// They are arbitrary names chosen by the author.
    Own,
    /// They are listed elsewhere: matchers, or the keys of a kind of vector. The reader looks them up.
    Listed,
}

/// A rule on how many of some keys a map must have.
#[derive(Clone, Copy, Debug)]
pub enum Choice {
    /// No rule.
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
    /// The kind of its value.
    pub kind: Kind,
    /// Whether it is required.
    pub required: bool,
    /// The default.
    pub default: Option<&'static str>,
    /// Its description, in one sentence.
    pub about: &'static str,
    /// The key with an example value.
    pub example: &'static str,
    /// Earlier names; using one is an error that suggests this one.
    pub formerly: &'static [&'static str],
}

impl KeyRow {
    /// An optional key.
    pub const fn new(name: &'static str, kind: Kind, about: &'static str, example: &'static str) -> Self {
        Self { name, kind, required: false, default: None, about, example, formerly: &[] }
    }

    /// The same key, required.
    #[must_use]
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }

    /// The same key, with a default.
    #[must_use]
    pub const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    /// The same key, with its earlier names.
    #[must_use]
    pub const fn formerly(mut self, names: &'static [&'static str]) -> Self {
        self.formerly = names;
        self
    }
}

/// The kind of the value of a key.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A text.
    Text,
    /// A text that matches a regular expression.
    Pattern(&'static str),
    /// One of several words, each with its meaning.
    Word(&'static [(&'static str, &'static str)]),
    /// One or several of several words.
    Words(&'static [(&'static str, &'static str)]),
    /// One text, or a list of texts.
    Texts,
    /// A non-negative integer.
    Number,
    /// Exactly this number.
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
    /// The description of the kind, for the manual.
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

    /// The shape of its maps, if any.
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

/// Every shape reachable from `root`, starting with `root`, without duplicates.
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
