//! What a node offers beyond RFC 001 and 002 if its settings say so: parts of companion documents, and limits for senders.

use std::time::Duration;

use super::super::did;

/// The state of contact with a party (RFC 008, 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Contact {
    /// Approved: it may send as much as it likes, and has authority over the capabilities of the node.
    Active,
    /// It has to ask first.
    Required,
    /// Its request was denied.
    Denied,
}

impl Contact {
    pub(crate) fn parse(name: &str) -> Option<Self> {
        match name {
            "active" => Some(Self::Active),
            "required" => Some(Self::Required),
            "denied" => Some(Self::Denied),
            _ => None, // no state
        }
    }

    /// The status in the answer to a request (RFC 008, 7.1). The operator decides what is pending.
    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::Active => "approved",
            Self::Required => "pending",
            Self::Denied => "denied",
        }
    }
}

/// The optional behaviour; without settings, none of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Companions {
    /// Parties with a state of contact; all others may send without asking.
    pub(crate) contacts: Vec<(Contact, String)>,
    /// How many messages of one sender are taken at once.
    pub(crate) rate: Option<u32>,
    /// How many slow requests of one sender are worked on at once.
    pub(crate) capacity: Option<u32>,
    /// How long a request is worked on.
    pub(crate) deadline: Option<Duration>,
    /// The operations of the application that are out of service.
    pub(crate) maintenance: Vec<String>,
}

impl Companions {
    /// The state of contact with `party`, if it has one.
    pub(crate) fn contact(&self, party: &str) -> Option<Contact> {
        self.contacts.iter().find(|(_, known)| did::is_same(known, party)).map(|(contact, _)| *contact)
    }
}
