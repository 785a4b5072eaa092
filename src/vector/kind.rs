//! Kinds of vectors, and the vectors of a file.

use crate::requirement::ClauseId;
use crate::source::{Located, Node};
use crate::value::Value;
use crate::wire::canonical::Form;

/// A kind of vector: the operation it calls and the answer it expects.
pub trait Kind: Sync {
    /// Its name: the `kind` of a vector file.
    fn name(&self) -> &'static str;

    /// One sentence of documentation.
    fn summary(&self) -> &'static str;

    /// The additional keys of a vector of this kind.
    fn keys(&self) -> &'static [&'static str];

    /// The call: an operation, its inputs, and the expected answer.
    ///
    /// # Errors
    ///
    /// The name of the missing or malformed key.
    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str>;

    /// Compares the vector with proofmark's own readers and writers. `form` is the canonical form of the protocol,
    /// if it has one.
    ///
    /// # Errors
    ///
    /// The result of proofmark, if it differs.
    fn confirm(&self, vector: &Vector, form: Option<Form>) -> Result<(), String>;
}

impl std::fmt::Debug for dyn Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A file of vectors.
#[derive(Clone, Debug)]
pub struct VectorFile {
    /// `<protocol>/<kind>` with the file's name for the kind.
    pub name: Located<String>,
    /// Slug.
    pub protocol: String,
    /// The origin of the vectors.
    pub source: String,
    /// Their kind.
    pub kind: &'static dyn Kind,
    /// In the order of the file.
    pub vectors: Vec<Vector>,
}

/// One example.
#[derive(Clone, Debug)]
pub struct Vector {
    /// Unique in its file.
    pub id: Located<String>,
    /// Its description.
    pub about: String,
    /// The requirements that it checks.
    pub covers: Vec<Located<ClauseId>>,
    /// The behaviour of a correct implementation.
    pub result: VectorResult,
    /// For an acceptable vector: the result required in the strict profile, if any.
    pub strict: Option<VectorResult>,
    /// Tolerated readings, each with its hash.
    pub tolerated: Vec<(String, String)>,
    /// Entries of the errata register that affect it.
    pub errata: Vec<String>,
    /// Keys of its kind, including those shared by its group.
    pub fields: Vec<(String, Value)>,
    /// Where it is written.
    pub node: Node,
}

/// The behaviour of a correct implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VectorResult {
    /// It accepts it.
    Valid,
    /// It rejects it.
    Invalid,
    /// Both are permitted; `strict` is the result required in the strict profile.
    Acceptable,
}

/// A call of a library, and the expected answer.
pub struct LibraryCall {
    /// Name of the operation.
    pub operation: &'static str,
    /// Inputs of the operation.
    pub with: Vec<(&'static str, Value)>,
    /// Place, matcher and argument, and whether it only applies in the strict profile.
    pub expect: Vec<(&'static str, &'static str, Value, bool)>,
    /// Where a rejection is expected: a call that the same operation must accept, so that a library that rejects or
    /// ignores everything does not pass.
    pub twin: Option<Twin>,
}

/// A call that a library must answer correctly for its other answers to count.
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
    /// The name of the key, if it is missing or not text.
    pub fn text(&self, name: &'static str) -> Result<&str, &'static str> {
        self.value(name).and_then(Value::as_text).ok_or(name)
    }

    /// The value of a key of its kind.
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }
}

/// The readings of a digest: the ruled one and the tolerated ones. `spell` builds the matcher and its argument.
pub fn readings(vector: &Vector, ruled: &str, spell: impl Fn(&str) -> (&'static str, Value)) -> Value {
    let alternative = |reading: &str, digest: &str, tolerated: bool| {
        let (matcher, argument) = spell(digest);
        Value::map([("reading", Value::text(reading)), ("tolerated", Value::Bool(tolerated)), (matcher, argument)])
    };
    let mut alternatives = vec![alternative("as ruled", ruled, false)];
    alternatives.extend(vector.tolerated.iter().map(|(reading, digest)| alternative(reading, digest, true)));
    Value::Array(alternatives.into())
}
