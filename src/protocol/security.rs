//! Message security: signatures and encryption.

use super::context::ObservationContext;
use super::operation::{Inputs, Operation};
use crate::value::Value;

/// How a protocol signs and encrypts its messages.
pub trait Security: Sync {
    /// Signs and encrypts the body of a message according to the inputs of the operation. Required; an operation whose
    /// messages are not protected returns the body as it is. Deterministic: the same body, inputs and context give the
    /// same bytes.
    ///
    /// # Errors
    ///
    /// The reason, if the inputs are contradictory: a mistake in the suite.
    fn protect(
        &self,
        operation: &Operation,
        body: Value,
        inputs: &Inputs,
        context: &ObservationContext<'_>,
    ) -> Result<Value, String>;

    /// Header fields of a request that follow from its message, such as the credentials of its sender. Default: none. A
    /// field that the step itself sets wins. Must depend only on its arguments.
    fn header_fields(
        &self,
        _operation: &Operation,
        _body: Option<&Value>,
        _inputs: &Inputs,
        _context: &ObservationContext<'_>,
    ) -> Vec<(String, String)> {
        Vec::new()
    }

    /// Signs a message of the target again after its member `changed` was changed, so that only that change is wrong. Only
    /// for messages whose keys proofmark has, such as those of the reference implementation; any other message must be left
    /// as it is. Default: leaves every message as it is.
    fn protect_again(&self, _message: &mut Value, _changed: &str) {}
}
