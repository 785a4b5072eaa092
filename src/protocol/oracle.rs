//! Oracles: whether an arbitrary message is valid.

use super::context::ObservationContext;
use crate::exchange::Exchange;

/// A prefix, and texts with which a fuzzer replaces a text that has it.
pub type Kin = (&'static str, &'static [&'static str]);

/// The verdict of a protocol on an arbitrary message of the fuzzer.
pub trait Oracle: Sync {
    /// Why no target may accept the message of an exchange, if that is certain under every reading of the specification.
    /// Default: `None`. Must be `None` for a valid message, and in every doubtful case: findings depend on it.
    fn defect(&self, _exchange: &Exchange, _context: &ObservationContext<'_>) -> Option<Defect> {
        None
    }

    /// The instant at which the message of an exchange expires, in milliseconds after 1970: a target that gets it later may
    /// reject it for that alone. Default: `None`, time is irrelevant or a parameter of the call.
    fn expires_ms(&self, _exchange: &Exchange) -> Option<i128> {
        None
    }

    /// Replacements for texts that its parsers analyse, such as invalid identifiers. Default: only the general ones.
    fn kin(&self) -> &'static [Kin] {
        &[]
    }
}

/// Why no target may accept a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Defect {
    /// The requirement that is broken by accepting it.
    pub requirement: &'static str,
    /// The defect, fit to follow the words "the message has".
    pub because: String,
}
