//! Faults of a node.

use crate::amp_core::bodies::Body;
use crate::amp_core::receive::Authentic;
use crate::cbor::Cbor;

/// `pong-echoes-body`: Returns a body in PONG.
pub(in crate::amp_core) fn echo(body: &Body) -> Cbor {
    match body {
        Body::Other(body) if *body != Cbor::Null => body.clone(),
        _ => Cbor::map([("pong", true.into())]), // nothing that could be echoed
    }
}

/// `delegation-credential-from-ext`: Takes a credential that the body lacks from ext.
pub(in crate::amp_core) fn with_credential_of_ext(message: &Authentic) -> Authentic {
    let mut message = message.clone();
    let given = message.ext.as_ref().and_then(|ext| ext.get("credential")).cloned();
    if let Some(credential) = given.filter(|_| message.body.get("credential").is_none()) {
        message.body.set("credential", credential);
    }
    message
}
