//! Vectors: examples with a declared result, in the style of Wycheproof.
//! Each vector becomes a case ([`suite`]): its kind defines the operation of a library and the expected answer. A
//! kind is a row in [`KINDS`], or in the table of its protocol; adding a vector needs no Rust
//! code.

mod canonical_json;
mod keys;
mod kind;
mod read;
mod refused_json;

pub use keys::FILE;
pub use kind::{Kind, LibraryCall, Twin, Vector, VectorFile, VectorResult, readings};
pub use read::load;

use crate::source::{Diagnostic, Located, Node, Problems, Yaml};
use crate::suite::{Action, Case, Expectation, Step, Suite};
use crate::template::Expr;
use crate::value::{Path, Value};

/// The general kinds of vectors.
pub const KINDS: &[&dyn Kind] = &[&canonical_json::CanonicalJson, &refused_json::RefusedJson];

/// The cases of a file of vectors.
///
/// # Errors
///
/// One diagnostic for each vector that lacks a key of its kind.
pub fn suite(file: &VectorFile) -> Result<Suite, Vec<Diagnostic>> {
    let mut problems = Problems::default();
    let mut cases = Vec::new();
    for vector in &file.vectors {
        match file.kind.library_call(vector) {
            Ok(question) => cases.push(case(vector, question)),
            Err(key) => problems.note(Diagnostic::new(
                &vector.node.span,
                format!("a vector of kind {} needs `{key}`", file.kind.name()),
            )),
        }
    }
    problems.check(Suite { name: file.name.clone(), about: format!("Vectors: {}", file.source), cases })
}

fn case(vector: &Vector, question: LibraryCall) -> Case {
    let span = vector.node.span.clone();
    let located = |text: &str| Located { value: text.to_owned(), span: vector.id.span.clone() };
    let expectation = |at: &str, matcher: &str, argument: Value, strict_only: bool| Expectation {
        at: Located { value: Path::parse(at).unwrap_or_default(), span: vector.id.span.clone() },
        of: None,
        matcher: located(matcher),
        argument: Expr::Constant(argument),
        node: Node { value: Yaml::Null, span: vector.id.span.clone() },
        covers: Vec::new(),
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
        correlate: Vec::new(),
        must_answer: false,
        optional: false,
        number,
        span: span.clone(),
    };
    let mut steps = Vec::new();
    if let Some(twin) = question.twin {
        // A step without expectations must be accepted for the case to continue.
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
        roles: Vec::new(),
        strict_only: false,
        without_setup: false,
        stands_alone: false,
        without_prerequisites: false,
        twin_first: false,
        twin_key: None,
        ends_target: false,
        bindings: Vec::new(),
        steps,
        span: span.clone(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::source::Source;

    fn load_text(text: &str) -> Result<VectorFile, Vec<Diagnostic>> {
        load(&Arc::new(Source { name: "vectors/agentic/x.json".into(), text: text.to_owned().into() }), &[])
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
