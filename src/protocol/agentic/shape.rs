//! The shapes of packages (sections 6.1 to 6.5) and facts (section 7) as an implementation may return them, in the
//! lenient reading: `valid-package` and `valid-fact`.

use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Mismatch, Outcome, show_or_absent};
use crate::value::{Path, Value};

/// Holds for a package whose members have the names, types and values of section 6.
pub(super) struct ValidPackage;

/// Holds for a fact whose members have the names, types and values of section 7.
pub(super) struct ValidFact;

impl Matcher for ValidPackage {
    fn name(&self) -> &'static str {
        "valid-package"
    }

    fn summary(&self) -> &'static str {
        "The value is a package as sections 6.1 to 6.5 have it; unknown members are allowed."
    }

    fn example(&self) -> &'static str {
        "{ at: /package, valid-package: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        only_true(argument)?;
        Ok(Box::new(Shape { what: "a package", rules: PACKAGE }))
    }
}

impl Matcher for ValidFact {
    fn name(&self) -> &'static str {
        "valid-fact"
    }

    fn summary(&self) -> &'static str {
        "The value is a fact as section 7 has it; unknown members are allowed."
    }

    fn example(&self) -> &'static str {
        "{ at: /facts, each: [{ valid-fact: true }] }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        only_true(argument)?;
        Ok(Box::new(Shape { what: "a fact", rules: FACT }))
    }
}

fn only_true(argument: &Value) -> Result<(), ArgumentError> {
    if *argument == Value::Bool(true) { Ok(()) } else { Err(ArgumentError::new("must be `true`")) }
}

/// A member, whether it is required, and its type.
type Rule = (&'static str, bool, Kind);

enum Kind {
    Text,
    Title,
    OneOf(&'static [&'static str]),
    PackageType,
    Time,
    Texts,
    Number,
    Significance,
    WholeNumber,
    Object(&'static [Rule]),
    Objects(&'static [Rule]),
}

const PACKAGE: &[Rule] = &[
    ("package_id", true, Kind::Text),
    ("project_id", true, Kind::Text),
    ("relay_version", true, Kind::OneOf(&["0.1"])),
    ("title", true, Kind::Title),
    ("status", true, Kind::OneOf(&["draft", "complete", "awaiting_review", "revision_requested"])),
    ("package_type", true, Kind::PackageType),
    ("review_type", true, Kind::OneOf(&["none", "human", "agent"])),
    ("created_at", true, Kind::Time),
    ("created_by", true, Kind::Object(CREATED_BY)),
    ("description", false, Kind::Text),
    ("tags", false, Kind::Texts),
    ("decisions_made", false, Kind::Texts),
    ("open_questions", false, Kind::Texts),
    ("handoff_note", false, Kind::Text),
    ("estimated_next_actor", false, Kind::OneOf(&["human", "agent"])),
    ("deliverables", false, Kind::Objects(DELIVERABLE)),
    ("parent_package_id", false, Kind::Text),
    ("significance", false, Kind::Significance),
    ("content_md", false, Kind::Text),
    ("topic", false, Kind::Text),
    ("artifact_type", false, Kind::Text),
    ("storage_path", false, Kind::Text),
];

const CREATED_BY: &[Rule] = &[
    ("id", true, Kind::Text),
    ("type", true, Kind::OneOf(&["human", "agent", "script"])),
    ("session_id", false, Kind::Text),
];

const DELIVERABLE: &[Rule] = &[
    ("path", true, Kind::Text),
    ("type", true, Kind::Text),
    ("hash", false, Kind::Text),
    ("size_bytes", false, Kind::WholeNumber),
];

const FACT: &[Rule] = &[
    ("fact_id", true, Kind::Text),
    ("project_id", true, Kind::Text),
    ("subject", true, Kind::Text),
    ("predicate", true, Kind::Text),
    ("value", true, Kind::Text),
    ("valid_from", true, Kind::Time),
    ("created_at", true, Kind::Time),
    ("valid_to", false, Kind::Time),
    ("source_package_id", false, Kind::Text),
    ("confidence", false, Kind::Number),
    ("asserted_by", false, Kind::Object(&[])),
    ("tags", false, Kind::Texts),
];

struct Shape {
    what: &'static str,
    rules: &'static [Rule],
}

impl Check for Shape {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        match observed {
            Some(value @ Value::Map(_)) => match members(value, self.rules, &Path::default()) {
                None => Outcome::HOLDS,
                Some(mismatch) => Outcome::Mismatch(mismatch),
            },
            other => Outcome::mismatch(format!("{}: a JSON object", self.what), other),
        }
    }
}

fn members(value: &Value, rules: &[Rule], path: &Path) -> Option<Mismatch> {
    rules.iter().find_map(|(name, required, kind)| {
        let at = path.child(*name);
        match value.member(name) {
            None | Some(Value::Null) if !required => None,
            Some(member) if *member != Value::Null => of_kind(member, kind, &at),
            other => Some(Mismatch { path: at, expected: kind.words(), observed: show_or_absent(other) }),
        }
    })
}

fn of_kind(value: &Value, kind: &Kind, path: &Path) -> Option<Mismatch> {
    let text = value.as_text();
    let good = match kind {
        Kind::Text => text.is_some(),
        // The harness never expects a title of more than 200 code points to be accepted; all readings agree on 1.
        Kind::Title => text.is_some_and(|text| !text.is_empty()),
        Kind::OneOf(words) => text.is_some_and(|text| words.contains(&text)),
        Kind::PackageType => text.is_some_and(|text| TYPES.contains(&text) || text.starts_with("x-")),
        Kind::Time => {
            let check = crate::matcher::is_rfc3339_utc;
            text.is_some_and(check)
        }
        Kind::Texts => value.as_array().is_some_and(|items| items.iter().all(|item| item.as_text().is_some())),
        Kind::Number => value.is_number(),
        Kind::Significance => value.as_integer().is_some_and(|number| (1..=10).contains(&number)),
        Kind::WholeNumber => value.as_integer().is_some(),
        Kind::Object(rules) => match value {
            Value::Map(_) => return members(value, rules, path),
            _ => false,
        },
        Kind::Objects(rules) => match value.as_array() {
            Some(items) => {
                return items.iter().enumerate().find_map(|(index, item)| {
                    let at = path.child(index.to_string());
                    match item {
                        Value::Map(_) => members(item, rules, &at),
                        _ => Some(Mismatch {
                            path: at,
                            expected: "an object".to_owned(),
                            observed: show_or_absent(Some(item)),
                        }),
                    }
                });
            }
            None => false,
        },
    };
    (!good).then(|| Mismatch { path: path.clone(), expected: kind.words(), observed: show_or_absent(Some(value)) })
}

/// The package types of section 6.3.
const TYPES: &[&str] =
    &["standard", "milestone", "decision", "handoff", "auto_deposit", "analysis", "question", "orchestrator_report"];

impl Kind {
    fn words(&self) -> String {
        match self {
            Self::Text => "a string".to_owned(),
            Self::Title => "a string of at least one character".to_owned(),
            Self::OneOf(words) => format!("one of {}", words.join(", ")),
            Self::PackageType => format!("one of {}, or a type that starts with x-", TYPES.join(", ")),
            Self::Time => "an RFC 3339 time in UTC".to_owned(),
            Self::Texts => "an array of strings".to_owned(),
            Self::Number => "a number".to_owned(),
            Self::Significance => "an integer from 1 to 10".to_owned(),
            Self::WholeNumber => "an integer".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::Objects(_) => "an array of objects".to_owned(),
        }
    }
}
