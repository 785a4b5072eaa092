//! Packages and facts of agentic: harness and reference accept and refuse alike, and agree on the hash of a package and on
//! the returned package.
//!
//! The input is used three times: as a JSON text, and as the choices for a package and for a fact with one or two
//! members changed.

use arbitrary::{Result, Unstructured};
use proofmark::matcher::{Check, Compiler, Outcome};
use proofmark::protocol;
use proofmark::value::Value;
use proofmark::wire::json;
use serde_json::{Value as Json, json};

use crate::{reference, sample};

/// Of so many inputs one is compared with the reference. The others only have to be judged.
const COMPARED: u64 = 6;

const PACKAGE: &str = r#"{"package_id":"pkg_1","project_id":"p","relay_version":"0.1","title":"t","status":"complete",
"package_type":"standard","review_type":"none","created_at":"2026-01-02T03:04:05Z","created_by":{"id":"a","type":"agent",
"session_id":null},"tags":["a"],"deliverables":[{"path":"a/b","type":"file","hash":null,"size_bytes":1}],"significance":5}"#;

const FACT: &str = r#"{"fact_id":"f","project_id":"p","subject":"s","predicate":"p","value":"v",
"valid_from":"2026-01-02T03:04:05Z","created_at":"2026-01-02T03:04:05Z","valid_to":"2026-01-02T03:04:06Z","confidence":1.0,
"asserted_by":{"id":"a","type":"human"},"tags":["a"]}"#;

/// How the reference validates, and the matcher of the harness for the same.
const METHODS: [(&str, &str); 2] = [("validate_package", "valid-package"), ("validate_fact", "valid-fact")];

/// Members of both, with hostile and careless values.
const NAMES: &[&str] = &[
    "package_id",
    "project_id",
    "relay_version",
    "title",
    "status",
    "package_type",
    "review_type",
    "created_at",
    "created_by",
    "description",
    "tags",
    "decisions_made",
    "open_questions",
    "handoff_note",
    "estimated_next_actor",
    "deliverables",
    "parent_package_id",
    "significance",
    "content_md",
    "topic",
    "artifact_type",
    "storage_path",
    "fact_id",
    "subject",
    "predicate",
    "value",
    "valid_from",
    "valid_to",
    "source_package_id",
    "confidence",
    "asserted_by",
    "x-own",
];

#[rustfmt::skip]
const VALUES: &[&str] = &[
    "null", "true", "0", "1", "10", "11", "5.0", "1e1", "0.5", "-0", "1e400", "9007199254740993", r#""""#, r#""a""#,
    r#""0.1""#, r#""0.10""#, r#""draft""#, r#""Draft""#, r#""x-""#, r#""x-a""#, r#""milestone""#, r#""human""#, r#""agent""#,
    r#""script""#, r#""none""#, "[]", "[null]", r#"["a","b"]"#, r#"["a",1]"#, "{}", r#"{"id":"a","type":"agent"}"#,
    r#"{"id":1,"type":"agent"}"#, r#"{"id":"a","type":"robot"}"#, r#"{"id":"a","type":"script","session_id":"s","x":[]}"#,
    r#"[{"path":"/abs","type":"t"}]"#, r#"[{"path":"a","type":"t","size_bytes":-1}]"#, r#"[{"path":"a"}]"#, "[{}]", "[1]",
    r#"[{"path":"https://a","type":"t","hash":"sha256:0"}]"#, r#""2026-01-02T03:04:05Z""#, r#""2026-01-02t03:04:05z""#,
    r#""2026-01-02T03:04:05.123456789Z""#, r#""2026-01-02T03:04:05+00:00""#, r#""2026-02-30T03:04:05Z""#,
    r#""2026-01-02T23:59:60Z""#, r#""2026-01-02T03:04:05.Z""#, r#""2026-01-02 03:04:05Z""#, r#""2026-01-02""#,
    r#""0000-01-01T00:00:00Z""#, r#""\u0000""#, r#""\ud83d\ude00""#,
];

/// Checks one input.
///
/// # Panics
///
/// If one of the two accepts what the other refuses, except for refusals that the errata permit; or if they disagree about a
/// hash.
pub fn run(data: &[u8]) {
    let look = if sample::has(data, COMPARED) { compare } else { judge };
    look(data);
    let mut u = Unstructured::new(data);
    for base in [PACKAGE, FACT] {
        if let Ok(text) = made(&mut u, base) {
            look(text.as_bytes());
        }
    }
}

/// The harness judges any text.
fn judge(text: &[u8]) {
    let Some(value) = plain(text) else { return };
    for (_, matcher) in METHODS {
        compiled(matcher, &Value::Bool(true)).check(Some(&value));
    }
}

/// The value of a JSON text without oddities.
fn plain(text: &[u8]) -> Option<Value> {
    let document = json::read(text).ok().filter(|document| document.oddities.is_empty());
    document.map(|document| document.value)
}

fn made(u: &mut Unstructured<'_>, base: &str) -> Result<String> {
    let mut value = json::parse(base.as_bytes()).expect("it is JSON");
    for _ in 0..u.int_in_range(0..=2)? {
        let name = *u.choose(NAMES)?;
        match u.int_in_range(0..=7)? {
            0 => {
                if let Value::Map(members) = &mut value {
                    members.retain(|(key, _)| key.as_text() != Some(name));
                }
            }
            1 => {
                let count = u.choose(&[199, 200, 201])?;
                value.set_member(name, Value::text(u.choose(&["a", "é", "\u{1f600}"])?.repeat(*count)));
            }
            2 => value.set_member(name, Value::text(u.arbitrary::<String>()?)),
            3 => value.set_member(name, Value::Integer(u.arbitrary::<i64>()?.into())),
            _ => value.set_member(name, json::parse(u.choose(VALUES)?.as_bytes()).expect("it is JSON")),
        }
    }
    Ok(json::compact(&value))
}

fn compare(text: &[u8]) {
    let value = plain(text);
    for (method, matcher) in METHODS {
        let theirs =
            reference::agentic(method, &json!({ "json_hex": reference::hex(text) })).expect("it says what is wrong");
        let errors: Vec<&str> = theirs["errors"]
            .as_array()
            .expect("it lists errors")
            .iter()
            .filter_map(|error| error["pointer"].as_str())
            .collect();
        assert_eq!(theirs["valid"], Json::Bool(errors.is_empty()), "{theirs}");
        let shown = || format!("{matcher}: {}, the reference: {theirs}", String::from_utf8_lossy(text));
        match &value {
            // A server may refuse JSON that is not I-JSON, and the reference does.
            None => assert!(!errors.is_empty(), "{}", shown()),
            Some(value) => match compiled(matcher, &Value::Bool(true)).check(Some(value)) {
                Outcome::Holds(_) => {
                    let wrong = errors.iter().find(|pointer| !is_tolerated(pointer, value));
                    assert_eq!(wrong, None, "only the harness accepts {}", shown());
                }
                Outcome::Mismatch(mismatch) => {
                    let path = mismatch.path.to_string();
                    assert!(errors.contains(&&*path), "the reference does not mind {path:?} in {}", shown());
                }
                other => panic!("{other:?} of {}", shown()),
            },
        }
    }
    if let Some(value @ Value::Map(_)) = value {
        // A package with a member `of` cannot be the argument of the matcher, which has one of that name.
        if value.member("of").is_none() {
            hash(text, &value);
        }
        comes_back(text, &value);
    }
}

/// Refused by a server, but permitted by the harness in answers: it checks only what every reading of the text requires.
fn is_tolerated(pointer: &str, value: &Value) -> bool {
    let text = |name: &str| value.member(name).and_then(Value::as_text);
    match pointer {
        "/title" => text("title").is_some_and(|title| title.chars().count() > 200),
        "/package_type" => text("package_type") == Some("x-"),
        // E88: UTC may be written in other forms than Z, which a server need not accept.
        "/created_at" | "/valid_from" => {
            text(&pointer[1..]).is_some_and(|time| !time.ends_with('Z') || time.contains('t'))
        }
        // E42: an interval that ends before it begins.
        "/valid_to" => text("valid_to").is_some(),
        "/confidence" => value.member("confidence").is_some_and(Value::is_number),
        // E45: asserted_by only has to be an object.
        _ if pointer.starts_with("/asserted_by/") => true,
        // E62: the form of a path, a hash or a size.
        _ => {
            pointer.starts_with("/deliverables/")
                && ["/path", "/hash", "/size_bytes"].iter().any(|end| pointer.ends_with(end))
        }
    }
}

fn compiled(matcher: &str, argument: &Value) -> Box<dyn Check> {
    let matchers = protocol::find("agentic").expect("it is implemented").matchers();
    let matcher = matchers.iter().find(|known| known.name() == matcher).expect("agentic has it");
    matcher
        .compile(argument, &Compiler::new(matchers))
        .unwrap_or_else(|_| panic!("{} refuses its argument", matcher.name()))
}

/// The harness expects exactly the hash that the reference computes.
fn hash(text: &[u8], value: &Value) {
    let theirs = reference::agentic("content_hash", &json!({ "json_hex": reference::hex(text) }));
    let Some(hash) = theirs.as_ref().ok().and_then(|result| result["hash"].as_str()) else {
        panic!("the reference does not hash {}: {theirs:?}", String::from_utf8_lossy(text));
    };
    let seen = |hash: &str| Value::map([("hash", Value::map([("named", Value::text(hash))]))]);
    let check = compiled("content-hash", value);
    let outcome = check.check(Some(&seen(hash)));
    assert_eq!(outcome, Outcome::HOLDS, "{hash} of {}", String::from_utf8_lossy(text));
    let last = if hash.ends_with('0') { '1' } else { '0' };
    let wrong = format!("{}{last}", &hash[..hash.len() - 1]);
    assert!(
        matches!(check.check(Some(&seen(&wrong))), Outcome::Mismatch(_)),
        "{wrong} of {}",
        String::from_utf8_lossy(text)
    );
}

/// A package that the reference accepts comes back unchanged.
fn comes_back(text: &[u8], value: &Value) {
    let Ok(result) = reference::agentic("roundtrip_package", &json!({ "json_hex": reference::hex(text) })) else {
        return;
    };
    let back = reference::bytes(&result, "json_hex");
    let back = json::parse(&back).unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&back)));
    let outcome = compiled("same-package", value).check(Some(&back));
    assert!(
        matches!(outcome, Outcome::Holds(_)),
        "{outcome:?}: {} came back as {back:?}",
        String::from_utf8_lossy(text)
    );
}
