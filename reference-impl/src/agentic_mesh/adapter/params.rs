//! The parameters of methods: bytes are hexadecimal digits in lower case, messages the bytes of their text.

use data_encoding::HEXLOWER;

use crate::json::{self, Object, Value};
use crate::server::adapter::RpcError;

/// The greatest nesting of a value in a parameter.
const DEPTH: usize = 128;

fn bad(name: &str, expected: &str) -> RpcError {
    RpcError::params(format!("{name}: expected {expected}"))
}

/// The bytes of a parameter.
pub(super) fn bytes(params: &Object, name: &str) -> Result<Vec<u8>, RpcError> {
    let digits = params.text(name).and_then(|text| HEXLOWER.decode(text.as_bytes()).ok());
    digits.ok_or_else(|| bad(name, "hexadecimal digits in lower case and pairs"))
}

/// The bytes of a parameter that may be absent or null.
pub(super) fn optional(params: &Object, name: &str) -> Result<Option<Vec<u8>>, RpcError> {
    params.present(name).map(|_| bytes(params, name)).transpose()
}

/// The JSON value whose text a parameter holds.
pub(super) fn value(params: &Object, name: &str) -> Result<Value, RpcError> {
    json::read_exactly(&bytes(params, name)?, DEPTH).map_err(|error| bad(name, &format!("JSON: {error}")))
}

/// A string.
pub(super) fn text<'p>(params: &'p Object, name: &str) -> Result<&'p str, RpcError> {
    params.text(name).ok_or_else(|| bad(name, "a string"))
}

/// A place in an array.
pub(super) fn index(value: Option<&Value>) -> Option<usize> {
    usize::try_from(value?.as_number()?.as_integer()?).ok()
}

/// An array of places, or none.
pub(super) fn indices(params: &Object, name: &str) -> Result<Vec<usize>, RpcError> {
    let Some(value) = params.present(name) else { return Ok(Vec::new()) };
    let places: Option<Vec<usize>> =
        value.as_list().and_then(|items| items.iter().map(|item| index(Some(item))).collect());
    places.ok_or_else(|| bad(name, "an array of indices"))
}

/// An array of strings.
pub(super) fn texts<'p>(params: &'p Object, name: &str) -> Result<Vec<&'p str>, RpcError> {
    let items = params.get(name).and_then(Value::as_list);
    let texts: Option<Vec<&str>> = items.and_then(|items| items.iter().map(Value::as_text).collect());
    texts.ok_or_else(|| bad(name, "an array of strings"))
}

/// An array of objects, or none.
pub(super) fn objects(params: &Object, name: &str) -> Result<Vec<Object>, RpcError> {
    let Some(value) = params.present(name) else { return Ok(Vec::new()) };
    let items = value.as_list().and_then(|items| items.iter().map(|item| item.as_object().cloned()).collect());
    items.ok_or_else(|| bad(name, "an array of objects"))
}

/// A text as hexadecimal digits.
pub(super) fn hex(text: &str) -> Value {
    HEXLOWER.encode(text.as_bytes()).into()
}
