//! What a reply needs of the message that it answers.

use super::rules::Rules;
use crate::json::{self, Object, Value};

/// What a reply needs of the message that it answers, as far as that can be read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Origin {
    pub(crate) protocol: Option<String>,
    pub(crate) id: Option<String>,
    /// `headers.correlation_id`.
    pub(crate) tracking: Option<String>,
    pub(crate) requester: Option<String>,
    pub(crate) timestamp: Option<String>,
    /// `destination.agent_id`.
    pub(crate) to: Option<String>,
    pub(crate) priority: Option<i64>,
}

impl Origin {
    /// Of an envelope that may be malformed.
    #[must_use]
    pub(crate) fn of(envelope: &Object) -> Self {
        let empty = Object::new();
        let inner = envelope.get("message").and_then(Value::as_object).unwrap_or(&empty);
        let part = |name: &str| inner.get(name).and_then(Value::as_object).unwrap_or(&empty);
        let text = |object: &Object, name: &str| object.text(name).filter(|text| !text.is_empty()).map(str::to_owned);
        let priority = part("headers").get("priority").and_then(Value::as_number).and_then(json::Number::as_integer);
        Self {
            protocol: envelope.text("protocol").map(str::to_owned),
            id: text(inner, "id"),
            tracking: text(part("headers"), "correlation_id"),
            requester: text(part("source"), "agent_id"),
            timestamp: text(inner, "timestamp"),
            to: text(part("destination"), "agent_id"),
            priority: priority.filter(|priority| (1..=10).contains(priority)),
        }
    }

    /// 3.2, E13: what `correlation_id` of a reply repeats.
    #[must_use]
    pub(crate) fn correlation(&self, rules: Rules) -> Option<&str> {
        // Other, E13: the tracking id of the request.
        if rules.is_other() || rules.fault.is("tracking-id-returned") {
            return self.tracking.as_deref().or(self.id.as_deref());
        }
        self.id.as_deref()
    }
}
