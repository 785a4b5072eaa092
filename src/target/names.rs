//! Member names of a target that differ from those of the protocol (`names` in a target file).

use std::collections::BTreeMap;

use crate::value::Value;

/// A kind of object whose members may have other names at a target. The protocol lists them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedObject {
    /// Its name under `names`.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub summary: &'static str,
    /// Members one of which every such object has, and no object of another kind.
    pub marks: &'static [&'static str],
    /// The operations whose body is such an object.
    pub operations: &'static [&'static str],
    /// An example of a value under `names`.
    pub example: &'static str,
}

/// The names of a target for the members of such objects.
#[derive(Clone, Debug, Default)]
pub struct MemberNames {
    /// The name at the target, by the kind of object and the name of the protocol.
    pub own: BTreeMap<String, BTreeMap<String, String>>,
    /// The kinds of objects whose members may have other names; the protocol fills it in.
    pub objects: &'static [NamedObject],
}

impl MemberNames {
    /// The body of an operation with the member names of the target.
    pub fn to_own(&self, operation: &str, body: Value) -> Value {
        let kind = self.objects.iter().find(|kind| kind.operations.contains(&operation));
        match kind.and_then(|kind| self.own.get(kind.name)) {
            Some(names) => renamed(body, |name| names.get(name).map(String::as_str)),
            None => body,
        }
    }

    /// What the target answered, with the member names of the protocol. An object is recognised by its marks.
    pub fn to_wire(&self, body: Value) -> Value {
        if self.own.is_empty() {
            return body;
        }
        let body = match body {
            Value::Map(members) => {
                Value::Map(members.into_iter().map(|(key, value)| (key, self.to_wire(value))).collect())
            }
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.to_wire(item)).collect()),
            other => return other,
        };
        for kind in self.objects {
            let Some(names) = self.own.get(kind.name) else { continue };
            let own = |mark: &&str| names.get(*mark).map_or(*mark, String::as_str).to_owned();
            if kind.marks.iter().any(|mark| body.member(&own(mark)).is_some()) {
                let back: BTreeMap<&str, &str> =
                    names.iter().map(|(wire, own)| (own.as_str(), wire.as_str())).collect();
                return renamed(body, |name| back.get(name).copied());
            }
        }
        body
    }
}

/// A map with other names for its members; everything else unchanged.
pub fn renamed<'n>(value: Value, name: impl Fn(&str) -> Option<&'n str>) -> Value {
    match value {
        Value::Map(members) => {
            let member = |(key, value): (Value, Value)| match key.as_text().and_then(&name) {
                Some(other) => (Value::text(other), value),
                None => (key, value),
            };
            Value::Map(members.into_iter().map(member).collect())
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    const OBJECTS: &[NamedObject] = &[NamedObject {
        name: "note",
        summary: "A note.",
        marks: &["id"],
        operations: &["write"],
        example: "{ text: content }",
    }];

    fn names() -> MemberNames {
        let names = [("id", "key"), ("text", "content")].map(|(wire, own)| (wire.to_owned(), own.to_owned()));
        MemberNames { own: BTreeMap::from([("note".to_owned(), BTreeMap::from(names))]), objects: OBJECTS }
    }

    fn value(text: &str) -> Value {
        json::parse(text.as_bytes()).expect("JSON")
    }

    #[test]
    fn a_body_gets_the_names_of_the_target_and_only_at_its_top() {
        let sent = value(r#"{"id":"1","text":"a","more":{"text":"b"}}"#);
        let own = value(r#"{"key":"1","content":"a","more":{"text":"b"}}"#);
        assert!(names().to_own("write", sent.clone()).same_as(&own));
        assert!(names().to_own("read", sent.clone()).same_as(&sent), "the body of another operation");
    }

    #[test]
    fn an_answer_gets_the_names_of_the_protocol_wherever_an_object_stands() {
        let own = value(r#"{"notes":[{"key":"1","content":"a"}],"content":"of another kind"}"#);
        let wire = value(r#"{"notes":[{"id":"1","text":"a"}],"content":"of another kind"}"#);
        assert!(names().to_wire(own).same_as(&wire));
    }
}
