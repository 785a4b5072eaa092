//! `amp-type`, `amp-error-code`, `amp-version` and `amp-id`: the tables and small functions of RFC 001.

use super::common::{self, any_of, at, bytes, fixed, inputs, library_call, must, reading, unsigned};
use crate::protocol::amp_core::{codes, message_id};
use crate::value::Value;
use crate::vector::{Kind, LibraryCall, Vector, VectorResult};
use crate::wire::canonical::Form;

fn unknown(vector: &Vector) -> bool {
    vector.result == VectorResult::Invalid
}

/// The expected answer to a twin that is accepted: the values of these keys.
fn answers(vector: &Vector, places: &[(&'static str, &'static str)]) -> Vec<(&'static str, &'static str, Value)> {
    let found = places.iter().filter_map(|(place, key)| Some((*place, "equals", vector.value(key)?.clone())));
    found.collect()
}

pub(super) struct Type;

impl Kind for Type {
    fn name(&self) -> &'static str {
        "amp-type"
    }

    fn summary(&self) -> &'static str {
        "A type code and its name, looked up in one direction; unassigned codes and names are unknown."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ask", "typ", "name", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let (operation, input, place, answer) = match vector.text("ask")? {
            "name" => ("type-info", "typ", "/result/name", "name"),
            "code" => ("type-code", "name", "/result/typ", "typ"),
            _ => return Err("ask"),
        };
        let expect = match vector.value(answer) {
            _ if unknown(vector) => vec![("/result/unknown", "equals", Value::Bool(true), false)],
            Some(answer) => vec![(place, "equals", answer.clone(), false)],
            None => return Err(answer),
        };
        library_call(vector, operation, &[input], expect, |twin| answers(twin, &[(place, answer)]))
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let (typ, name) = (unsigned(vector.value("typ")), vector.value("name").and_then(Value::as_text));
        match (vector.text("ask"), typ, name) {
            (Ok("name"), Some(typ), name) => must(codes::type_name(typ) == name, "another name"),
            (_, typ, Some(name)) => must(codes::type_code(name) == typ, "another code"),
            _ => Err("no question".to_owned()),
        }
    }
}

pub(super) struct ErrorCode;

impl Kind for ErrorCode {
    fn name(&self) -> &'static str {
        "amp-error-code"
    }

    fn summary(&self) -> &'static str {
        "An error code with its name, its category and whether a retry makes sense."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["code", "name", "category", "retry", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let expect = if unknown(vector) {
            vec![("/result/unknown", "equals", Value::Bool(true), false)]
        } else {
            let category = vector.text("category")?;
            vec![
                ("/result/name", "equals", Value::text(vector.text("name")?), false),
                // Letter case matters only in the strict profile (E33).
                ("/result/category", "matches", Value::text(format!("^(?i:{category})$")), false),
                ("/result/category", "equals", Value::text(category), true),
                ("/result/retry", "equals", vector.value("retry").ok_or("retry")?.clone(), false),
            ]
        };
        library_call(vector, "error-info", &["code"], expect, |twin| answers(twin, &[("/result/name", "name")]))
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let found = unsigned(vector.value("code")).and_then(codes::error);
        let Some(row) = found else { return must(unknown(vector), "no such code") };
        must(vector.text("name") == Ok(row.name), row.name)?;
        must(vector.text("category") == Ok(row.category()), row.category())?;
        must(vector.value("retry") == Some(&Value::Bool(row.retry)), "another advice")
    }
}

pub(super) struct Version;

impl Kind for Version {
    fn name(&self) -> &'static str {
        "amp-version"
    }

    fn summary(&self) -> &'static str {
        "The major of a version, or the versions of an offer that may be selected."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ask", "version", "major", "supported", "offered", "selected", "twin"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        match vector.text("ask")? {
            "major" => {
                let expect = match vector.value("major") {
                    // E98: everything before the first dot of a text without one is the whole text.
                    _ if vector.result == VectorResult::Acceptable => {
                        let undefined = || at("/result/undefined", "equals", Value::Bool(true));
                        let number = at("/result/major", "type", Value::text("uint"));
                        let either = vec![
                            reading("undefined", false, vec![undefined()]),
                            reading("a number", false, vec![number]),
                        ];
                        vec![any_of(either, false), any_of(vec![reading("undefined", false, vec![undefined()])], true)]
                    }
                    _ if unknown(vector) => vec![("/result/undefined", "equals", Value::Bool(true), false)],
                    Some(major) => vec![("/result/major", "equals", major.clone(), false)],
                    None => return Err("major"),
                };
                library_call(vector, "major", &["version"], expect, |twin| answers(twin, &[("/result/major", "major")]))
            }
            "select" => {
                let assume = |_: &Vector| vec![("/result/selected", "type", Value::text("string"))];
                library_call(vector, "select-version", &["supported", "offered"], selection(vector)?, assume)
            }
            _ => Err("ask"),
        }
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        if vector.text("ask") == Ok("major") {
            let made = major(vector.text("version").unwrap_or_default());
            return must(made == unsigned(vector.value("major")), &format!("major {made:?}"));
        }
        let listed = |name| vector.value(name).and_then(Value::as_array).unwrap_or_default();
        let supported = listed("supported");
        let made: Vec<_> = listed("offered").iter().filter(|version| supported.contains(version)).collect();
        must(made == listed("selected").iter().collect::<Vec<_>>(), &format!("{made:?}"))
    }
}

/// One of the versions that may be selected; in a lenient run, any with the major of such a version (E51).
fn selection(vector: &Vector) -> Result<Vec<common::Expected>, &'static str> {
    if unknown(vector) {
        return Ok(vec![("/result/rejected", "equals", Value::Bool(true), false)]);
    }
    let selected = vector.value("selected").ok_or("selected")?;
    let majors = selected.as_array().unwrap_or_default().iter().filter_map(|version| major(version.as_text()?));
    let majors: Vec<String> = majors.map(|major| major.to_string()).collect();
    Ok(vec![
        ("/result/selected", "matches", Value::text(format!(r"^({})\.", majors.join("|"))), false),
        ("/result/selected", "one-of", selected.clone(), true),
    ])
}

/// The major of a version of two or three parts (E50).
fn major(version: &str) -> Option<u64> {
    let is_number =
        |part: &&str| part.bytes().all(|byte| byte.is_ascii_digit()) && (*part == "0" || !part.starts_with('0'));
    let parts: Vec<&str> = version.split('.').collect();
    let sound = matches!(parts.len(), 2 | 3) && parts.iter().all(|part| !part.is_empty() && is_number(part));
    if sound { parts.first()?.parse().ok() } else { None }
}

pub(super) struct Id;

impl Kind for Id {
    fn name(&self) -> &'static str {
        "amp-id"
    }

    fn summary(&self) -> &'static str {
        "A time, and the message ids created for it, with given or generated random parts."
    }

    fn keys(&self) -> &'static [&'static str] {
        &["ts", "random", "count", "ids"]
    }

    fn library_call(&self, vector: &Vector) -> Result<LibraryCall, &'static str> {
        let ts = unsigned(vector.value("ts")).ok_or("ts")?;
        let expect = match vector.value("ids") {
            Some(ids) => vec![("/result/ids", "equals", ids.clone(), false)],
            None => {
                let count = vector.value("count").ok_or("count")?.clone();
                let form = Value::map([("matches", Value::text(format!("^{ts:016x}[0-9a-f]{{16}}$")))]);
                vec![("/result/ids", "length", count, false), ("/result/ids", "each", form, false)]
            }
        };
        Ok(LibraryCall { operation: "make-id", with: inputs(vector, &["ts", "random", "count"]), expect, twin: None })
    }

    fn confirm(&self, vector: &Vector, _: Option<Form>) -> Result<(), String> {
        let Some(ids) = vector.value("ids").and_then(Value::as_array) else { return Ok(()) };
        let made = message_id::new(unsigned(vector.value("ts")).ok_or("no ts")?, fixed(vector, "random")?);
        let made = Value::text(common::show_hex(&made));
        must(ids == [made.clone()] && bytes(vector, "random")?.len() == 8, &crate::wire::show(&made))
    }
}
