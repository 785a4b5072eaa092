//! Finds the first difference between two values, for findings.

use super::{Path, Value};

/// The first place at which two values differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The place, in both values.
    pub path: Path,
    /// The left value at the place; `None` if it is absent.
    pub left: Option<Value>,
    /// The right value at the place; `None` if it is absent.
    pub right: Option<Value>,
}

/// Finds the first difference in meaning: numbers by IEEE 754 value, members in any order.
pub fn first_difference(left: &Value, right: &Value) -> Option<Difference> {
    differ(left, right, &Path::default())
}

fn differ(left: &Value, right: &Value, path: &Path) -> Option<Difference> {
    match (left, right) {
        (Value::Map(lefts), Value::Map(rights)) => differ_in_members(lefts, rights, path),
        (Value::Array(lefts), Value::Array(rights)) => (0..lefts.len().max(rights.len())).find_map(|index| {
            let child = path.child(index.to_string());
            match (lefts.get(index), rights.get(index)) {
                (Some(left), Some(right)) => differ(left, right, &child),
                (left, right) => Some(Difference { path: child, left: left.cloned(), right: right.cloned() }),
            }
        }),
        (Value::Tag(a, left), Value::Tag(b, right)) if a == b => differ(left, right, path),
        _ => {
            let same = match (left.as_f64(), right.as_f64()) {
                (Some(a), Some(b)) => a == b || (a.is_nan() && b.is_nan()),
                (None, None) => left == right,
                _ => false,
            };
            (!same).then(|| Difference { path: path.clone(), left: Some(left.clone()), right: Some(right.clone()) })
        }
    }
}

fn differ_in_members(lefts: &[(Value, Value)], rights: &[(Value, Value)], path: &Path) -> Option<Difference> {
    let repeated = |members: &[(Value, Value)]| {
        let mut names: Vec<_> = members.iter().filter_map(|(key, _)| key.as_text()).collect();
        names.sort_unstable();
        names.windows(2).any(|pair| pair[0] == pair[1])
    };
    if repeated(lefts) || repeated(rights) {
        // A receiver may use either of two repeated members, so only identical lists are equal.
        return (lefts != rights).then(|| Difference {
            path: path.clone(),
            left: Some(Value::Map(lefts.to_vec())),
            right: Some(Value::Map(rights.to_vec())),
        });
    }
    let find = |members: &'_ [(Value, Value)], wanted: &Value| members.iter().position(|(key, _)| key == wanted);
    for (key, left) in lefts {
        let child = path.child(token(key));
        match find(rights, key) {
            Some(at) => {
                if let Some(difference) = differ(left, &rights[at].1, &child) {
                    return Some(difference);
                }
            }
            None => return Some(Difference { path: child, left: Some(left.clone()), right: None }),
        }
    }
    rights.iter().find(|(key, _)| find(lefts, key).is_none()).map(|(key, right)| Difference {
        path: path.child(token(key)),
        left: None,
        right: Some(right.clone()),
    })
}

fn token(key: &Value) -> String {
    match key {
        Value::Text(text) => text.clone(),
        Value::Integer(integer) => integer.to_string(),
        other => format!("{other:?}"),
    }
}

impl Value {
    /// Whether two values are equal in meaning: numbers by IEEE 754 value, members in any order.
    ///
    /// Strings compare code point for code point, arrays element by element. A map with a repeated key equals only a
    /// map with the same repetitions in the same order.
    pub fn same_as(&self, other: &Self) -> bool {
        first_difference(self, other).is_none()
    }
}
