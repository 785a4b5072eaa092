//! Kinds of vectors, and the vectors of a file.

use crate::requirement::ClauseId;
use crate::source::{Located, Node};
use crate::value::Value;
use crate::wire::canonical::Form;

/// A kind of vector: the operation it calls and the answer it expects.
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

    /// Compares the vector with proofmark's own reading and writing of bytes. `form` is the canonical form of the protocol,
    /// if it has one.
    ///
    /// # Errors
    ///
    /// What proofmark makes of it instead, in words.
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
    /// Where the vectors come from.
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
    /// What it shows.
    pub about: String,
    /// The requirements that it decides.
    pub covers: Vec<Located<ClauseId>>,
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
    /// Either; `strict` has what the strict profile expects.
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

/// The readings of a digest: the ruled one, and those that are tolerated. `spell` makes the argument of a matcher.
pub fn readings(vector: &Vector, ruled: &str, spell: impl Fn(&str) -> (&'static str, Value)) -> Value {
    let alternative = |reading: &str, digest: &str, tolerated: bool| {
        let (matcher, argument) = spell(digest);
        Value::map([("reading", Value::text(reading)), ("tolerated", Value::Bool(tolerated)), (matcher, argument)])
    };
    let mut alternatives = vec![alternative("as ruled", ruled, false)];
    alternatives.extend(vector.tolerated.iter().map(|(reading, digest)| alternative(reading, digest, true)));
    Value::Array(alternatives)
}
