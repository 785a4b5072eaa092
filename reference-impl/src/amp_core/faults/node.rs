//! Faults of a node.

use crate::amp_core::bodies::Body;
use crate::cbor::Cbor;

/// `pong-echoes-body`: Returns a body in PONG.
pub(in crate::amp_core) fn echo(body: &Body) -> Cbor {
    match body {
        Body::Other(body) if *body != Cbor::Null => body.clone(),
        _ => Cbor::map([("pong", true.into())]), // nothing that could be echoed
    }
}
