//! A message as a tree (section 2), which keeps member order, unknown members and the spelling of numbers, so that an
//! intermediary can forward what it does not know (section 4.8.2.1, rule 1).

use crate::json::{Object, Value};

/// The names of the structure (section 2).
pub(crate) const ENVELOPE: &str = "Envelope";
pub(crate) const HEADER: &str = "Header";
pub(crate) const BODY: &str = "Body";
pub(crate) const MEMORYGRAM: &str = "MemoryGram";

/// A JSON object that is offered as a message. Parts may be missing until the steps of processing have checked them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Message(pub(crate) Object);

impl Message {
    /// A message of three components.
    pub(crate) fn new(header: Object, body: impl Into<Value>, memorygram: impl Into<Value>) -> Self {
        let envelope = Object::from([(HEADER, header.into()), (BODY, body.into()), (MEMORYGRAM, memorygram.into())]);
        Self(Object::from([(ENVELOPE, envelope.into())]))
    }

    /// The Envelope, if it is an object.
    #[must_use]
    pub(crate) fn envelope(&self) -> Option<&Object> {
        self.0.get(ENVELOPE)?.as_object()
    }

    pub(crate) fn envelope_mut(&mut self) -> Option<&mut Object> {
        self.0.get_mut(ENVELOPE)?.as_object_mut()
    }

    /// One of the three components.
    #[must_use]
    pub(crate) fn component(&self, name: &str) -> Option<&Value> {
        self.envelope()?.get(name)
    }

    pub(crate) fn component_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.envelope_mut()?.get_mut(name)
    }

    /// The Header, if it is an object.
    #[must_use]
    pub(crate) fn header(&self) -> Option<&Object> {
        self.component(HEADER)?.as_object()
    }

    pub(crate) fn header_mut(&mut self) -> Option<&mut Object> {
        self.component_mut(HEADER)?.as_object_mut()
    }

    /// The Body, if it is an object.
    #[must_use]
    pub(crate) fn body(&self) -> Option<&Object> {
        self.component(BODY)?.as_object()
    }

    pub(crate) fn body_mut(&mut self) -> Option<&mut Object> {
        self.component_mut(BODY)?.as_object_mut()
    }

    /// A string of the Header.
    #[must_use]
    pub(crate) fn header_text(&self, name: &str) -> Option<&str> {
        self.header()?.text(name)
    }

    /// Whether the Header declares encryption (2.1); `null` counts as absent (E85).
    #[must_use]
    pub(crate) fn is_encrypted(&self) -> bool {
        self.header().is_some_and(|header| header.present("encryption").is_some())
    }
}
