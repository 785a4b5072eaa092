//! Mailboxes: answers that a target keeps until the sender fetches them.

use super::context::ObservationContext;
use crate::exchange::{Encoded, Exchange};

/// How answers are fetched that a target keeps for the sender of a message.
pub trait Mailbox: Sync {
    /// The owner of the mailbox that receives the answers to the message of an exchange. Required; `None` if the
    /// answers need not be fetched. Called before the message is sent, so the exchange has no answer yet.
    fn owner(&self, message: &Exchange, context: &ObservationContext<'_>) -> Option<String>;

    /// The request that fetches a page: the one at a cursor of [`Mailbox::page`], or the first. Required; `None`
    /// if the answer to the message is complete without.
    fn fetch(&self, exchange: &Exchange, context: &ObservationContext<'_>, behind: Option<&str>) -> Option<Encoded>;

    /// The reference of a fetched page to the next one. Default: `None`, no cursor.
    fn page(&self, _fetched: &[u8]) -> Option<Page> {
        None
    }

    /// The call that asks a library for what it did not hand out with the answer of an exchange. Default: `None`, an answer is
    /// complete.
    fn withheld(&self, _exchange: &Exchange) -> Option<Encoded> {
        None
    }

    /// The page without the refusals for which `is_stale` holds; `None` if it holds for none. Default: a page has no refusals.
    fn without_refusals(&self, _fetched: &[u8], _is_stale: &mut dyn FnMut(&[u8]) -> bool) -> Option<Vec<u8>> {
        None
    }
}

/// The reference of a page of a mailbox to the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The place behind it.
    pub cursor: String,
    /// Whether something lies behind it already.
    pub more: bool,
}
