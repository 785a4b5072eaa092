//! Files of cases, and the manifest of a protocol.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Map, Value, json};

use super::{Expr, Filled, ROW, Texts};
use crate::matcher::{self, Matcher};
use crate::protocol;
use crate::source::{Source, parse};

/// A list, any part of which a row of the table may give.
type List<T> = Filled<Vec<Filled<T>>>;

/// A file of cases about one area of one protocol.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
pub(super) struct Suite {
    /// `<protocol>/<area>`.
    #[schemars(regex(pattern = r"^[a-z0-9-]+/[a-z0-9-]+$"))]
    suite: String,
    /// What the cases are about, in one sentence.
    about: Option<String>,
    /// The cases.
    #[schemars(length(min = 1))]
    cases: Vec<Case>,
}

/// The unit that gets a verdict: steps in order, in isolation from every other case.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Case {
    /// A sentence about the target in the present tense, with hyphens: `refuses-a-package-without-title`.
    #[schemars(regex(pattern = r"^([a-z0-9]|\$\{row\.[^}]+\})([a-z0-9-]|\$\{row\.[^}]+\})*$"))]
    case: String,
    /// What the id does not say, in one sentence.
    about: Option<String>,
    /// The ids of the requirements that the case decides.
    covers: Option<Texts>,
    /// Features that the target must offer, or a level that it must claim.
    needs: Option<Texts>,
    /// The kinds of target that it can be put to; every kind that has its operations if left out.
    reach: Option<Reaches>,
    /// Whether only the strict profile counts what it finds.
    strict_only: Option<Filled<bool>>,
    /// Whether the set-up of the protocol is left out, because the case is about it.
    without_setup: Option<Filled<bool>>,
    /// Whether a failure counts even if the twin was refused.
    stands_alone: Option<Filled<bool>>,
    /// Whether the twin is sent before the case instead of after it: where the case may be the last thing that is answered.
    twin_first: Option<Filled<bool>>,
    /// A table: one case for each row, with each `${row.NAME}` replaced by the member of the row.
    #[schemars(rename = "for_each", length(min = 1))]
    for_each: Option<Vec<Row>>,
    /// Names and their values, in order.
    #[schemars(rename = "let")]
    bindings: Option<BTreeMap<String, Expr>>,
    /// What is done, in order.
    steps: List<Step>,
}

/// One row of a table of cases. Members besides these are the row's own.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Row {
    /// Name of the row; the case's id ends in it: `case[row]`.
    row: String,
    /// What this row shows, in one sentence.
    about: Option<String>,
    /// Requirements that it decides besides those of the case.
    covers: Option<Texts>,
    /// Features that it needs besides those of the case.
    needs: Option<Texts>,
    /// Whether only the strict profile counts what this row finds.
    strict_only: Option<bool>,
}

/// A kind of target.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Reach {
    /// A server that is reached over a network.
    Endpoint,
    /// A library behind an adapter.
    Adapter,
    /// An endpoint, over HTTP only.
    Http,
    /// An endpoint, over WebSocket only.
    Ws,
    /// An endpoint, over TCP only.
    Tcp,
}

/// One kind of target, or several.
#[derive(JsonSchema)]
#[schemars(untagged, inline)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Reaches {
    One(Filled<Reach>),
    Several(Vec<Filled<Reach>>),
}

/// One action and what is expected of its answers. It does exactly one thing: `send`, `request`, `parallel`, `pause` or
/// `sweep`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[schemars(extend("oneOf" = [
    { "required": ["send"] }, { "required": ["request"] }, { "required": ["parallel"] }, { "required": ["pause"] },
    { "required": ["sweep"] },
]))]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Step {
    /// The party that proofmark plays: `a` if left out.
    #[schemars(rename = "as")]
    actor: Option<String>,
    /// An operation of the protocol (`proofmark list --what operations`).
    send: Option<String>,
    /// A raw HTTP request that is no operation of the protocol.
    request: Option<Filled<Request>>,
    /// Steps that are taken side by side.
    parallel: Option<List<Step>>,
    /// A time to wait.
    pause: Option<Duration>,
    /// Sends nothing: the expectations are held against every message that the target made in the run.
    sweep: Option<Filled<bool>>,
    /// Inputs of the operation.
    with: Option<Filled<BTreeMap<String, Expr>>>,
    /// Header fields besides the operation's own.
    headers: Option<Filled<BTreeMap<String, Expr>>>,
    /// Deliberate defects. A case that has any is sent a second time without them: its twin, which must be accepted.
    edit: Option<List<Edit>>,
    /// How the body is laid out: the first three for JSON, the others for CBOR.
    layout: Option<Filled<Layout>>,
    /// The step is taken once for each element of this list, with `${item}` and `${index}` bound.
    #[schemars(rename = "for")]
    over: Option<Expr>,
    /// The step is taken this many times, with `${index}` bound.
    repeat: Option<Filled<u64>>,
    /// Whether repetitions are put side by side instead of one after another.
    at_once: Option<Filled<bool>>,
    /// Repeated until the expectations hold, for at most this long.
    until: Option<Duration>,
    /// Repeated for this long; the expectations hold all along.
    quiet: Option<Duration>,
    /// Over a connection that stays open: whether the next step is taken at once, and gets the answers.
    without_waiting: Option<Filled<bool>>,
    /// Over a connection that stays open: answers are collected for at least this long.
    settle: Option<Duration>,
    /// What must hold of each answer for the question to make sense at all; else the case is inconclusive.
    assume: Option<List<Expectation>>,
    /// What must hold of each answer.
    expect: Option<List<Expectation>>,
    /// What must hold of all answers of the step together, under `/answers`.
    expect_all: Option<List<Expectation>>,
    /// Names for parts of the answer, for later steps: a name and a path.
    capture: Option<Filled<BTreeMap<String, String>>>,
    /// Whether to go without an answer is a departure from what is expected, and not only a reason to say nothing.
    must_answer: Option<Filled<bool>>,
    /// In a set-up: whether the step is passed over where its operation is not offered.
    optional: Option<Filled<bool>>,
}

/// A time such as `250ms`, `5s` or `2m`.
struct Duration;

impl JsonSchema for Duration {
    fn schema_name() -> Cow<'static, str> {
        "Duration".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A time such as `250ms`, `5s` or `2m`.",
            "type": "string",
            "pattern": r"^([0-9]+(ms|s|m)|\$\{row\.[^}/]+\})$",
        })
    }
}

/// How a body is laid out.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Layout {
    /// No white space, members in the order written.
    Compact,
    /// Indented.
    Pretty,
    /// Members of every object in reverse order.
    Reversed,
    /// As RFC 8949 section 4.2.1 has it.
    Deterministic,
    /// Members in the order written, heads as short as they can be.
    AsWritten,
    /// All integers in eight bytes.
    WideIntegers,
    /// All lengths in eight bytes.
    WideLengths,
    /// Strings, arrays and maps of indefinite length.
    Indefinite,
    /// Keys in the length-first order of RFC 8949 section 4.2.3.
    LengthFirst,
    /// Keys in the order of their text.
    TextOrder,
}

/// A raw HTTP request. Its body is at most one of `json`, `body`, `text` and `hex`.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Request {
    /// HTTP method.
    method: String,
    /// Path and query, from the root of the target's URL.
    path: String,
    /// Header fields.
    headers: Option<BTreeMap<String, Expr>>,
    /// The body as a JSON text, with templates in its strings.
    json: Option<String>,
    /// The body as a value.
    body: Option<Expr>,
    /// The body as text, byte for byte.
    text: Option<String>,
    /// The body as bytes in hex.
    hex: Option<String>,
}

/// One deliberate defect of a message. It makes exactly one change.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(extend("oneOf" = [
    { "required": ["remove"] }, { "required": ["set"] }, { "required": ["rename"] }, { "required": ["repeat"] },
    { "required": ["whole"] }, { "required": ["truncate"] }, { "required": ["bytes"] }, { "required": ["replace"] },
    { "required": ["flip"] }, { "required": ["insert"] }, { "required": ["cut"] }, { "required": ["overwrite"] },
    { "required": ["header"] },
]))]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Edit {
    /// When the change is made; the natural stage of the change if left out.
    stage: Option<Filled<Stage>>,
    /// Takes away what is at this place.
    remove: Option<String>,
    /// Puts `to`, or `json`, at this place.
    set: Option<String>,
    /// Gives the member at this place the name `to`.
    rename: Option<String>,
    /// Writes the member at this place a second time, with the value `to` or `json`.
    repeat: Option<String>,
    /// Sends this value instead of the whole message.
    whole: Option<Expr>,
    /// Keeps this many bytes of the body only.
    truncate: Option<Filled<u64>>,
    /// Sends these bytes instead of the whole body: text, or `{ hex: … }`.
    bytes: Option<Bytes>,
    /// Replaces the first occurrence of this text in the bytes by the bytes of `to`.
    replace: Option<String>,
    /// Turns one bit of the byte with this index, which wraps at the end.
    flip: Option<Filled<u64>>,
    /// Which bit `flip` turns, from 0.
    bit: Option<Filled<u64>>,
    /// Puts these bytes before the byte `at`; behind the body without one.
    insert: Option<Bytes>,
    /// Takes away this many bytes, from the byte `at` on.
    cut: Option<Filled<u64>>,
    /// Puts these bytes in the place of as many others, from the byte `at` on.
    overwrite: Option<Bytes>,
    /// Where `insert`, `cut` and `overwrite` begin, counted from 0; it wraps at the end for the last two.
    at: Option<Filled<u64>>,
    /// Sets this header field to `to`, or leaves it out where there is no `to`.
    header: Option<String>,
    /// What `set`, `rename`, `repeat`, `replace` and `header` put in place.
    to: Option<Expr>,
    /// As `to` for `set` and `repeat`, from a JSON text: where the spelling counts.
    json: Option<String>,
}

/// Bytes as text, or in hex.
#[derive(JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Bytes {
    Text(String),
    Hex(Hex),
}

/// Bytes in hex.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Hex {
    /// Two digits a byte.
    hex: String,
}

/// When an edit is made.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Stage {
    /// Before the message is signed or sealed.
    Built,
    /// After that, before it is encoded.
    Protected,
    /// On the bytes.
    Encoded,
}

/// A place in an answer and one matcher on it.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct ExpectationKeys {
    /// The place, as a JSON Pointer into the observation: `/status`, `/headers/location`, `/body/items/0`. The whole
    /// observation if left out.
    at: Option<String>,
    /// The requirements that it decides; all that the case covers if left out.
    covers: Option<Texts>,
    /// Whether only the strict profile counts it.
    strict_only: Option<Filled<bool>>,
    /// What a reader of the finding should know.
    note: Option<String>,
}

/// [`ExpectationKeys`] and a property for each matcher.
struct Expectation;

impl JsonSchema for Expectation {
    fn schema_name() -> Cow<'static, str> {
        "Expectation".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = ExpectationKeys::json_schema(generator);
        let mut properties = schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_else(Map::new);
        for (name, property) in matchers() {
            properties.insert(name, property);
        }
        schema.insert("properties".into(), Value::Object(properties));
        // The name of a matcher may be a row's to give.
        schema.insert("patternProperties".into(), json!({ ROW: true }));
        schema.insert("additionalProperties".into(), json!(false));
        schema
    }
}

/// A property for each matcher there is.
fn matchers() -> BTreeMap<String, Value> {
    let mut properties = BTreeMap::new();
    let mut add = |matcher: &dyn Matcher, owner: &str| {
        let mut property =
            json!({ "description": format!("{owner}{} Example: `{}`", matcher.summary(), matcher.example()) });
        if let Some(argument) = example(matcher) {
            property["examples"] = json!([argument]);
        }
        properties.insert(matcher.name().to_owned(), property);
    };
    matcher::ALL.iter().for_each(|matcher| add(*matcher, ""));
    for protocol in protocol::ALL {
        let owner = format!("Only for {}. ", protocol.slug());
        protocol.matchers().iter().for_each(|matcher| add(*matcher, &owner));
    }
    properties
}

/// The argument that a matcher has in its example.
fn example(matcher: &dyn Matcher) -> Option<Value> {
    let source = Arc::new(Source { name: matcher.name().to_owned(), text: matcher.example().to_owned() });
    let argument = parse(&source).ok()?.member(matcher.name())?.to_value();
    serde_json::from_str(&crate::wire::json::compact(&argument)).ok()
}

/// What all cases of a protocol share.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
pub(super) struct Manifest {
    /// Slug of the protocol.
    protocol: String,
    /// The levels, lowest first; each includes the ones before it.
    levels: Option<Texts>,
    /// For a level, the feature that shows that a target may have it although it does not claim it.
    beyond: Option<BTreeMap<String, String>>,
    /// For a transport that a target need not offer, the feature that shows that it does.
    transports: Option<BTreeMap<String, String>>,
    /// How to learn what a target says of itself.
    claims: Claims,
    /// Named values that cases build on with `{ base: NAME }`.
    objects: Option<BTreeMap<String, Expr>>,
    /// Bindings that every case has, made when first asked for.
    #[schemars(rename = "let")]
    bindings: Option<BTreeMap<String, Expr>>,
    /// What is done before a case.
    setup: Option<Vec<Setup>>,
    /// Options that a target may offer.
    features: Option<Vec<Feature>>,
    /// What `proofmark fuzz` goes by.
    fuzz: Option<Fuzz>,
}

/// What a fuzzer goes by: what shows that a changed message was answered or taken, and what a target breaks that fails at
/// one.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Fuzz {
    /// For an operation, the requirement that a target breaks which fails at a message instead of answering it. Operations
    /// that are not named are not fuzzed.
    operations: BTreeMap<String, String>,
    /// Expectations that hold for an answer that is no failure of the target.
    answered: Vec<Expectation>,
    /// Expectations that hold for an answer that takes the message.
    accepted: Vec<Expectation>,
    /// A step that shows that the target still answers.
    alive: Vec<Step>,
    /// Members that a message may have, each with a value that is usual for it: they are put into messages that have none.
    #[serde(default)]
    members: BTreeMap<String, Value>,
}

/// Where a target says which level it has.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Claims {
    /// Where it says so.
    level: Option<LevelClaim>,
    /// The level that is assumed of a target that says nothing.
    default: String,
}

/// The probe whose answer names the level, and the place in it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct LevelClaim {
    /// Name of a feature.
    feature: String,
    /// Place in the observation of the last step of its probe.
    at: String,
}

/// Steps that are taken before a case.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Setup {
    /// Taken once for each of these bindings that the case uses, with `${it}` bound to its value; always if left out.
    uses: Option<Texts>,
    /// Whether it is taken once for each party that proofmark plays in the case.
    #[schemars(rename = "each-actor")]
    each_actor: Option<bool>,
    /// Taken only if the target offers these features.
    needs: Option<Texts>,
    /// Taken only at these kinds of target.
    reach: Option<Reaches>,
    /// The steps.
    steps: Option<Vec<Step>>,
    /// Steps that are taken after the case, whatever came of it, and never judged.
    after: Option<Vec<Step>>,
}

/// An option of the protocol, and how to find out whether a target offers it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Feature {
    /// Its name, for `needs`.
    feature: String,
    /// What it is.
    about: String,
    /// What its absence means for the cases that need it.
    absent: Absent,
    /// What to configure where it is not found.
    advice: Option<String>,
    /// The kinds of target, `endpoint` and `adapter`, at which nothing passes unless this is offered.
    floor: Option<Texts>,
    /// The operation whose configured route makes it offered whatever the probe finds.
    operation: Option<String>,
    /// Whether it is found out before all others, because what its steps capture is needed to ask for them.
    first: Option<bool>,
    /// How to find out.
    probe: Option<Vec<Step>>,
    /// The target offers it if all of these hold for the last answer.
    offered: Option<Vec<Expectation>>,
    /// The target does not offer it if all of these hold for the last answer. Checked first.
    missing: Option<Vec<Expectation>>,
}

/// What the absence of a feature means for the cases that need it.
#[derive(JsonSchema)]
#[schemars(rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
enum Absent {
    /// They are not run: the option is the target's to leave out.
    NotClaimed,
    /// They are inconclusive: it is demanded, but the specification names no way to reach it.
    Inconclusive,
    /// They are run, and fail: the specification says where it is.
    Run,
}
