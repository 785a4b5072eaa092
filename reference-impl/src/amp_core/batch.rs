//! Batches (4.5): a container of complete messages.

use super::bodies::{Body, Violation};
use super::codes::{Code, typ};
use super::rules::Rules;
use crate::cbor::Cbor;

/// The bytes of the items of a batch, in order.
///
/// # Errors
///
/// The code of an invalid batch.
pub(crate) fn split(body: &Cbor, rules: Rules) -> Result<Vec<Vec<u8>>, Code> {
    match Body::read(typ::BATCH, body, rules) {
        Ok(Body::Batch(items)) => Ok(items),
        Ok(_) => Err(Code::InvalidMessage),
        Err(Violation { code, .. }) => Err(code),
    }
}

/// The body of a batch.
#[must_use]
pub(crate) fn body(items: Vec<Vec<u8>>) -> Cbor {
    Cbor::map([("items", Cbor::Array(items.into_iter().map(Cbor::Bytes).collect()))])
}
