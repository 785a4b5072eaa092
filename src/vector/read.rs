//! Reads files of vectors and checks their form.

use std::sync::Arc;

use super::keys::{FILE, GROUP, SHARED, TOLERATED, VECTOR};
use super::{KINDS, Kind, Vector, VectorFile, VectorResult};
use crate::requirement::read_clauses;
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, parse_json};
use crate::value::Value;

/// Reads a file of vectors of a kind in [`KINDS`] or in `own`, the kinds of protocols. Its `count` must match the
/// number of vectors, so that a lost vector is noticed.
///
/// # Errors
///
/// Every mistake in the file.
pub fn load(source: &Arc<Source>, own: &[&'static dyn Kind]) -> Result<VectorFile, Vec<Diagnostic>> {
    let root = parse_json(source)?;
    let mut problems = Problems::default();
    let mut fields = Fields::new(&root, &FILE, &mut problems);
    let schema = fields.number("schema", &mut problems);
    let kind = fields.required_text("kind", &mut problems);
    let protocol = fields.required_text("protocol", &mut problems);
    let origin = fields.required_text("source", &mut problems);
    let count = fields.take("count").map(|node| node.span.clone());
    let declared = root.member("count").and_then(|node| node.to_value().as_integer());
    let notes = fields.take("notes").map(Node::to_value);
    let groups = fields.list("groups", &mut problems);
    let span = fields.span().clone();
    fields.finish(&mut problems);
    if schema.as_ref().is_some_and(|schema| schema.value != 1) {
        problems.note(Diagnostic::new(&span, "unsupported `schema`, expected 1"));
    }
    let found_kind = kind.as_ref().and_then(|kind| {
        let kinds = || KINDS.iter().chain(own).copied();
        let found = kinds().find(|known| known.name() == kind.value);
        if found.is_none() {
            let names = kinds().map(|known| known.name());
            problems.note(
                Diagnostic::new(&kind.span, format!("unknown kind of vector `{}`", **kind))
                    .did_you_mean(crate::suggest::nearest(kind, names)),
            );
        }
        found
    });
    let mut vectors: Vec<Vector> = Vec::new();
    for group in groups {
        let mut fields = Fields::new(group, &GROUP, &mut problems);
        let _ = fields.required_text("group", &mut problems);
        let _ = fields.text("about", &mut problems);
        let shared = fields.take("with").map(|node| read_shared(node, found_kind, &mut problems)).unwrap_or_default();
        for node in fields.list("tests", &mut problems) {
            let Some(mut vector) = read_vector(node, found_kind, notes.as_ref(), &mut problems) else { continue };
            for (key, value) in &shared {
                if vector.value(key).is_none() {
                    vector.fields.push((key.clone(), value.clone()));
                }
            }
            if vectors.iter().any(|earlier| earlier.id.value == vector.id.value) {
                problems.note(Diagnostic::new(&vector.id.span, format!("duplicate id `{}`", *vector.id)));
            }
            vectors.push(vector);
        }
        fields.finish(&mut problems);
    }
    if let Some(span) = count
        && declared != i128::try_from(vectors.len()).ok()
        && problems.0.is_empty()
    {
        problems
            .note(Diagnostic::new(&span, format!("`count` does not match: the file has {} vectors", vectors.len())));
    }
    if vectors.is_empty() {
        problems.note(Diagnostic::new(&span, "the file has no vectors"));
    }
    let text = |located: Option<Located<String>>| located.map(|text| text.value).unwrap_or_default();
    let protocol = text(protocol);
    let stem = source.name.rsplit('/').next().and_then(|name| name.strip_suffix(".json")).unwrap_or_default();
    let name = Located { value: format!("{protocol}/vectors/{stem}"), span };
    let Some(kind) = found_kind else { return Err(problems.0) };
    problems.check(VectorFile { name, protocol, source: text(origin), kind, vectors })
}

fn read_vector(node: &Node, kind: Option<&dyn Kind>, notes: Option<&Value>, problems: &mut Problems) -> Option<Vector> {
    let mut fields = Fields::new(node, &VECTOR, problems);
    let id = fields.required_text("id", problems);
    let about = fields.required_text("about", problems);
    let covers = read_clauses(&mut fields, "covers", problems);
    for flag in fields.texts("flags", problems) {
        if notes.and_then(|notes| notes.member(&flag)).is_none() {
            problems.note(Diagnostic::new(&flag.span, format!("`notes` does not explain the flag `{}`", *flag)));
        }
    }
    let result = fields.required_text("result", problems);
    let strict = fields.text("strict", problems);
    let errata = fields.texts("errata", problems);
    let tolerated = fields
        .list("tolerated", problems)
        .iter()
        .filter_map(|node| {
            let mut fields = Fields::new(node, &TOLERATED, problems);
            let reading = fields.required_text("reading", problems);
            let sha256 = fields.required_text("sha256", problems);
            let _ = fields.texts("errata", problems);
            fields.finish(problems);
            Some((reading?.value, sha256?.value))
        })
        .collect();
    let own = read_own(&mut fields, kind, problems);
    let result = result.and_then(|word| read_result(&word, problems));
    let strict = strict.and_then(|word| read_result(&word, problems));
    if result == Some(VectorResult::Acceptable) && errata.is_empty() {
        problems.note(Diagnostic::new(
            fields.span(),
            "an acceptable vector needs `errata`, the reason why both results are permitted",
        ));
    }
    Some(Vector {
        id: id?,
        about: about?.value,
        covers,
        result: result?,
        strict,
        tolerated,
        errata: errata.into_iter().map(|text| text.value).collect(),
        fields: own,
        node: node.clone(),
    })
}

/// The keys that all vectors of a group share.
fn read_shared(node: &Node, kind: Option<&dyn Kind>, problems: &mut Problems) -> Vec<(String, Value)> {
    read_own(&mut Fields::new(node, &SHARED, problems), kind, problems)
}

/// The keys of the kind: those that were not read yet.
fn read_own(fields: &mut Fields<'_>, kind: Option<&dyn Kind>, problems: &mut Problems) -> Vec<(String, Value)> {
    let mut own = Vec::new();
    let Some(kind) = kind else { return own };
    for (key, value) in fields.rest() {
        if kind.keys().contains(&key.name.as_str()) {
            own.push((key.name.clone(), value.to_value()));
        } else {
            problems.note(
                Diagnostic::new(&key.span, format!("a vector of this kind has no key `{}`", key.name))
                    .did_you_mean(crate::suggest::nearest(&key.name, kind.keys().iter().copied())),
            );
        }
    }
    own
}

fn read_result(word: &Located<String>, problems: &mut Problems) -> Option<VectorResult> {
    let found = match word.as_str() {
        "valid" => VectorResult::Valid,
        "invalid" => VectorResult::Invalid,
        "acceptable" => VectorResult::Acceptable,
        _ => {
            let wrong = Diagnostic::new(&word.span, format!("unknown result `{}`", **word));
            problems.note(wrong.hint("expected valid, invalid or acceptable"));
            return None;
        }
    };
    Some(found)
}
