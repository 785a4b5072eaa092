//! Vectors: examples with a declared result, in the manner of Wycheproof.
//!
//! A vector becomes a case like any other ([`suite`]): its kind says which operation of a library is asked and what is
//! expected. A kind is a row in [`KINDS`]; a vector itself needs no Rust.

mod amp_core;
mod canonical_json;
mod content_hash;
mod read;
mod refused_json;

pub use read::load;

use crate::protocol::Protocol;
use crate::source::{Diagnostic, Located, Node, Problems, Yaml};
use crate::suite::{Action, Case, Expectation, Step, Suite};
use crate::template::Expr;
use crate::value::{Path, Value};

/// Every kind of vector.
pub const KINDS: &[&dyn Kind] = &[
    &canonical_json::CanonicalJson,
    &content_hash::ContentHash,
    &refused_json::RefusedJson,
    &amp_core::Receive,
    &amp_core::Deterministic,
    &amp_core::SigInput,
    &amp_core::Verify,
    &amp_core::Sign,
    &amp_core::PublicKey,
    &amp_core::BoxOpen,
    &amp_core::BuildPlain,
    &amp_core::BuildEncrypted,
    &amp_core::SelectKey,
    &amp_core::FrameDecode,
    &amp_core::FrameEncode,
    &amp_core::Wrapper,
    &amp_core::Type,
    &amp_core::ErrorCode,
    &amp_core::Version,
    &amp_core::Id,
];

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
    /// What the strict profile wants of an acceptable vector, if it wants anything.
    pub strict: Option<VectorResult>,
    /// Readings that are tolerated, each with the hash that it gives.
    pub tolerated: Vec<(String, String)>,
    /// Entries of the errata register that bear on it.
    pub errata: Vec<String>,
    /// Keys of its kind, those included that its group gives to all of its vectors.
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
    /// Either; what the strict profile wants is said beside it.
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
        self.value(name).and_then(Value::as_text).ok_or(name)
    }

    /// The value of a key of its kind.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
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
                .note(Diagnostic::new(&vector.node.span, format!("a vector of kind {} needs `{key}`", kind.name()))),
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
            layout: None,
        },
        over: None,
        at_once: false,
        until: None,
        quiet: None,
        settle: None,
        without_waiting: false,
        assume: Vec::new(),
        expect: Vec::new(),
        expect_all: Vec::new(),
        capture: Vec::new(),
        must_answer: false,
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
        without_setup: false,
        stands_alone: false,
        twin_first: false,
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
    use std::sync::Arc;

    use super::*;
    use crate::source::Source;

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
