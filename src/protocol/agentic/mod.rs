//! The Agentic Protocol, version 0.1.
//!
//! JSON over HTTP, or a library behind the adapter. Special features: a package is identified by the hash of its
//! canonical form (section 6.6), whose place in an answer is undefined, and the shapes of answers are largely open.
//! Both are settled by the errata register; `view` finds values wherever a target places them, `package` and `hash`
//! compare them.

mod defect;
mod hash;
mod methods;
mod model;
mod operations;
mod package;
mod shape;
mod vectors;
mod view;

use super::{
    Codec, Defect, Json, Kin, Library, Model, ObservationContext, Operation, Oracle, Probed, Protocol, Setting, Starter,
};
use crate::exchange::{Exchange, Transport};
use crate::matcher::Matcher;
use crate::spelling;
use crate::target::{NamedObject, Target};
use crate::value::Value;
use crate::vector::Kind;

/// Configurable places of values that the specification places elsewhere or nowhere.
const PLACES: &[Setting] = &[
    Setting { name: "package", summary: "The package in an answer with one.", words: &[], example: "[/item]" },
    Setting { name: "packages", summary: "The list in an answer with packages.", words: &[], example: "[/hits]" },
    Setting { name: "fact", summary: "The fact in an answer with one.", words: &[], example: "[/item]" },
    Setting { name: "facts", summary: "The list in an answer with facts.", words: &[], example: "[/hits]" },
    Setting { name: "count", summary: "The number of facts that were ended.", words: &[], example: "[/closed]" },
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
    Setting {
        name: "digest_facts",
        summary: "The current facts in a digest (orchestrate).",
        words: &[],
        example: "[/known]",
    },
    Setting {
        name: "digest_open_questions",
        summary: "The open questions in a digest (orchestrate).",
        words: &[],
        example: "[/questions]",
    },
    Setting {
        name: "digest_snippets",
        summary: "The snippets in a digest (orchestrate).",
        words: &[],
        example: "[/excerpts]",
    },
    Setting {
        name: "digest_summary",
        summary: "The summary in a digest (orchestrate).",
        words: &[],
        example: "[/text]",
    },
    Setting {
        name: "digest_counts",
        summary: "The counts in a digest (orchestrate).",
        words: &[],
        example: "[/numbers]",
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

    fn library(&self) -> Option<&'static Library> {
        Some(&methods::LIBRARY)
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

    fn named_objects(&self) -> &'static [NamedObject] {
        &[
            NamedObject {
                name: "package",
                summary: "Members of packages (section 6), at the top of a package.",
                marks: &["package_id"],
                operations: &["deposit"],
                example: "{ content_md: markdown }",
            },
            NamedObject {
                name: "fact",
                summary: "Members of facts (section 7), also in assertions.",
                marks: &["fact_id"],
                operations: &["assert-fact"],
                example: "{ predicate: relation, value: object }",
            },
        ]
    }

    fn not_ready(&self, _: &Target, probes: &[Probed]) -> Option<[String; 3]> {
        let all = probes.iter().filter(|(transport, _)| *transport == Transport::Http).flat_map(|(_, all)| all);
        let mut deposits = all.filter(|exchange| exchange.operation == "deposit").peekable();
        deposits.peek()?;
        // The packages of the probes have new ids, unless the ids come from a seed that this target has seen.
        deposits.all(|exchange| exchange.received.status == Some(409)).then(|| {
            [
                "every deposit of a new package is answered by 409".to_owned(),
                "the target stores packages with these ids from an earlier run with the same seed".to_owned(),
                "give --new-ids or another --seed, or empty the store".to_owned(),
            ]
        })
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

    fn model(&self) -> Option<&dyn Model> {
        Some(&model::Sequences)
    }

    fn spellings(&self) -> &'static [spelling::Kind] {
        // Nothing is signed, and the specification compares values (E102).
        spelling::Kind::ALL
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
