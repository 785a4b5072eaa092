//! The parts that make up a program.

use proofmark_reference::Implementation;

use super::exit::Failure;
use crate::bundle::Bundle;
use crate::protocol::{self, Protocol};

/// The rows of the tables of protocols and of reference implementations, and the data files that ship with them.
pub struct Program {
    /// The protocols that it can check.
    pub protocols: &'static [&'static dyn Protocol],
    /// The reference implementations that it embeds.
    pub implementations: &'static [&'static dyn Implementation],
    /// The suites and vectors that it embeds.
    pub data: Bundle,
}

impl Program {
    /// A program with every protocol of this crate and every implementation of the reference.
    pub fn new(data: Bundle) -> Self {
        Self { protocols: protocol::ALL, implementations: proofmark_reference::ALL, data }
    }

    /// The protocol with this slug.
    pub(super) fn protocol(&self, slug: &str) -> Option<&'static dyn Protocol> {
        self.protocols.iter().copied().find(|protocol| protocol.slug() == slug)
    }

    /// The reference implementation of the protocol with this slug.
    pub(super) fn implementation(&self, slug: &str) -> Result<&'static dyn Implementation, Failure> {
        let found = self.implementations.iter().copied().find(|implementation| implementation.slug() == slug);
        found.ok_or_else(|| Failure::usage(format!("`{slug}` has no reference implementation yet")))
    }
}
