//! `kept`: the forwarded copy differs from the message in the permitted ways only (binding, section 7).

use super::super::compare::ROWS;
use super::words::summary;
use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show};
use crate::suggest;
use crate::value::{Path, Value};

/// Holds if the first copy shows no difference of the given rows.
pub(in super::super) struct Kept;

impl Matcher for Kept {
    fn name(&self) -> &'static str {
        "kept"
    }

    fn summary(&self) -> &'static str {
        "A copy reached the next hop, and it differs from the message that was sent in none of these rows: ttl, ttl-spelling, \
         message-id, trace-found, trace-extended, trace-changed, directives, header, blocks-kept, blocks-removed, \
         roleless-blocks, block-members, block-flags, block-role, block-dropped-flags, block-order, blocks-added, body, \
         body-additions, additions, extras, graph-removals, graph-additions, graph-identity, graph-members, metadata, \
         annotations, sealed-graph, graph-order, types, numbers, array-order."
    }

    fn example(&self) -> &'static str {
        "{ kept: [body, types] }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let row = |value: &Value| {
            let name = value.as_text().unwrap_or_default();
            let found = ROWS.iter().find(|(row, _)| *row == name);
            found.copied().ok_or_else(|| {
                let error = ArgumentError::new(format!("has an unknown row {}", show(value)));
                match suggest::nearest(name, ROWS.iter().map(|(row, _)| *row)) {
                    Some(near) => error.hint(format!("did you mean `{near}`?")),
                    None => error,
                }
            })
        };
        let rows = match argument {
            Value::Array(list) if !list.is_empty() => list.iter().map(row).collect::<Result<_, _>>()?,
            one => vec![row(one)?],
        };
        Ok(Box::new(NoDifference { rows }))
    }
}

struct NoDifference {
    rows: Vec<(&'static str, &'static str)>,
}

impl Check for NoDifference {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        let words = || self.rows.iter().map(|(_, about)| *about).collect::<Vec<_>>().join("; ");
        let Some(differences) = seen.member("differences").and_then(Value::as_array) else {
            let expected = format!("a copy at the next hop in which {}", words());
            return Outcome::mismatch(expected, Some(&Value::text(summary(seen))));
        };
        let text =
            |value: &Value, name: &str| value.member(name).and_then(Value::as_text).unwrap_or_default().to_owned();
        let of_rows = |difference: &&Value| {
            let row = difference.member("row").and_then(Value::as_text);
            self.rows.iter().any(|(wanted, _)| row == Some(*wanted))
        };
        match differences.iter().find(of_rows) {
            None => Outcome::HOLDS,
            Some(difference) => Outcome::Mismatch(Mismatch {
                path: Path::parse(&format!("/copy/message{}", text(difference, "at"))).unwrap_or_default(),
                expected: text(difference, "expected"),
                observed: text(difference, "observed"),
            }),
        }
    }
}
