//! The types of parameters and results of adapter methods, in a small notation that reads like TypeScript.
//!
//! | notation | holds for |
//! |---|---|
//! | `string`, `integer`, `number`, `boolean`, `null`, `any`, `object` | a JSON value of this type; `object` with any members |
//! | `hex` | a string of pairs of lower-case hexadecimal digits |
//! | `"text"` | this string |
//! | `true`, `false` | this boolean |
//! | `T[]` | an array whose items are `T` |
//! | `A \| B` | either |
//! | `{ name: T, name?: T }` | an object with these members, of which those with `?` may be absent |
//! | another name | the shape of that name in the table of the protocol |

use crate::value::Value;

/// A parsed type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A type by name: a basic one, or one of the table of the protocol.
    Named(String),
    /// Exactly this string.
    Word(String),
    /// Exactly this boolean.
    Truth(bool),
    /// An array with items of one type.
    List(Box<Shape>),
    /// One of several types.
    Either(Vec<Shape>),
    /// An object.
    Object(Vec<Member>),
}

/// A member of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: String,
    /// Whether it may be absent.
    pub optional: bool,
    /// Its type.
    pub shape: Shape,
}

/// The basic types.
pub const BASIC: &[&str] = &["string", "integer", "number", "boolean", "null", "any", "object", "hex"];

impl Shape {
    /// Reads the notation.
    ///
    /// # Errors
    /// Says what was expected, and the rest of the text at that place.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut rest = text.trim();
        let shape = either(&mut rest)?;
        if rest.is_empty() { Ok(shape) } else { Err(format!("expected the end of the type, found `{rest}`")) }
    }

    /// Every object that a value of this type may be.
    pub fn objects(&self) -> Vec<&[Member]> {
        match self {
            Self::Object(members) => vec![members],
            Self::Either(shapes) => shapes.iter().flat_map(Self::objects).collect(),
            _ => Vec::new(),
        }
    }

    /// Where and why a value is not of this type: a path and a reason. `named` gives the type of a name that is not basic.
    /// Members that the type does not name do not fit.
    pub fn mismatch(&self, value: &Value, named: &dyn Fn(&str) -> Option<Shape>) -> Option<String> {
        match self {
            Self::Named(name) => mismatch_of_name(name, value, named),
            Self::Word(word) => (value.as_text() != Some(word)).then(|| format!("is not \"{word}\"")),
            Self::Truth(truth) => (*value != Value::Bool(*truth)).then(|| format!("is not {truth}")),
            Self::List(item) => match value.as_array() {
                None => Some("is not an array".to_owned()),
                Some(items) => items
                    .iter()
                    .enumerate()
                    .find_map(|(index, value)| item.mismatch(value, named).map(|why| below(&index.to_string(), &why))),
            },
            Self::Either(shapes) => {
                let reasons: Vec<_> = shapes.iter().map(|shape| shape.mismatch(value, named)).collect();
                let reasons = reasons.into_iter().collect::<Option<Vec<_>>>();
                reasons.map(|reasons| format!("fits none of several types ({})", reasons.join("; ")))
            }
            Self::Object(members) => {
                let Some(present) = value.as_map() else { return Some("is not an object".to_owned()) };
                let missing = members.iter().find(|member| !member.optional && value.member(&member.name).is_none());
                if let Some(member) = missing {
                    return Some(format!("has no member `{}`", member.name));
                }
                present.iter().find_map(|(name, value)| {
                    let name = name.as_text().unwrap_or_default();
                    match members.iter().find(|member| member.name == name) {
                        None => Some(format!("has a member `{name}` that the type does not have")),
                        Some(member) => member.shape.mismatch(value, named).map(|why| below(name, &why)),
                    }
                })
            }
        }
    }
}

/// A reason with the name of the place above it.
fn below(name: &str, why: &str) -> String {
    let between = if why.starts_with('/') { "" } else { " " };
    format!("/{name}{between}{why}")
}

fn mismatch_of_name(name: &str, value: &Value, named: &dyn Fn(&str) -> Option<Shape>) -> Option<String> {
    let is_hex =
        |text: &str| text.len().is_multiple_of(2) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let fits = match name {
        "any" => true,
        "string" => value.as_text().is_some(),
        "hex" => value.as_text().is_some_and(is_hex),
        "integer" => value.as_integer().is_some(),
        "number" => value.is_number(),
        "boolean" => matches!(value, Value::Bool(_)),
        "null" => *value == Value::Null,
        "object" => value.as_map().is_some(),
        other => match named(other) {
            Some(shape) => return shape.mismatch(value, named),
            None => return Some(format!("has the unknown type `{other}`")),
        },
    };
    (!fits).then(|| format!("is of type {}, not {name}", value.type_name()))
}

fn either(rest: &mut &str) -> Result<Shape, String> {
    let mut shapes = vec![list(rest)?];
    while eat(rest, "|") {
        shapes.push(list(rest)?);
    }
    Ok(if shapes.len() == 1 { shapes.remove(0) } else { Shape::Either(shapes) })
}

fn list(rest: &mut &str) -> Result<Shape, String> {
    let mut shape = single(rest)?;
    while eat(rest, "[]") {
        shape = Shape::List(Box::new(shape));
    }
    Ok(shape)
}

fn single(rest: &mut &str) -> Result<Shape, String> {
    if eat(rest, "(") {
        let shape = either(rest)?;
        return if eat(rest, ")") { Ok(shape) } else { Err(format!("expected `)`, found `{rest}`")) };
    }
    if eat(rest, "\"") {
        let end = rest.find('"').ok_or_else(|| format!("expected `\"`, found `{rest}`"))?;
        let word = rest[..end].to_owned();
        *rest = rest[end + 1..].trim_start();
        return Ok(Shape::Word(word));
    }
    if !eat(rest, "{") {
        let name = name(rest)?;
        return Ok(match name.as_str() {
            "true" => Shape::Truth(true),
            "false" => Shape::Truth(false),
            _ => Shape::Named(name),
        });
    }
    let mut members = Vec::new();
    while !eat(rest, "}") {
        let name = name(rest)?;
        let optional = eat(rest, "?");
        if !eat(rest, ":") {
            return Err(format!("expected `:` after `{name}`, found `{rest}`"));
        }
        members.push(Member { name, optional, shape: either(rest)? });
        if !eat(rest, ",") && !rest.starts_with('}') {
            return Err(format!("expected `,` or `}}`, found `{rest}`"));
        }
    }
    Ok(Shape::Object(members))
}

fn name(rest: &mut &str) -> Result<String, String> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    if end == 0 {
        return Err(format!("expected a name, found `{rest}`"));
    }
    let name = rest[..end].to_owned();
    *rest = rest[end..].trim_start();
    Ok(name)
}

/// Whether the text goes on with `token`, which is then consumed.
fn eat(rest: &mut &str, token: &str) -> bool {
    match rest.strip_prefix(token) {
        Some(after) => {
            *rest = after.trim_start();
            true
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    fn why(shape: &str, value: &str) -> Option<String> {
        let named = |name: &str| (name == "pair").then(|| Shape::parse("{ a: hex, b?: integer | null }").unwrap());
        Shape::parse(shape).unwrap().mismatch(&json::parse(value.as_bytes()).unwrap(), &named)
    }

    #[test]
    fn values_of_a_type_fit_and_others_do_not() {
        for (shape, good, bad) in [
            ("hex", "\"0aff\"", "\"0aF\""),
            ("string[]", "[\"a\"]", "[\"a\", 1]"),
            ("\"x\" | \"y\"", "\"y\"", "\"z\""),
            ("pair", "{\"a\": \"\"}", "{\"b\": 1}"),
            ("pair", "{\"a\": \"00\", \"b\": null}", "{\"a\": \"00\", \"b\": \"1\"}"),
            ("{ list: pair[] }", "{\"list\": [{\"a\": \"\"}]}", "{\"list\": [{\"a\": 1}]}"),
            ("{ done: true } | { code: integer }", "{\"code\": 1}", "{\"done\": false}"),
            ("{}", "{}", "{\"more\": 1}"),
            ("(integer | null)[]", "[null, 1]", "[false]"),
        ] {
            assert_eq!(why(shape, good), None, "{shape} {good}");
            assert!(why(shape, bad).is_some(), "{shape} {bad}");
        }
        assert_eq!(
            why("{ list: pair[] }", "{\"list\": [{\"a\": 1}]}").unwrap(),
            "/list/0/a is of type number, not hex"
        );
        assert!(why("unheard", "1").is_some());
    }

    #[test]
    fn a_broken_type_is_an_error() {
        for text in ["", "{ a }", "{ a: b", "a b", "\"x", "(a", "a |"] {
            assert!(Shape::parse(text).is_err(), "{text}");
        }
    }
}
