//! Faults of capabilities.

use std::sync::{LazyLock, Mutex, PoisonError};

use crate::json::{Object, Value};

/// `output-schema-broken`: Returns texts where the schema says numbers.
pub(in crate::meshai) fn broken(mut result: Value) -> Value {
    if let Some(members) = result.as_object_mut() {
        members.retain(|_, value| {
            *value = Value::Text(value.write());
            true
        });
    }
    result
}

/// `parameters-cached`: The parameters that came first.
pub(in crate::meshai) fn first_seen(parameters: &Object) -> Object {
    static FIRST: LazyLock<Mutex<Option<Object>>> = LazyLock::new(Mutex::default);
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| parameters.clone()).clone()
}

/// `empty-parameters-dropped`: Leaves out members that are false or an empty text, at any depth of objects.
pub(in crate::meshai) fn without_empty(parameters: &Object) -> Object {
    let kept = |value: &Value| !matches!(value, Value::Bool(false)) && value.as_text() != Some("");
    let inner = |value: &Value| value.as_object().map_or_else(|| value.clone(), |object| without_empty(object).into());
    let members = parameters.iter().filter(|(_, member)| kept(member));
    members.map(|(name, member)| (name.to_owned(), inner(member))).collect()
}

/// `parameters-ascii-only`: Replaces all but ASCII by question marks.
pub(in crate::meshai) fn ascii(parameters: &Object) -> Object {
    let plain = |text: &str| text.chars().map(|c| if c.is_ascii() { c } else { '?' }).collect::<String>();
    let value = |value: &Value| value.as_text().map_or_else(|| value.clone(), |text| plain(text).into());
    parameters.iter().map(|(name, member)| (name.to_owned(), value(member))).collect()
}
