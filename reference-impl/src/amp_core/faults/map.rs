//! Faults of map members.

use crate::cbor::Cbor;

/// `enc-mode-omitted`, `error-without-category`: removes a member of a map.
pub(in crate::amp_core) fn remove(map: &mut Cbor, name: &str) {
    if let Cbor::Map(pairs) = map {
        pairs.retain(|(key, _)| key.as_text() != Some(name));
    }
}

/// `error-code-as-text`: Writes the code of an ERROR as text.
pub(in crate::amp_core) fn code_as_text(body: &mut Cbor) {
    let code = body.get("code").and_then(Cbor::as_unsigned).unwrap_or_default();
    body.set("code", code.to_string().into());
}
