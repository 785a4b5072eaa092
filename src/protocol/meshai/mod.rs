//! Agent Mesh Protocol v1.0 of the MeshAI ecosystem, and the rulings of its binding.
//!
//! JSON envelopes over HTTP, WebSocket text messages, or a library behind the adapter. `envelope` reads a reply, `view`
//! makes the observation of an exchange of it; `auth` signs messages and adds credentials, by the primitives of `hmac` and
//! `jwt`; `known` has what a target file says, with the defaults of the binding; `hosting` plays registry and peer agents.

mod auth;
mod defect;
pub mod envelope;
mod functions;
pub mod hmac;
mod hosting;
pub mod jwt;
mod known;
mod matchers;
mod methods;
mod operations;
mod settings;
mod vectors;
mod view;

use std::time::Duration;

use super::{
    Channel, Codec, Defect, Hosting, Inputs, Json, Kin, Known, Library, ObservationContext, Operation, Oracle,
    Protocol, Readiness, Security, Setting, TargetKnowledge,
};
use crate::exchange::{Arrival, Exchange, HostArrival, HostReply, Transport};
use crate::matcher::Matcher;
use crate::target::{ChannelProfile, RouteOverride, Target, WsMessages, WsProfile};
use crate::template::Function;
use crate::value::Value;
use crate::vector::Kind;
use crate::wire::canonical::Form;

/// The Agent Mesh Protocol of the MeshAI ecosystem.
pub struct MeshAi;

impl Protocol for MeshAi {
    fn slug(&self) -> &'static str {
        "meshai"
    }

    fn operations(&self) -> &'static [Operation] {
        operations::OPERATIONS
    }

    fn library(&self) -> Option<&'static Library> {
        Some(&methods::LIBRARY)
    }

    fn matchers(&self) -> &'static [&'static dyn Matcher] {
        matchers::ALL
    }

    fn transports(&self) -> &'static [Transport] {
        &[Transport::Http, Transport::Ws, Transport::Adapter]
    }

    fn functions(&self) -> &'static [Function] {
        functions::FUNCTIONS
    }

    fn settings(&self) -> &'static [Setting] {
        settings::SETTINGS
    }

    fn places(&self) -> &'static [Setting] {
        settings::PLACES
    }

    fn vector_kinds(&self) -> &'static [&'static dyn Kind] {
        vectors::ALL
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        view::observe(exchange, context)
    }

    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        view::accepted(operation, seen)
    }

    /// Status 503 with an error message is the answer for missing resources (section 6; E63).
    fn is_busy(&self, exchange: &Exchange) -> bool {
        match exchange.received.status {
            Some(429) => true,
            Some(503) => !view::reports(exchange, "INSUFFICIENT_RESOURCES"),
            _ => exchange.sent.transport == Transport::Ws && view::reports(exchange, "RATE_LIMIT_EXCEEDED"),
        }
    }

    /// The window of the limit on requests, if it is declared (E99). Requests within it may count although they are refused.
    fn busy_for(&self, _: &Exchange, target: &Target) -> Option<Duration> {
        target.options.get("rate-limit").filter(|limited| **limited)?;
        let window = target.setting("rate_limit")?.member("window_ms")?.as_integer()?;
        u64::try_from(window).ok().map(Duration::from_millis)
    }

    fn readiness(&self, exchange: &Exchange) -> Readiness {
        view::readiness(exchange)
    }

    fn emitted(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
        view::emitted(exchange, context)
    }

    fn codec(&self) -> &dyn Codec {
        &Json { canonical_form: Some(Form::JCS) }
    }

    fn security(&self) -> Option<&dyn Security> {
        Some(self)
    }

    fn channel(&self) -> Option<&dyn Channel> {
        Some(self)
    }

    fn target_knowledge(&self) -> Option<&dyn TargetKnowledge> {
        Some(self)
    }

    fn hosting(&self) -> Option<&dyn Hosting> {
        Some(self)
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self)
    }
}

impl Security for MeshAi {
    fn protect(
        &self,
        operation: &Operation,
        body: Value,
        inputs: &Inputs,
        context: &ObservationContext<'_>,
    ) -> Result<Value, String> {
        if operations::carries_message(operation) { auth::protected(body, inputs, context) } else { Ok(body) }
    }

    fn header_fields(
        &self,
        operation: &Operation,
        body: Option<&Value>,
        inputs: &Inputs,
        context: &ObservationContext<'_>,
    ) -> Vec<(String, String)> {
        if operations::carries_message(operation) {
            auth::header_fields(body, inputs, context)
        } else if operation.name == operations::OPEN {
            auth::upgrade_fields(inputs, context)
        } else {
            Vec::new()
        }
    }
}

impl Channel for MeshAi {
    fn profile(&self, target: &Target) -> ChannelProfile {
        let path = target.setting("ws_path").and_then(Value::as_text);
        // An endpoint without an address in the target file is not tried (binding, section 8).
        ChannelProfile {
            ws: WsProfile { path: path.map(str::to_owned), subprotocol: None, messages: WsMessages::Text },
            ..ChannelProfile::default()
        }
    }

    fn is_unrelated(&self, message: &[u8], arrival: &Arrival) -> bool {
        view::is_unrelated(message, arrival)
    }

    fn is_only_answer(&self, message: &[u8], arrival: &Arrival) -> bool {
        view::is_only_answer(message, arrival)
    }
}

impl TargetKnowledge for MeshAi {
    fn complete(&self, target: &mut Target) {
        known::complete(target);
    }

    fn known_names(&self) -> &'static [&'static str] {
        known::NAMES
    }

    fn known(&self, target: &Target, transport: Transport, captured: &Known) -> Known {
        known::known(target, transport, captured)
    }

    fn route(&self, operation: &str, target: &Target) -> Option<RouteOverride> {
        known::route(operation, target)
    }
}

impl Hosting for MeshAi {
    fn reply(&self, arrival: &HostArrival, state: &mut Value) -> Option<HostReply> {
        hosting::reply(arrival, state)
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Option<Value> {
        Some(view::hosted(self, exchange, context))
    }
}

impl Oracle for MeshAi {
    fn defect(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        let carries = operations::carries_message(operation);
        defect::of(&super::payload(operation, exchange).filter(|_| carries)?, context)
    }

    fn kin(&self) -> &'static [Kin] {
        &[("AMP/", &["AMP/", "AMP", "amp/1.0", "XYZ/1.0"]), ("eyJ", &["eyJ", "eyJ.eyJ.", "."])]
    }
}
