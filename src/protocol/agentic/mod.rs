//! The Agentic Protocol, version 0.1.
//!
//! JSON over HTTP, or a library behind the adapter. Special features: a package is identified by the hash of its
//! canonical form (section 6.6), whose place in an answer is undefined, and the shapes of answers are largely open.
//! Both are settled by the errata register; `view` finds values wherever a target places them, `package` and `hash`
//! compare them.

mod defect;
mod hash;
mod operations;
mod package;
mod shape;
mod vectors;
mod view;

use super::{Codec, Defect, Json, Kin, ObservationContext, Operation, Oracle, Protocol, Setting, Starter};
use crate::exchange::Exchange;
use crate::matcher::Matcher;
use crate::value::Value;
use crate::vector::Kind;

/// Configurable places of values that the specification places elsewhere or nowhere.
const PLACES: &[Setting] = &[
    Setting {
        name: "content_hash",
        summary: "The content hash in the answer to a deposit.",
        words: &[],
        example: "[/meta/hash, \"header:x-content-hash\"]",
    },
    Setting {
        name: "metadata",
        summary: "Members that the target adds to the packages that it returns.",
        words: &[],
        example: "[/received_by]",
    },
];

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

    fn vector_kinds(&self) -> &'static [&'static dyn Kind] {
        &[&vectors::ContentHash]
    }

    fn places(&self) -> &'static [Setting] {
        PLACES
    }

    fn starter(&self) -> Option<Starter> {
        Some(Starter { input: "package", name: "p", object: "min" })
    }

    fn observe(&self, exchange: &Exchange, context: &ObservationContext<'_>) -> Value {
        view::observe(exchange, context.target, context.clock)
    }

    fn codec(&self) -> &dyn Codec {
        &Json { canonical_form: Some(hash::RULED) }
    }

    fn oracle(&self) -> Option<&dyn Oracle> {
        Some(self)
    }
}

impl Oracle for Agentic {
    fn defect(&self, exchange: &Exchange, _: &ObservationContext<'_>) -> Option<Defect> {
        let operation = self.operation(&exchange.operation)?;
        defect::of(operation.name, &super::payload(operation, exchange)?)
    }

    fn kin(&self) -> &'static [Kin] {
        &[("pkg_", &["pkg_", "pkg", "_"])]
    }
}
