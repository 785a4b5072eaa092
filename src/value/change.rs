//! Changing a value at a place.

use super::path::{index, names};
use super::{Path, Value};

/// Why a change to a value, or to its bytes, failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// The path does not resolve to a value.
    #[error("cannot change {0}: no value at this path")]
    Nothing(String),
    /// The text to replace is not in the bytes.
    #[error("the message does not contain the bytes to replace")]
    NotThere,
    /// There are no bytes to change.
    #[error("the message has no body to change")]
    NoBody,
}

/// Writes `new` at `path`. Adds a missing member; `-` appends to an array.
///
/// # Errors
///
/// [`ChangeError::Nothing`] if the path has no parent that can hold the value.
pub fn set(value: &mut Value, path: &Path, new: Value) -> Result<(), ChangeError> {
    let Some((parent, last)) = path.split_last() else {
        *value = new;
        return Ok(());
    };
    if let Some(old) = path.resolve_mut(value) {
        *old = new;
        return Ok(());
    }
    match parent.resolve_mut(value) {
        Some(map @ Value::Map(_)) => map.set_member(last, new),
        Some(Value::Array(items)) if last == "-" => items.push(new),
        Some(Value::Array(_)) => return Err(ChangeError::Nothing(path.to_string())),
        _ => return Err(ChangeError::Nothing(parent.to_string())),
    }
    Ok(())
}

/// Removes the value at `path`.
///
/// # Errors
///
/// [`ChangeError::Nothing`] if the path does not resolve to a value.
pub fn remove(value: &mut Value, path: &Path) -> Result<(), ChangeError> {
    let nothing = || ChangeError::Nothing(path.to_string());
    let (parent, last) = path.split_last().ok_or_else(nothing)?;
    match parent.resolve_mut(value) {
        Some(Value::Map(members)) => {
            let at = members.iter().position(|(key, _)| names(last, key)).ok_or_else(nothing)?;
            members.remove(at);
        }
        Some(Value::Array(items)) => {
            let at = index(last).filter(|at| *at < items.len()).ok_or_else(nothing)?;
            items.remove(at);
        }
        _ => return Err(nothing()),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_changed_only_where_it_is_found() {
        let list = Value::Array(vec![Value::text("a"), Value::text("b")].into());
        for (token, found) in
            [("0", true), ("1", true), ("2", false), ("+0", false), ("00", false), ("01", false), ("", false)]
        {
            let path = Path::default().child(token);
            assert_eq!(path.resolve(&list).is_some(), found, "{token:?}");
            let (mut written, mut removed) = (list.clone(), list.clone());
            assert_eq!(set(&mut written, &path, Value::text("new")).is_ok(), found, "{token:?}");
            assert_eq!(remove(&mut removed, &path).is_ok(), found, "{token:?}");
            assert_eq!((written != list, removed != list), (found, found), "{token:?}");
        }
    }

    #[test]
    fn a_member_with_an_integer_key_is_changed_where_it_is_found() {
        let map = Value::Map(vec![(Value::Integer(7), Value::text("seven"))].into());
        let path = Path::default().child("7");
        let (mut written, mut removed) = (map.clone(), map);
        set(&mut written, &path, Value::text("new")).unwrap();
        remove(&mut removed, &path).unwrap();
        assert_eq!(written, Value::Map(vec![(Value::Integer(7), Value::text("new"))].into()));
        assert_eq!(removed, Value::Map(Vec::new().into()));
    }
}
