//! The JSON values of this crate: a tree that keeps everything that a sender wrote, except white space and escapes.
//!
//! Members keep their order and numbers keep their spelling, because a package must be returned as it was
//! submitted. Reading is strict ([`read`]); writing is compact ([`Value::write`]). The canonical form used
//! for hashing is a rule of one protocol and lives there (`agentic::canonical`), not here.
//!
//! Start reading at [`Value`].

mod reader;
#[cfg(test)]
mod tests;
mod writer;

pub(crate) use reader::{DEPTH_LIMIT, ReadError, ReadErrorKind, read, read_exactly, read_leniently, read_to_depth};
pub(crate) use writer::push_character;

/// One JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was spelled.
    Number(Number),
    /// A string, its escapes decoded.
    Text(String),
    /// An array.
    List(Vec<Value>),
    /// An object.
    Object(Object),
}

/// A JSON number: its spelling, which is known to denote a finite double unless [`read_exactly`] read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Number(String);

impl Number {
    /// A number of any size from its spelling; `None` if JSON does not spell numbers so.
    #[must_use]
    pub(crate) fn spelled(text: &str) -> Option<Self> {
        match read_exactly(text.as_bytes(), 0) {
            Ok(Value::Number(number)) => Some(number),
            _ => None, // another value, or not JSON
        }
    }

    /// The number as it was written.
    #[must_use]
    pub(crate) fn spelling(&self) -> &str {
        &self.0
    }

    /// The nearest IEEE 754 double; infinite only for a number of [`read_exactly`].
    #[must_use]
    pub(crate) fn as_f64(&self) -> f64 {
        self.0.parse().unwrap_or(0.0)
    }

    /// The value as an integer, whatever the spelling: `5`, `5.0` and `50e-1` are all 5.
    ///
    /// `None` for fractions and beyond the range in which a double holds every integer.
    #[must_use]
    pub(crate) fn as_integer(&self) -> Option<i64> {
        const LIMIT: f64 = 9_007_199_254_740_992.0;
        let double = self.as_f64();
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked on the same line")]
        (double.fract() == 0.0 && double.abs() < LIMIT).then_some(double as i64)
    }
}

impl Number {
    /// A number from 0 to 1 with at most four decimals.
    #[must_use]
    pub(crate) fn from_share(share: f64) -> Self {
        let text = format!("{:.4}", share.clamp(0.0, 1.0));
        let text = text.trim_end_matches('0');
        Self(if text.ends_with('.') { format!("{text}0") } else { text.to_owned() })
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Self(value.to_string())
    }
}

/// The members of a JSON object in the order in which they were written; no name occurs twice.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Object(Vec<(String, Value)>);

impl Object {
    /// An object without members.
    #[must_use]
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// The member `name`, even if its value is `null`.
    #[must_use]
    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The member called `name` for changing it in place.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// The member called `name`, unless it is absent or `null`.
    #[must_use]
    pub(crate) fn present(&self, name: &str) -> Option<&Value> {
        self.get(name).filter(|value| !matches!(value, Value::Null))
    }

    /// The string member `name`, if any.
    #[must_use]
    pub(crate) fn text(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_text)
    }

    /// Replaces the member `name` in place, or adds it at the end.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<Value>) {
        match self.get_mut(name) {
            Some(place) => *place = value.into(),
            None => self.0.push((name.to_owned(), value.into())),
        }
    }

    /// Takes the member called `name` out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Keeps the members for which `keep` holds.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&str, &mut Value) -> bool) {
        self.0.retain_mut(|(name, value)| keep(name, value));
    }

    /// Every member in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The number of members.
    #[must_use]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no members.
    #[must_use]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds a member that is known to be new.
    fn push(&mut self, name: String, value: Value) {
        self.0.push((name, value));
    }
}

impl Value {
    /// The string, if this is one.
    #[must_use]
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None, // every other kind
        }
    }

    /// The elements, if this is an array.
    #[must_use]
    pub(crate) fn as_list(&self) -> Option<&[Value]> {
        match self {
            Self::List(items) => Some(items),
            _ => None, // every other kind
        }
    }

    /// The members, if this is an object.
    #[must_use]
    pub(crate) fn as_object(&self) -> Option<&Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None, // every other kind
        }
    }

    /// The members for changing them, if this is an object.
    pub(crate) fn as_object_mut(&mut self) -> Option<&mut Object> {
        match self {
            Self::Object(object) => Some(object),
            _ => None, // every other kind
        }
    }

    /// The number, if this is one.
    #[must_use]
    pub(crate) fn as_number(&self) -> Option<&Number> {
        match self {
            Self::Number(number) => Some(number),
            _ => None, // every other kind
        }
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Self::Number(number)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Number(value.into())
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<Object> for Value {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Self::List(items)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Object {
    /// The names must differ; this is for answers that the program itself composes.
    fn from(members: [(&str, Value); N]) -> Self {
        Self(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

impl FromIterator<(String, Value)> for Object {
    fn from_iter<I: IntoIterator<Item = (String, Value)>>(members: I) -> Self {
        let mut object = Self::new();
        for (name, value) in members {
            object.set(&name, value);
        }
        object
    }
}
