//! Mailboxes: answers that a target keeps until the sender fetches them.

use super::context::ObservationContext;
use crate::exchange::{Encoded, Exchange};

/// How answers are fetched that a target keeps for the sender of a message.
pub trait Mailbox: Sync {
    /// The owner of the mailbox that answers to the message of an exchange would be in. Required; `None` if the message has
    /// no answers to be fetched. Asked before the message is sent, so the exchange has no answer yet.
    fn owner(&self, message: &Exchange, context: &ObservationContext<'_>) -> Option<String>;

    /// The request that fetches a page: the one behind a cursor that [`Mailbox::page`] gave, or the first. Required; `None`
    /// if the answer to the message is complete without.
    fn fetch(&self, exchange: &Exchange, context: &ObservationContext<'_>, behind: Option<&str>) -> Option<Encoded>;

    /// What a page that was fetched says of the next one. Default: `None`, it names no cursor.
    fn page(&self, _fetched: &[u8]) -> Option<Page> {
        None
    }
}

/// What a page of a mailbox says of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The place behind it.
    pub cursor: String,
    /// Whether something lies behind it already.
    pub more: bool,
}
