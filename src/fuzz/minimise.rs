//! Minimisation: smaller edits that may show the same, in the order in which the campaign tries them.

use super::input::Edits;
use crate::value::Value;
use crate::wire::json;

/// Edits that are smaller than these, the smallest first: fewer of them, or simpler values in them.
pub(super) fn smaller(edits: &Edits) -> Vec<Edits> {
    let mut found = Vec::new();
    if edits.len() > 1 {
        // One alone, then all but one.
        found.extend(edits.iter().map(|edit| vec![edit.clone()]));
        if edits.len() > 2 {
            found.extend((0..edits.len()).map(|left_out| without(edits, left_out)));
        }
    }
    for (position, edit) in edits.iter().enumerate() {
        for simpler in simpler(edit) {
            let mut changed = edits.clone();
            changed[position] = simpler;
            found.push(changed);
        }
    }
    found
}

fn without(edits: &Edits, left_out: usize) -> Edits {
    edits.iter().enumerate().filter(|(position, _)| *position != left_out).map(|(_, edit)| edit.clone()).collect()
}

/// The same edit, simplified.
fn simpler(edit: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let mut with = |name: &str, value: Value| {
        let mut changed = edit.clone();
        changed.set_member(name, value);
        if changed != *edit {
            found.push(changed);
        }
    };
    if let Some(Value::Text(text)) = edit.member("json")
        && let Ok(value) = json::parse(text.as_bytes())
    {
        for simple in simpler_values(&value) {
            with("json", Value::text(json::compact(&simple)));
        }
    }
    for name in ["insert", "overwrite", "bytes"] {
        if let Some(Value::Text(hex)) = edit.member(name).and_then(|bytes| bytes.member("hex")) {
            for length in [hex.len() / 4 * 2, hex.len().saturating_sub(2)] {
                if length > 0 && length < hex.len() {
                    with(name, Value::map([("hex", Value::text(&hex[..length]))]));
                }
            }
        }
    }
    if let Some(count) = edit.member("cut").and_then(Value::as_integer)
        && count > 1
    {
        with("cut", Value::Integer(1));
    }
    found
}

/// Values of the same type that are simpler.
pub(crate) fn simpler_values(value: &Value) -> Vec<Value> {
    match value {
        Value::Text(text) => {
            let letters: Vec<char> = text.chars().collect();
            let prefix = |count: usize| Value::text(letters.iter().take(count).collect::<String>());
            let mut found = Vec::new();
            if letters.len() > 1 {
                found.extend([prefix(1), prefix(letters.len() / 2), prefix(letters.len() - 1)]);
            }
            found
        }
        Value::Array(items) if items.len() > 1 => vec![
            Value::Array(Vec::new().into()),
            Value::Array(items[..1].to_vec().into()),
            Value::Array(items[..items.len() / 2].to_vec().into()),
        ],
        Value::Map(members) if members.len() > 1 => {
            vec![Value::Map(Vec::new().into()), Value::Map(members[..members.len() / 2].to_vec().into())]
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(text: &str) -> Value {
        json::parse(text.as_bytes()).unwrap()
    }

    #[test]
    fn fewer_come_first_and_values_shrink() {
        let edits = vec![
            edit(r#"{"remove":"/a"}"#),
            edit(r#"{"set":"/b","json":"\"abcd\""}"#),
            edit(r#"{"insert":{"hex":"01020304"}}"#),
        ];
        let found = smaller(&edits);
        assert_eq!(found[..3].iter().map(Vec::len).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!(found[3..6].iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2]);
        assert!(found.contains(&vec![edits[0].clone(), edit(r#"{"set":"/b","json":"\"a\""}"#), edits[2].clone()]));
        assert!(found.contains(&vec![edits[0].clone(), edits[1].clone(), edit(r#"{"insert":{"hex":"0102"}}"#)]));
        assert!(found.iter().all(|smaller| *smaller != edits));
    }

    #[test]
    fn what_cannot_be_smaller_stays() {
        assert_eq!(smaller(&vec![edit(r#"{"remove":"/a"}"#)]), Vec::<Edits>::new());
    }
}
