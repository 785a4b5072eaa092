//! Changing a value at a place.

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
    match parent.resolve_mut(value) {
        Some(map @ Value::Map(_)) => map.set_member(last, new),
        Some(Value::Array(items)) if last == "-" => items.push(new),
        Some(Value::Array(items)) => {
            let slot = last.parse().ok().and_then(|index: usize| items.get_mut(index));
            *slot.ok_or_else(|| ChangeError::Nothing(path.to_string()))? = new;
        }
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
            let at = members.iter().position(|(key, _)| key.as_text() == Some(last)).ok_or_else(nothing)?;
            members.remove(at);
        }
        Some(Value::Array(items)) => {
            let at = last.parse().ok().filter(|at| *at < items.len()).ok_or_else(nothing)?;
            items.remove(at);
        }
        _ => return Err(nothing()),
    }
    Ok(())
}
