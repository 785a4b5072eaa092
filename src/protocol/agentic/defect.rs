//! Why no relay may take a package or a fact, where every reading of sections 6, 7 and 8.6 agrees on it.
//! Stricter evidence than in the suites: anything that an erratum permits a relay to fill in, convert or accept (E24,
//! E25, E44, E48, E57, E59, E88) does not count as a defect, and neither does JSON syntax on which libraries
//! differ.

use crate::protocol::Defect;
use crate::value::Value;
use crate::wire::json;

/// The required type of a member.
enum Kind {
    /// A string.
    Text,
    /// A string of at least one character, and of no more than 200 (E56: however they are counted).
    Title,
    /// One of these strings.
    OneOf(&'static [&'static str]),
    /// A type of section 6.3.
    PackageType,
    /// An object.
    Object,
}

/// A member: its place, the requirement that it is there (empty if a relay may do without), what it has to be, and the
/// requirement for that.
type Rule = (&'static str, &'static str, Kind, &'static str);

const PACKAGE: &[Rule] = &[
    ("package_id", "", Kind::Text, "AGENTIC-6.1-03"),
    ("project_id", "AGENTIC-6.1-10", Kind::Text, "AGENTIC-6.1-11"),
    ("relay_version", "AGENTIC-6.1-15", Kind::Text, "AGENTIC-6.1-17"),
    ("title", "AGENTIC-6.1-19", Kind::Title, "AGENTIC-6.1-20"),
    (
        "status",
        "AGENTIC-6.1-25",
        Kind::OneOf(&["draft", "complete", "awaiting_review", "revision_requested"]),
        "AGENTIC-6.1-26",
    ),
    ("package_type", "", Kind::PackageType, "AGENTIC-6.3-11"),
    ("review_type", "AGENTIC-6.1-30", Kind::OneOf(&["none", "human", "agent"]), "AGENTIC-6.1-34"),
    ("created_at", "AGENTIC-6.1-36", Kind::Text, "AGENTIC-6.1-37"),
    ("created_by", "AGENTIC-6.1-42", Kind::Object, "AGENTIC-6.1-43"),
    ("created_by/id", "AGENTIC-6.2-02", Kind::Text, "AGENTIC-6.2-03"),
    ("created_by/type", "AGENTIC-6.2-05", Kind::OneOf(&["human", "agent", "script"]), "AGENTIC-6.2-09"),
];

const FACT: &[Rule] = &[
    ("subject", "AGENTIC-8.6-02", Kind::Text, "AGENTIC-8.6-05"),
    ("predicate", "AGENTIC-8.6-03", Kind::Text, "AGENTIC-8.6-06"),
];

/// The types of section 6.3.
const TYPES: &[&str] =
    &["standard", "milestone", "decision", "handoff", "auto_deposit", "analysis", "question", "orchestrator_report"];

/// Why a relay must reject this body of an operation.
pub(super) fn of(operation: &str, body: &[u8]) -> Option<Defect> {
    let (rules, whole) = match operation {
        "deposit" => (PACKAGE, "AGENTIC-6-01"),
        "assert-fact" => (FACT, "AGENTIC-8.6-05"),
        _ => return None,
    };
    let found = |requirement, because: String| Some(Defect { requirement, because });
    let document = match json::read(body) {
        Ok(document) => document,
        // The depth that a reader accepts, and its treatment of bytes that are not UTF-8, are up to the target.
        Err(error) if error.is_limit() || std::str::from_utf8(body).is_err() => return None,
        Err(error) => return found(whole, format!("a body that is not JSON: {error}")),
    };
    if !document.oddities.is_empty() {
        return None;
    }
    if document.value.as_map().is_none() {
        return found(whole, "a body that is not an object".to_owned());
    }
    rules.iter().find_map(|(place, missing, kind, wrong)| {
        let mut value = Some(&document.value);
        for name in place.split('/') {
            match value {
                Some(map @ Value::Map(_)) => value = map.member(name),
                // Another rule covers the member above.
                _ => return None,
            }
        }
        match value {
            None | Some(Value::Null) if missing.is_empty() => None,
            None | Some(Value::Null) => found(missing, format!("missing {place}")),
            Some(Value::Text(text)) if matches!(kind, Kind::Title) && text.is_empty() => {
                found("AGENTIC-6.1-21", format!("an empty {place}"))
            }
            Some(Value::Text(text)) if matches!(kind, Kind::Title) && is_too_long(text) => {
                found("AGENTIC-6.1-22", format!("{} characters as {place}", text.len()))
            }
            Some(value) if !kind.fits(value) => found(wrong, format!("{} as {place}", crate::wire::show(value))),
            Some(_) => None,
        }
    })
}

impl Kind {
    fn fits(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Object, value) => value.as_map().is_some(),
            (Self::Text, value) => value.as_text().is_some(),
            (Self::Title, Value::Text(text)) => !text.is_empty() && !is_too_long(text),
            (Self::OneOf(words), Value::Text(text)) => words.contains(&text.as_str()),
            (Self::PackageType, Value::Text(text)) => TYPES.contains(&text.as_str()) || text.starts_with("x-"),
            _ => false,
        }
    }
}

/// Whether a title has more than 200 characters under every reading (E56): ASCII letters count alike.
fn is_too_long(title: &str) -> bool {
    title.is_ascii() && title.len() > 200
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = r#"{"package_id":"p","project_id":"q","relay_version":"0.1","title":"t","status":"complete",
        "package_type":"standard","review_type":"none","created_at":"2026-01-02T03:04:05Z",
        "created_by":{"id":"a","type":"agent"}}"#;

    fn requirement(from: &str, to: &str) -> Option<&'static str> {
        assert!(from.is_empty() || GOOD.contains(from), "{from}");
        of("deposit", GOOD.replacen(from, to, 1).as_bytes()).map(|defect| defect.requirement)
    }

    #[test]
    fn definite_defects_are_found() {
        assert_eq!(requirement(r#""title":"t","#, ""), Some("AGENTIC-6.1-19"));
        assert_eq!(requirement(r#""title":"t""#, r#""title":"""#), Some("AGENTIC-6.1-21"));
        assert_eq!(requirement(r#""title":"t""#, r#""title":5"#), Some("AGENTIC-6.1-20"));
        let long = format!(r#""title":"{}""#, "t".repeat(201));
        assert_eq!(requirement(r#""title":"t""#, &long), Some("AGENTIC-6.1-22"));
        assert_eq!(requirement(r#""status":"complete""#, r#""status":"done""#), Some("AGENTIC-6.1-26"));
        assert_eq!(requirement(r#""type":"agent""#, r#""type":null"#), Some("AGENTIC-6.2-05"));
        assert_eq!(requirement(r#"{"id":"a","type":"agent"}"#, "[]"), Some("AGENTIC-6.1-43"));
        assert_eq!(of("deposit", b"[]").unwrap().requirement, "AGENTIC-6-01");
        assert_eq!(of("deposit", b"{").unwrap().requirement, "AGENTIC-6-01");
        assert_eq!(of("assert-fact", br#"{"subject":"s","value":"v"}"#).unwrap().requirement, "AGENTIC-8.6-03");
    }

    #[test]
    fn ambiguous_messages_are_not_defects() {
        assert_eq!(requirement("", ""), None);
        for (from, to) in [
            (r#""package_id":"p","#, ""),                             // E24
            (r#""package_type":"standard","#, ""),                    // E25
            (r#""relay_version":"0.1""#, r#""relay_version":"0.2""#), // E59
            ("2026-01-02T03:04:05Z", "2026-01-02T03:04:05+02:00"),    // E88
            (r#""title":"t""#, r#""title":"t","title":"u""#),         // up to the library
            (r#""title":"t""#, r#""title":"t","x":[1]"#),
        ] {
            assert_eq!(requirement(from, to), None, "{to}");
        }
        // 201 letters with marks are 100 or so to some.
        let long = format!(r#""title":"{}""#, "e\u{301}".repeat(150));
        assert_eq!(requirement(r#""title":"t""#, &long), None);
        assert_eq!(of("deposit", b"\xff{}"), None);
        assert_eq!(of("flag", b"{"), None);
        // The depth limit is up to the reader.
        assert_eq!(of("deposit", "[".repeat(600).as_bytes()), None);
    }
}
