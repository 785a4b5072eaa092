//! The role of a node (RFC 001, 1.6).

/// One of the three.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Takes messages that are addressed to it.
    Agent,
    /// Stores messages for others until they are fetched; has no application.
    Relay,
    /// An agent for its own DID, a relay for all others.
    Both,
}

impl Role {
    /// The names of all roles.
    pub(crate) const NAMES: &[&str] = &["agent", "relay", "both"];

    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "agent" => Some(Self::Agent),
            "relay" => Some(Self::Relay),
            "both" => Some(Self::Both),
            _ => None, // no role
        }
    }
}
