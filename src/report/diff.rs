//! Differences of two JSON values, member by member.
//!
//! Bounded in depth and number, because one of the two may come from a target.

use serde_json::Value;

/// Maximum depth; deeper values are only compared as a whole.
const DEPTH_LIMIT: usize = 48;
/// Maximum number of listed differences.
const COUNT_LIMIT: usize = 60;

/// One place at which two values differ.
#[derive(Debug, PartialEq)]
pub(super) struct Difference<'a> {
    /// The reference tokens of its JSON Pointer, unescaped.
    pub(super) path: Vec<String>,
    /// The old value; `None` if it was added.
    pub(super) before: Option<&'a Value>,
    /// The new value; `None` if it was removed.
    pub(super) after: Option<&'a Value>,
}

/// The differences of two values, in the order of the values.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Differences<'a> {
    /// At most a few dozen.
    pub(super) list: Vec<Difference<'a>>,
    /// Whether the list was cut off.
    pub(super) more: bool,
}

/// Compares `before` with `after`. The order of members is ignored; that of elements is not.
pub(super) fn diff<'a>(before: &'a Value, after: &'a Value) -> Differences<'a> {
    let mut found = Differences::default();
    walk(&mut found, &mut Vec::new(), before, after);
    found
}

fn walk<'a>(found: &mut Differences<'a>, path: &mut Vec<String>, before: &'a Value, after: &'a Value) {
    match (before, after) {
        (Value::Object(old), Value::Object(new)) if path.len() < DEPTH_LIMIT => {
            for (name, value) in old {
                step(found, path, name.clone(), Some(value), new.get(name));
            }
            for (name, value) in new {
                if !old.contains_key(name) {
                    step(found, path, name.clone(), None, Some(value));
                }
            }
        }
        (Value::Array(old), Value::Array(new)) if path.len() < DEPTH_LIMIT => {
            elements(found, path, old, new);
        }
        _ if before == after => {}
        _ => report(found, path, Some(before), Some(after)),
    }
}

/// Pairs elements from both ends, so that one inserted element is one difference.
fn elements<'a>(found: &mut Differences<'a>, path: &mut Vec<String>, old: &'a [Value], new: &'a [Value]) {
    let shorter = old.len().min(new.len());
    let front = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let back = old.iter().rev().zip(new.iter().rev()).take(shorter - front);
    let back = back.take_while(|(a, b)| a == b).count();
    let (old_end, new_end) = (old.len() - back, new.len() - back);
    for at in front..old_end.max(new_end) {
        let before = old.get(at).filter(|_| at < old_end);
        let after = new.get(at).filter(|_| at < new_end);
        step(found, path, at.to_string(), before, after);
        if found.more {
            return;
        }
    }
}

fn step<'a>(
    found: &mut Differences<'a>,
    path: &mut Vec<String>,
    token: String,
    before: Option<&'a Value>,
    after: Option<&'a Value>,
) {
    path.push(token);
    match (before, after) {
        (Some(before), Some(after)) => walk(found, path, before, after),
        _ => report(found, path, before, after),
    }
    path.pop();
}

fn report<'a>(found: &mut Differences<'a>, path: &[String], before: Option<&'a Value>, after: Option<&'a Value>) {
    if found.list.len() >= COUNT_LIMIT {
        found.more = true;
        return;
    }
    found.list.push(Difference { path: path.to_vec(), before, after });
}

/// The reference tokens of a JSON Pointer, unescaped; `None` if `pointer` is not one.
pub(super) fn tokens(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let tokens = pointer.strip_prefix('/')?.split('/');
    Some(tokens.map(|token| token.replace("~1", "/").replace("~0", "~")).collect())
}

/// The JSON Pointer of `tokens`.
pub(super) fn pointer(tokens: &[String]) -> String {
    let escaped = tokens.iter().map(|token| token.replace('~', "~0").replace('/', "~1"));
    escaped.flat_map(|token| ["/".to_owned(), token]).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn shown(before: &Value, after: &Value) -> Vec<String> {
        let word = |value: Option<&Value>| value.map_or("-".to_owned(), Value::to_string);
        diff(before, after)
            .list
            .iter()
            .map(|d| format!("{} {} {}", pointer(&d.path), word(d.before), word(d.after)))
            .collect()
    }

    #[test]
    fn members_are_removed_added_and_changed() {
        let before = json!({"a": 1, "b": {"c/d": [1, 2]}, "e": null});
        let after = json!({"b": {"c/d": [1, 3]}, "e": null, "f": "x"});
        assert_eq!(shown(&before, &after), ["/a 1 -", "/b/c~1d/1 2 3", "/f - \"x\""]);
    }

    #[test]
    fn the_order_of_members_is_ignored() {
        assert!(shown(&json!({"a": 1, "b": 2}), &json!({"b": 2, "a": 1})).is_empty());
    }

    #[test]
    fn an_inserted_element_is_one_difference() {
        assert_eq!(shown(&json!([1, 2, 3]), &json!([1, 9, 2, 3])), ["/1 - 9"]);
        assert_eq!(shown(&json!([1, 1]), &json!([1])), ["/1 1 -"]);
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let deep = |leaf: Value| (0..100).fold(leaf, |inner, _| json!([inner]));
        let (before, after) = (deep(json!(1)), deep(json!(2)));
        assert_eq!(diff(&before, &after).list[0].path.len(), DEPTH_LIMIT);
        let (before, after) = (json!(vec![0; 500]), json!(vec![1; 500]));
        let found = diff(&before, &after);
        assert_eq!((found.list.len(), found.more), (COUNT_LIMIT, true));
    }

    #[test]
    fn pointers_and_tokens_are_inverse() {
        for text in ["", "/", "/a~0b/c~1d/0"] {
            assert_eq!(tokens(text).map(|t| pointer(&t)).as_deref(), Some(text));
        }
        assert_eq!(tokens("a"), None);
    }
}
