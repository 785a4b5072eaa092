//! Agentic Mesh Protocol, draft v0.1.
//!
//! JSON over HTTP, or a library behind the adapter. The node under test stands between two sides that the harness plays: the
//! initial sender, and the next hop of an intermediary. `message` has the known-good message and finds the identity of a
//! message in its bytes, `hosting` ties a forwarded copy to the message that caused it, `compare` says how the two differ,
//! `finder` finds the code of a fault wherever a target puts it, and `view` makes one observation of all of them, the same
//! for an endpoint and for a library.

mod block;
mod compare;
mod defect;
mod difference;
mod emitted;
mod finder;
mod functions;
mod graph;
mod hosting;
pub mod inspect;
mod knowledge;
mod matchers;
mod message;
mod methods;
mod number;
mod operations;
mod settings;
mod vectors;
mod view;

use super::{
    Defect, Hosting, Inputs, Library, ObservationContext, Operation, Oracle, Protocol, Security, Setting, Starter,
    TargetKnowledge,
};
use crate::exchange::Exchange;
use crate::matcher::Matcher;
use crate::template::Function;
use crate::value::Value;
use crate::vector::Kind;

/// The Agentic Mesh Protocol.
pub struct AgenticMesh;

impl Protocol for AgenticMesh {
    fn slug(&self) -> &'static str {
        "agentic-mesh"
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

    fn functions(&self) -> &'static [Function] {
        functions::FUNCTIONS
    }

    fn settings(&self) -> &'static [Setting] {
        settings::SETTINGS
    }

    fn starter(&self) -> Option<Starter> {
        Some(Starter { input: "message", name: "m", object: "base" })
    }

    fn vector_kinds(&self) -> &'static [&'static dyn Kind] {
        &[&vectors::Process]
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        view::observe(exchange, context)
    }

    fn accepted(&self, operation: &Operation, seen: &Value) -> bool {
        if !operations::carries_message(operation.name) {
            let status = seen.member("status").and_then(Value::as_integer);
            return status
                .and_then(|status| u16::try_from(status).ok())
                .is_some_and(|status| operation.accepts(status));
        }
        matches!(seen.member("outcome").and_then(Value::as_text), Some("accepted" | "forwarded"))
    }

    fn emitted(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Vec<Value> {
        emitted::of(exchange, context)
    }

    fn security(&self) -> Option<&dyn Security> {
        Some(self)
    }

    fn target_knowledge(&self) -> Option<&dyn TargetKnowledge> {
        Some(&knowledge::Knowledge)
    }

    fn hosting(&self) -> Option<&dyn Hosting> {
        Some(&hosting::NextHop)
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self)
    }
}

impl Security for AgenticMesh {
    /// Moves header blocks, nonce and version to the places of the target.
    fn protect(
        &self,
        operation: &Operation,
        mut body: Value,
        _: &Inputs,
        context: &ObservationContext<'_>,
    ) -> Result<Value, String> {
        if operation.input("message").is_some() {
            message::place(&mut body, context);
        }
        Ok(body)
    }
}

impl Oracle for AgenticMesh {
    fn defect(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        let carries = operations::carries_message(operation.name);
        let bytes = super::payload(operation, exchange).filter(|_| carries)?;
        defect::of(&bytes, context)
    }
}
