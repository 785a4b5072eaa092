//! Places in a value: JSON Pointer (RFC 6901), which also reaches CBOR maps with integer keys.

use super::Value;

/// A place in a value, as a list of reference tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Path(Vec<String>);

/// Why a text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The text is neither empty nor starts with a slash.
    #[error("a path must be empty or start with \"/\"")]
    NoSlash,
    /// A tilde is not followed by 0 or 1.
    #[error("in a path, write \"~\" as \"~0\" and \"/\" as \"~1\"")]
    BadEscape,
}

impl Path {
    /// Reads a JSON Pointer.
    ///
    /// # Errors
    ///
    /// See [`PathError`].
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Ok(Self::default());
        }
        let rest = text.strip_prefix('/').ok_or(PathError::NoSlash)?;
        rest.split('/').map(unescape).collect::<Result<_, _>>().map(Self)
    }

    /// The tokens, decoded.
    pub fn tokens(&self) -> &[String] {
        &self.0
    }

    /// This path and one more token.
    #[must_use]
    pub fn child(&self, token: impl Into<String>) -> Self {
        let mut tokens = self.0.clone();
        tokens.push(token.into());
        Self(tokens)
    }

    /// This path followed by another.
    #[must_use]
    pub fn join(&self, other: &Self) -> Self {
        Self(self.0.iter().chain(&other.0).cloned().collect())
    }

    /// The path without its last token, and that token; `None` for the whole value.
    pub fn split_last(&self) -> Option<(Self, &str)> {
        let (last, init) = self.0.split_last()?;
        Some((Self(init.to_vec()), last))
    }

    /// The value at this place.
    pub fn resolve<'v>(&self, value: &'v Value) -> Option<&'v Value> {
        self.0.iter().try_fold(value, |value, token| step(value, token))
    }

    /// The value at this place, mutable.
    pub fn resolve_mut<'v>(&self, value: &'v mut Value) -> Option<&'v mut Value> {
        self.0.iter().try_fold(value, |value, token| step_mut(value, token))
    }
}

impl std::fmt::Display for Path {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|token| write!(f, "/{}", token.replace('~', "~0").replace('/', "~1")))
    }
}

/// Whether `token` names `key`.
pub(super) fn names(token: &str, key: &Value) -> bool {
    match key {
        Value::Text(text) => text == token,
        Value::Integer(integer) => {
            // Most tokens are names, and this is asked very often.
            token.starts_with(|first: char| first.is_ascii_digit() || first == '-') && integer.to_string() == token
        }
        _ => false,
    }
}

/// `token` as an array index: plain digits without leading zeros.
pub(super) fn index(token: &str) -> Option<usize> {
    let plain = token == "0" || (!token.starts_with('0') && token.bytes().all(|byte| byte.is_ascii_digit()));
    plain.then(|| token.parse().ok()).flatten()
}

fn step<'v>(value: &'v Value, token: &str) -> Option<&'v Value> {
    match value {
        Value::Map(members) => members.iter().find(|(key, _)| names(token, key)).map(|(_, value)| value),
        Value::Array(items) => items.get(index(token)?),
        Value::Tag(_, inner) => step(inner, token),
        _ => None,
    }
}

fn step_mut<'v>(value: &'v mut Value, token: &str) -> Option<&'v mut Value> {
    match value {
        Value::Map(members) => members.iter_mut().find(|(key, _)| names(token, key)).map(|(_, value)| value),
        Value::Array(items) => items.iter_mut().nth(index(token)?),
        Value::Tag(_, inner) => step_mut(inner, token),
        _ => None,
    }
}

fn unescape(token: &str) -> Result<String, PathError> {
    let mut parts = token.split('~');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (replacement, rest) = match part.as_bytes().first() {
            Some(b'0') => ('~', &part[1..]),
            Some(b'1') => ('/', &part[1..]),
            _ => return Err(PathError::BadEscape),
        };
        text.push(replacement);
        text.push_str(rest);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_reach_members_elements_and_integer_keys() {
        let value = Value::map([(
            "a/b",
            Value::Array(vec![Value::Map(vec![(Value::Integer(7), Value::text("seven"))].into())].into()),
        )]);
        let path = Path::parse("/a~1b/0/7").unwrap();
        assert_eq!(path.resolve(&value), Some(&Value::text("seven")));
        assert_eq!(path.to_string(), "/a~1b/0/7");
        assert_eq!(Path::parse("/a~1b/00").unwrap().resolve(&value), None);
        assert_eq!(Path::parse("").unwrap().resolve(&value), Some(&value));
    }

    #[test]
    fn invalid_pointers_are_rejected() {
        assert_eq!(Path::parse("a"), Err(PathError::NoSlash));
        assert_eq!(Path::parse("/~2"), Err(PathError::BadEscape));
        assert_eq!(Path::parse("/~"), Err(PathError::BadEscape));
    }
}
