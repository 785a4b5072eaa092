//! Changing a value at a place.

use super::{Path, Value};

/// Why a value or its bytes cannot be changed so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// There is nothing at the place.
    #[error("there is nothing at {0} to change")]
    Nothing(String),
    /// The text to replace is not in the bytes.
    #[error("the bytes to replace are not there")]
    NotThere,
    /// There are no bytes to change.
    #[error("the message has no body to change")]
    NoBody,
}

/// Writes `new` at `path`; a member that is not there is added, `-` appends to an array.
///
/// # Errors
///
/// [`ChangeError::Nothing`] if there is no parent that can hold it.
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

/// Takes away what is at `path`.
///
/// # Errors
///
/// [`ChangeError::Nothing`] if there is nothing.
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
