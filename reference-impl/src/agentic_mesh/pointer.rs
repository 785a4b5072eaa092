//! JSON Pointers (RFC 6901) into a message.

use crate::json::{Object, Value};

/// The tokens of a pointer; `None` if the text is not one.
#[must_use]
pub(crate) fn tokens(pointer: &str) -> Option<Vec<String>> {
    let rest = pointer.strip_prefix('/')?;
    Some(rest.split('/').map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// The value that `pointer` names below an object.
#[must_use]
pub(crate) fn get<'v>(top: &'v Object, pointer: &str) -> Option<&'v Value> {
    let tokens = tokens(pointer)?;
    let (first, rest) = tokens.split_first()?;
    rest.iter().try_fold(top.get(first)?, |value, token| match value {
        Value::Object(object) => object.get(token),
        Value::List(items) => items.get(token.parse::<usize>().ok()?),
        _ => None, // a value without parts
    })
}

/// The same for changing it.
pub(crate) fn get_mut<'v>(top: &'v mut Object, pointer: &str) -> Option<&'v mut Value> {
    let tokens = tokens(pointer)?;
    let (first, rest) = tokens.split_first()?;
    rest.iter().try_fold(top.get_mut(first)?, |value, token| match value {
        Value::Object(object) => object.get_mut(token),
        Value::List(items) => items.get_mut(token.parse::<usize>().ok()?),
        _ => None, // a value without parts
    })
}

/// The pointer to the parent, and the last token.
#[must_use]
pub(crate) fn split(pointer: &str) -> Option<(&str, String)> {
    let at = pointer.rfind('/')?;
    let last = tokens(&pointer[at..])?.pop()?;
    Some((&pointer[..at], last))
}
