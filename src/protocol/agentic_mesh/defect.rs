//! Why no node may process a message, where every reading of sections 2, 4.7 and 4.9 agrees on it. Stricter evidence than in
//! the suites: anything that an erratum leaves open does not count.

use super::message;
use crate::protocol::{Defect, ObservationContext};
use crate::value::Value;
use crate::wire::json;

/// What a member has to be.
enum Kind {
    Text,
    List,
    Object,
}

/// The members that every node checks (E62): the place, what it has to be, and the requirements that it is there and that it
/// is of this type.
const RULES: &[(&str, Kind, &str, &str)] = &[
    ("/Envelope", Kind::Object, "MESH-2-01", "MESH-2-02"),
    ("/Envelope/Header", Kind::Object, "MESH-2-03", "MESH-2-04"),
    ("/Envelope/Body", Kind::Object, "MESH-2-05", "MESH-4.5-02"),
    ("/Envelope/Header/messageId", Kind::Text, "MESH-2.1-01", "MESH-2.1-02"),
    ("/Envelope/Header/traceId", Kind::Text, "MESH-2.1-04", "MESH-2.1-05"),
    ("/Envelope/Header/roles", Kind::List, "MESH-2.1-07", "MESH-2.1-08"),
    ("/Envelope/Header/routingIntent", Kind::Text, "MESH-2.1-11", "MESH-2.1-12"),
];

/// Why no node may process these bytes.
pub(super) fn of(bytes: &[u8], _: &ObservationContext<'_>) -> Option<Defect> {
    find(bytes)
}

pub(super) fn find(bytes: &[u8]) -> Option<Defect> {
    let found = |requirement, because: String| Some(Defect { requirement, because });
    // Comments and trailing commas are extensions that RFC 8259 permits on reading (E48); the depth is up to the reader.
    let Ok(document) = json::read(bytes) else { return None };
    // Which of two members counts, and what becomes of half a character, are open (E64).
    if !document.oddities.is_empty() {
        return None;
    }
    let whole = &document.value;
    if whole.as_map().is_none() {
        return found("MESH-4.9-12", format!("{} as the whole message", whole.type_name()));
    }
    for (place, kind, missing, wrong) in RULES {
        match (message::at(whole, place), kind) {
            (None, _) => return found(missing, format!("no {place}")),
            (Some(Value::Text(_)), Kind::Text)
            | (Some(Value::Array(_)), Kind::List)
            | (Some(Value::Map(_)), Kind::Object) => {}
            (Some(value), _) => return found(wrong, format!("{} at {place}", value.type_name())),
        }
    }
    if message::at(whole, "/Envelope/MemoryGram").is_none() {
        return found("MESH-2-06", "no /Envelope/MemoryGram".to_owned());
    }
    match message::at(whole, "/Envelope/Header/ttl") {
        None => found("MESH-2.1-13", "no /Envelope/Header/ttl".to_owned()),
        Some(Value::Integer(ttl)) if *ttl < 0 => found("MESH-4.7-19", format!("ttl {ttl}")),
        Some(Value::Integer(0)) => found("MESH-4.7-18", "ttl 0".to_owned()),
        // 5.0 and 1e1 are whole numbers in other spellings (E21).
        Some(Value::Integer(_) | Value::Decimal(_)) => None,
        Some(value) => found("MESH-2.1-14", format!("{} as ttl", value.type_name())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"Envelope":{"Header":{"messageId":"m","traceId":"t","roles":[],"routingIntent":"direct",
        "ttl":8},"Body":{"task":"echo","expectedOutput":[]},"MemoryGram":{}}}"#;

    fn requirement(from: &str, to: &str) -> Option<&'static str> {
        assert!(from.is_empty() || GOOD.contains(from), "{from}");
        find(GOOD.replacen(from, to, 1).as_bytes()).map(|defect| defect.requirement)
    }

    #[test]
    fn definite_defects_are_found() {
        assert_eq!(requirement(r#""messageId":"m","#, ""), Some("MESH-2.1-01"));
        assert_eq!(requirement(r#""roles":[]"#, r#""roles":"planner""#), Some("MESH-2.1-08"));
        assert_eq!(requirement(r#""ttl":8"#, r#""ttl":0"#), Some("MESH-4.7-18"));
        assert_eq!(requirement(r#""ttl":8"#, r#""ttl":"8""#), Some("MESH-2.1-14"));
        assert_eq!(requirement(r#","MemoryGram":{}"#, ""), Some("MESH-2-06"));
        assert_eq!(find(b"[]").unwrap().requirement, "MESH-4.9-12");
    }

    #[test]
    fn ambiguous_messages_are_not_defects() {
        assert_eq!(requirement("", ""), None);
        for (from, to) in [
            (r#""ttl":8"#, r#""ttl":8.0"#),
            (r#""ttl":8"#, r#""ttl":1"#),
            (r#""task":"echo","#, ""),
            (r#""messageId":"m""#, r#""messageId":"m","messageId":7"#),
            (r#""MemoryGram":{}"#, r#""MemoryGram":{"nodes":"x"}"#),
        ] {
            assert_eq!(requirement(from, to), None, "{to}");
        }
        assert_eq!(find(b"{,}"), None);
    }
}
