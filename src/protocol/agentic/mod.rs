//! The Agentic Protocol, version 0.1.
//!
//! JSON over HTTP, or a library behind the adapter. What is special: a package is identified by the hash of its canonical
//! form (section 6.6), which stands in no named place of an answer, and the shapes of answers are largely open. Both are
//! settled by the errata register; `view` finds things where a target put them, `package` and `hash` compare them.

mod defect;
mod hash;
mod operations;
mod package;
mod shape;
mod view;

use super::{Defect, Operation, Protocol, Sight};
use crate::exchange::Exchange;
use crate::matcher::Matcher;
use crate::value::Value;
use crate::wire::canonical::Form;

/// The Agentic Protocol.
pub struct Agentic;

impl Protocol for Agentic {
    fn slug(&self) -> &'static str {
        "agentic"
    }

    fn operations(&self) -> &'static [Operation] {
        operations::OPERATIONS
    }

    fn matchers(&self) -> &'static [&'static dyn Matcher] {
        &[&package::SamePackage, &hash::ContentHash, &shape::ValidPackage, &shape::ValidFact]
    }

    fn canonical_form(&self) -> Option<Form> {
        Some(hash::RULED)
    }

    fn defect(&self, exchange: &Exchange, _: &Sight<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        defect::of(operation.name, &super::payload(operation, exchange)?)
    }

    fn observe(&self, exchange: &Exchange, sight: &Sight<'_>) -> Value {
        view::observe(exchange, sight.target, sight.clock)
    }
}
