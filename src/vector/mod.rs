//! Vectors: examples with a declared result, in the manner of Wycheproof.
//!
//! A vector becomes a case like any other ([`suite`]): its kind says which operation of a library is asked and what is
//! expected. One file a kind, one row in [`KINDS`]; a vector itself needs no Rust.

mod canonical_json;
mod content_hash;
mod refused_json;

use std::sync::Arc;

use crate::protocol::Protocol;
use crate::source::{Diagnostic, Fields, Located, Node, Problems, Source, Yaml, parse_json};
use crate::suite::{Action, Case, Expectation, Step, Suite};
use crate::template::Expr;
use crate::value::{Path, Value};
use crate::wire::json::Layout;

/// Every kind of vector.
pub const KINDS: &[&dyn Kind] =
    &[&canonical_json::CanonicalJson, &content_hash::ContentHash, &refused_json::RefusedJson];

/// What a kind of vector asks and expects.
pub trait Kind: Sync {
    /// Its name: the `kind` of a vector file.
    fn name(&self) -> &'static str;

    /// One sentence for the manual.
    fn summary(&self) -> &'static str;

    /// The keys that a vector of this kind has beside the general ones.
    fn keys(&self) -> &'static [&'static str];

    /// The question: an operation, the inputs it is given, and what is expected of the answer.
    ///
    /// # Errors
    ///
    /// The name of the key that is missing or misshapen.
    fn question(&self, vector: &Vector) -> Result<Question, &'static str>;

    /// Compares the vector with proofmark's own reading and writing of bytes.
    ///
    /// # Errors
    ///
    /// What proofmark makes of it instead, in words.
    fn confirm(&self, vector: &Vector, protocol: &dyn Protocol) -> Result<(), String>;
}

/// A file of vectors.
#[derive(Clone, Debug)]
pub struct VectorFile {
    /// `<protocol>/<kind>` with the file's name for the kind.
    pub name: Located<String>,
    /// Slug.
    pub protocol: String,
    /// Where the vectors come from.
    pub source: String,
    /// Name of their kind.
    pub kind: Located<String>,
    /// In the order of the file.
    pub vectors: Vec<Vector>,
}

/// One example.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Unique in its file.
    pub id: Located<String>,
    /// What it shows.
    pub about: String,
    /// The requirements that it decides.
    pub covers: Vec<Located<String>>,
    /// What a correct implementation does.
    pub result: VectorResult,
    /// Readings that are tolerated, each with the hash that it gives.
    pub tolerated: Vec<(String, String)>,
    /// Entries of the errata register that bear on it.
    pub errata: Vec<String>,
    /// Keys of its kind.
    pub fields: Vec<(String, Value)>,
    /// Where it is written.
    pub node: Node,
}

/// What a correct implementation does with a vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorResult {
    /// It accepts it.
    Valid,
    /// It refuses it.
    Invalid,
    /// Either; the strict profile wants it refused.
    Acceptable,
}

/// What is asked of a library, and what is expected of its answer.
pub struct Question {
    /// Name of the operation.
    pub operation: &'static str,
    /// Inputs of the operation.
    pub with: Vec<(&'static str, Value)>,
    /// Place, matcher and argument, and whether only the strict profile counts it.
    pub expect: Vec<(&'static str, &'static str, Value, bool)>,
    /// Where a refusal is expected: what the same operation must do first, for a library that refuses or swallows
    /// everything shows nothing.
    pub twin: Option<Twin>,
}

/// A question that a library must answer for its other answers to count.
pub struct Twin {
    /// Inputs of the operation.
    pub with: Vec<(&'static str, Value)>,
    /// Place, matcher and argument.
    pub assume: Vec<(&'static str, &'static str, Value)>,
}

impl Vector {
    /// The text of a key of its kind.
    ///
    /// # Errors
    ///
    /// The name of the key, if it is not there or no text.
    pub fn text(&self, name: &'static str) -> Result<&str, &'static str> {
        let found = self.fields.iter().find(|(key, _)| key == name);
        found.and_then(|(_, value)| value.as_text()).ok_or(name)
    }
}

/// Reads a file of vectors. Its `count` must be that of its vectors, so that none is lost unnoticed.
///
/// # Errors
///
/// Everything that is wrong in the file.
pub fn load(source: &Arc<Source>) -> Result<VectorFile, Vec<Diagnostic>> {
    let root = parse_json(source)?;
    let mut problems = Problems::default();
    let mut fields = Fields::new(&root, "a vector file", &mut problems);
    let schema = fields.number("schema", &mut problems);
    let kind = fields.required_text("kind", &mut problems);
    let protocol = fields.required_text("protocol", &mut problems);
    let origin = fields.required_text("source", &mut problems);
    let count = fields.require("count", &mut problems).map(|node| node.span.clone());
    let declared = root.member("count").and_then(|node| node.to_value().as_integer());
    let notes = fields.take("notes").map(Node::to_value);
    let groups = fields.list("groups", &mut problems);
    let span = fields.span().clone();
    fields.finish(&mut problems);
    if schema.as_ref().is_some_and(|schema| schema.value != 1) {
        problems.note(Diagnostic::new(&span, "`schema` is 1, the only version there is"));
    }
    let found_kind = kind.as_ref().and_then(|kind| {
        let found = KINDS.iter().copied().find(|known| known.name() == kind.value);
        if found.is_none() {
            let names = KINDS.iter().map(|known| known.name());
            problems.note(
                Diagnostic::new(&kind.span, format!("no kind of vector `{}`", **kind))
                    .did_you_mean(crate::suggest::nearest(kind, names)),
            );
        }
        found
    });
    let mut vectors: Vec<Vector> = Vec::new();
    for group in groups {
        let mut fields = Fields::new(group, "a group", &mut problems);
        let _ = fields.required_text("group", &mut problems);
        let _ = fields.text("about", &mut problems);
        for node in fields.list("tests", &mut problems) {
            let Some(vector) = read_vector(node, found_kind, notes.as_ref(), &mut problems) else { continue };
            if vectors.iter().any(|earlier| earlier.id.value == vector.id.value) {
                problems.note(Diagnostic::new(&vector.id.span, format!("the id `{}` is used twice", *vector.id)));
            }
            vectors.push(vector);
        }
        fields.finish(&mut problems);
    }
    if let Some(span) = count
        && declared != i128::try_from(vectors.len()).ok()
        && problems.0.is_empty()
    {
        problems.note(Diagnostic::new(&span, format!("the file has {} vectors", vectors.len())));
    }
    if vectors.is_empty() {
        problems.note(Diagnostic::new(&span, "the file has no vectors"));
    }
    let text = |located: Option<Located<String>>| located.map(|text| text.value).unwrap_or_default();
    let protocol = text(protocol);
    let stem = source.name.rsplit('/').next().and_then(|name| name.strip_suffix(".json")).unwrap_or_default();
    let name = Located { value: format!("{protocol}/vectors/{stem}"), span: span.clone() };
    let kind = kind.unwrap_or_else(|| Located { value: String::new(), span });
    problems.check(VectorFile { name, protocol, source: text(origin), kind, vectors })
}

fn read_vector(node: &Node, kind: Option<&dyn Kind>, notes: Option<&Value>, problems: &mut Problems) -> Option<Vector> {
    let mut fields = Fields::new(node, "a vector", problems);
    let id = fields.required_text("id", problems);
    let about = fields.required_text("about", problems);
    let covers = fields.texts("covers", problems);
    for flag in fields.texts("flags", problems) {
        if notes.and_then(|notes| notes.member(&flag)).is_none() {
            problems.note(Diagnostic::new(&flag.span, format!("`notes` does not explain the flag `{}`", *flag)));
        }
    }
    let result = fields.required_text("result", problems);
    let _ = fields.text("strict", problems);
    let errata = fields.texts("errata", problems);
    let tolerated = fields
        .list("tolerated", problems)
        .iter()
        .filter_map(|node| {
            let mut fields = Fields::new(node, "a tolerated reading", problems);
            let reading = fields.required_text("reading", problems);
            let sha256 = fields.required_text("sha256", problems);
            let _ = fields.texts("errata", problems);
            fields.finish(problems);
            Some((reading?.value, sha256?.value))
        })
        .collect();
    let mut own = Vec::new();
    for (key, value) in fields.rest() {
        if kind.is_some_and(|kind| kind.keys().contains(&key.name.as_str())) {
            own.push((key.name.clone(), value.to_value()));
        } else if kind.is_some() {
            let known = kind.map(Kind::keys).unwrap_or_default().iter().copied();
            problems.note(
                Diagnostic::new(&key.span, format!("a vector of this kind has no key `{}`", key.name))
                    .did_you_mean(crate::suggest::nearest(&key.name, known)),
            );
        }
    }
    let result = result.and_then(|word| match word.as_str() {
        "valid" => Some(VectorResult::Valid),
        "invalid" => Some(VectorResult::Invalid),
        "acceptable" => Some(VectorResult::Acceptable),
        _ => {
            problems.note(
                Diagnostic::new(&word.span, format!("no result `{}`", *word)).hint("one of valid, invalid, acceptable"),
            );
            None
        }
    });
    if result == Some(VectorResult::Acceptable) && errata.is_empty() {
        problems.note(Diagnostic::new(fields.span(), "an acceptable vector names the erratum that makes it so"));
    }
    Some(Vector {
        id: id?,
        about: about?.value,
        covers,
        result: result?,
        tolerated,
        errata: errata.into_iter().map(|text| text.value).collect(),
        fields: own,
        node: node.clone(),
    })
}

/// The cases of a file of vectors.
///
/// # Errors
///
/// A diagnostic for each vector that lacks a key of its kind.
pub fn suite(file: &VectorFile) -> Result<Suite, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let mut cases = Vec::new();
    for vector in &file.vectors {
        let Some(kind) = KINDS.iter().find(|kind| kind.name() == file.kind.value) else { continue };
        match kind.question(vector) {
            Ok(question) => cases.push(case(vector, question)),
            Err(key) => problems
                .note(Diagnostic::new(&vector.node.span, format!("a {} vector needs `{key}` as text", kind.name()))),
        }
    }
    problems.check(Suite { name: file.name.clone(), about: format!("Vectors: {}", file.source), cases })
}

fn case(vector: &Vector, question: Question) -> Case {
    let span = vector.node.span.clone();
    let located = |text: &str| Located { value: text.to_owned(), span: vector.id.span.clone() };
    let expectation = |at: &str, matcher: &str, argument: Value, strict_only: bool| Expectation {
        at: Located { value: Path::parse(at).unwrap_or_default(), span: vector.id.span.clone() },
        matcher: located(matcher),
        argument: Expr::Constant(argument),
        node: Node { value: Yaml::Null, span: vector.id.span.clone() },
        requirements: Vec::new(),
        strict_only,
        note: String::new(),
        span: vector.id.span.clone(),
    };
    let step = |number: usize, with: Vec<(&'static str, Value)>| Step {
        actor: located("a"),
        action: Action::Send {
            operation: located(question.operation),
            with: with.into_iter().map(|(name, value)| (located(name), Expr::Constant(value))).collect(),
            headers: Vec::new(),
            edits: Vec::new(),
            layout: Layout::Compact,
        },
        over: None,
        at_once: false,
        until: None,
        quiet: None,
        assume: Vec::new(),
        expect: Vec::new(),
        expect_all: Vec::new(),
        capture: Vec::new(),
        optional: false,
        number,
        span: span.clone(),
    };
    let mut steps = Vec::new();
    if let Some(twin) = question.twin {
        // A step without expectations has to be accepted for the case to go on.
        let assume = twin.assume.into_iter().map(|(at, matcher, argument)| expectation(at, matcher, argument, false));
        steps.push(Step { assume: assume.collect(), ..step(0, twin.with) });
    }
    let expect = question
        .expect
        .into_iter()
        .map(|(at, matcher, argument, strict_only)| expectation(at, matcher, argument, strict_only))
        .collect();
    steps.push(Step { expect, ..step(steps.len(), question.with) });
    Case {
        name: vector.id.clone(),
        about: vector.about.clone(),
        covers: vector.covers.clone(),
        needs: Vec::new(),
        reach: vec![located("adapter")],
        strict_only: false,
        bindings: Vec::new(),
        steps,
        span: span.clone(),
    }
}

/// The readings of a digest: the ruled one, and those that are tolerated. `spell` makes the argument of a matcher.
fn readings(vector: &Vector, ruled: &str, spell: impl Fn(&str) -> (&'static str, Value)) -> Value {
    let alternative = |reading: &str, digest: &str, tolerated: bool| {
        let (matcher, argument) = spell(digest);
        Value::map([("reading", Value::text(reading)), ("tolerated", Value::Bool(tolerated)), (matcher, argument)])
    };
    let mut alternatives = vec![alternative("as ruled", ruled, false)];
    alternatives.extend(vector.tolerated.iter().map(|(reading, digest)| alternative(reading, digest, true)));
    Value::Array(alternatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load_text(text: &str) -> Result<VectorFile, Vec<Diagnostic>> {
        load(&Arc::new(Source { name: "vectors/agentic/x.json".into(), text: text.into() }))
    }

    const GOOD: &str = r#"{"schema":1,"kind":"refused-json","protocol":"agentic","source":"s","count":1,"notes":{"F":"f"},
 "groups":[{"group":"g","tests":[{"id":"A1","about":"a","covers":["X-1"],"flags":["F"],"input_hex":"7b","result":"invalid"}]}]}"#;

    #[test]
    fn a_file_becomes_a_suite_of_one_case_a_vector() {
        let file = load_text(GOOD).unwrap();
        let suite = suite(&file).unwrap();
        assert_eq!((suite.name.value.as_str(), suite.cases.len()), ("agentic/vectors/x", 1));
    }

    #[test]
    fn a_wrong_count_an_unexplained_flag_and_an_unknown_key_are_reported() {
        let wrong = load_text(&GOOD.replace("\"count\":1", "\"count\":2")).unwrap_err();
        assert!(wrong[0].message.contains("1 vectors"), "{wrong:?}");
        let wrong =
            load_text(&GOOD.replace("[\"F\"]", "[\"G\"]").replace("\"result\"", "\"reslt\":1,\"result\"")).unwrap_err();
        assert_eq!(wrong.len(), 2, "{wrong:?}");
    }
}
