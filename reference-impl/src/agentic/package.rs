//! Sections 6.1 to 6.5: the rules for a context package.
//!
//! [`validate`] finds every rule that a package breaks. Unknown members are never a problem (section 6, 12.1), and a
//! null for an optional member counts as its absence (E48).

use super::faults::package as faults;
use super::refusal::Problem;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// Every member that sections 6.1 and 6.4 name.
pub(crate) const CORE_MEMBERS: [&str; 22] = [
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
];

const STATUSES: [&str; 4] = ["draft", "complete", "awaiting_review", "revision_requested"];
const REVIEW_TYPES: [&str; 3] = ["none", "human", "agent"];
const ACTOR_TYPES: [&str; 3] = ["human", "agent", "script"];
const PACKAGE_TYPES: [&str; 8] =
    ["standard", "milestone", "decision", "handoff", "auto_deposit", "analysis", "question", "orchestrator_report"];

/// The defaults of optional members (6.4). They are never written into a package.
pub(crate) fn defaults() -> Object {
    let empty = || Value::List(Vec::new());
    Object::from([
        ("description", "".into()),
        ("tags", empty()),
        ("decisions_made", empty()),
        ("open_questions", empty()),
        ("handoff_note", "".into()),
        ("estimated_next_actor", Value::Null),
        ("deliverables", empty()),
        ("parent_package_id", Value::Null),
        ("significance", 5.into()),
        ("content_md", "".into()),
        ("topic", Value::Null),
        ("artifact_type", Value::Null),
        ("storage_path", Value::Null),
    ])
}

/// The violations of sections 6.1 to 6.5 in `package`; empty if it is valid.
pub(crate) fn validate(package: &Object, rules: Rules) -> Vec<Problem> {
    let mut problems = Vec::new();
    required(package, rules, &mut problems);
    optional(package, rules, &mut problems);
    problems
}

/// 6.1. A required member that is null is missing.
fn required(package: &Object, rules: Rules, problems: &mut Vec<Problem>) {
    let mut text = |name: &str, expected: &str, holds: &dyn Fn(&str) -> bool| {
        let reason = match package.present(name) {
            // 6.1: a required member that is null is missing.
            None if package.get(name).is_some() && rules.fault.is("required-null-accepted") => return,
            None => "is required".to_owned(),
            Some(Value::Text(text)) if holds(text) => return,
            // 6.1: each of these members is a string.
            Some(value) if value.as_text().is_none() && rules.fault.is("required-type-unchecked") => return,
            Some(_) => format!("must be {expected}"),
        };
        problems.push(Problem::new(format!("/{name}"), reason));
    };
    text("package_id", "a string", &|id| is_package_id(id, rules));
    text("project_id", "a string", &|_| true);
    text("relay_version", "the string 0.1", &|version| is_version(version, rules));
    text("title", "1 to 200 characters", &|title| is_title(title, rules));
    text("status", "one of draft, complete, awaiting_review, revision_requested", &|status| is_status(status, rules));
    text("package_type", "a type of section 6.3 or one beginning with x-", &|kind| is_package_type(kind, rules));
    text("review_type", "one of none, human, agent", &|review| {
        // 6.1: all three.
        planted!(rules.fault, "human-reviews-refused", review == "human" => return false);
        planted!(rules.fault, "agent-reviews-refused", review == "agent" => return false);
        rules.fault.is("review-type-unchecked") || REVIEW_TYPES.contains(&review)
    });
    text("created_at", "an RFC 3339 time in UTC ending in Z", &|time| is_time(time, rules));
    match package.present("created_by") {
        None => problems.push(Problem::new("/created_by", "is required")),
        Some(_) if rules.fault.is("actor-unchecked") => {}
        Some(actor) => problems.extend(actor_problems("/created_by", faults::actor(actor, rules.fault), rules)),
    }
}

/// 6.1, 15.1: the version of the specification.
fn is_version(version: &str, rules: Rules) -> bool {
    // Other, E59: a version that only adds members is supported as well.
    if rules.variant.is_other() && version.starts_with("0.") {
        return version[2..].split('.').all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    }
    rules.fault.is("version-unchecked") || version == "0.1"
}

/// 6.1: any string that is unique is taken; the pkg_ form is a recommendation.
fn is_package_id(id: &str, rules: Rules) -> bool {
    planted!(rules.fault, "id-ascii-only", !id.is_ascii() => return false);
    planted!(rules.fault, "id-pattern-enforced", return faults::has_recommended_form(id));
    true
}

/// 6.1: 1 to 200 characters, counted as code points (E56).
fn is_title(title: &str, rules: Rules) -> bool {
    // Other, E56: a character is a unit of UTF-16.
    if rules.variant.is_other() {
        return (1..=200).contains(&title.encode_utf16().count());
    }
    let length = match () {
        () if rules.fault.is("title-counts-bytes") => title.len(),
        () if rules.fault.is("title-length-wraps") => title.chars().count() & 0xff,
        () => title.chars().count(),
    };
    let least = if rules.fault.is("title-empty-accepted") { 0 } else { 1 };
    let most = if rules.fault.is("title-limit-255") { 255 } else { 200 };
    (least..=most).contains(&length)
}

/// 5.3, 6.1: one of four words, in this spelling.
fn is_status(status: &str, rules: Rules) -> bool {
    // 5.3: most packages are complete from the start, and a draft or a request for review may be.
    planted!(rules.fault, "review-states-refused", status != "complete" => return false);
    planted!(rules.fault, "status-by-prefix", STATUSES.iter().any(|known| status.starts_with(known)) => return true);
    rules.fault.is("any-status-accepted") || STATUSES.contains(&status)
}

/// 6.3, 12.2: one of eight values, or a custom one in the x- namespace.
fn is_package_type(kind: &str, rules: Rules) -> bool {
    planted!(rules.fault, "any-type-accepted", return true);
    planted!(rules.fault, "x-prefix-in-any-line", kind.lines().any(|line| line.starts_with("x-")) => return true);
    planted!(rules.fault, "newer-types-refused", PACKAGE_TYPES[1..].contains(&kind) => return false);
    let prefix = if rules.fault.is("x-prefix-without-hyphen") { "x" } else { "x-" };
    let custom = kind.len() > prefix.len() && kind.starts_with(prefix) && !rules.fault.is("custom-type-refused");
    custom || PACKAGE_TYPES.contains(&kind)
}

/// 6.1, 9.1: RFC 3339 in UTC.
fn is_time(time: &str, rules: Rules) -> bool {
    let shape =
        |text: &str| text.len() >= 10 && text.bytes().take(10).all(|byte| byte == b'-' || byte.is_ascii_digit());
    // 6.1: any number of digits, and no offset.
    planted!(rules.fault, "fraction-limit-6", time.len() > "2026-01-02T03:04:05.123456Z".len() => return false);
    planted!(rules.fault, "offset-accepted", faults::is_time_with_offset(time) => return true);
    planted!(rules.fault, "created-at-iso-8601", faults::resembles_time(time) => return true);
    rules.instant(time).is_some() || (rules.fault.is("created-at-lenient") && shape(time))
}

/// 6.2: an actor is `{id, type, session_id?}`, possibly with unknown members.
pub(crate) fn actor_problems(pointer: &str, actor: &Value, rules: Rules) -> Vec<Problem> {
    let Value::Object(actor) = actor else {
        return vec![Problem::new(pointer, "must be an object")];
    };
    let mut problems = Vec::new();
    if actor.text("id").is_none() {
        problems.push(Problem::new(format!("{pointer}/id"), "must be a string"));
    }
    if !actor.text("type").is_some_and(|kind| is_actor_type(kind, rules)) {
        problems.push(Problem::new(format!("{pointer}/type"), "must be one of human, agent, script"));
    }
    let session = match actor.get("session_id") {
        None | Some(Value::Text(_)) => true,
        Some(Value::Null) => !rules.fault.is("null-session-refused"),
        Some(_) => rules.fault.is("session-type-unchecked"),
    };
    if !session {
        problems.push(Problem::new(format!("{pointer}/session_id"), "must be a string or null"));
    }
    problems
}

/// 6.2: the three kinds of actor.
pub(crate) fn is_actor_type(kind: &str, rules: Rules) -> bool {
    planted!(rules.fault, "any-actor-kind", return true);
    planted!(rules.fault, "human-actor-refused", kind == "human" => return false);
    planted!(rules.fault, "script-actor-refused", kind == "script" => return false);
    ACTOR_TYPES.contains(&kind)
}

/// 6.4.
fn optional(package: &Object, rules: Rules, problems: &mut Vec<Problem>) {
    // Other, E48: null is not a string, not an array and not a number.
    if rules.variant.is_other() {
        let absent_as_null = defaults();
        for (name, _) in package.iter().filter(|(_, value)| **value == Value::Null) {
            if absent_as_null.present(name).is_some() {
                problems.push(Problem::new(format!("/{name}"), "must not be null"));
            }
        }
    }
    // 5.6: any package may have a note; it is never required.
    let noted = package.present("handoff_note").is_some();
    let handoff = package.text("package_type") == Some("handoff");
    planted!(rules.fault, "handoff-needs-note", handoff && !noted => problems.push(faults::note_missing()));
    planted!(rules.fault, "note-on-handoffs-only", noted && !handoff => problems.push(faults::note_present()));
    // 12.1, 15.1: others may add members.
    planted!(rules.fault, "unknown-members-refused", problems.extend(faults::unknown_members(package, &CORE_MEMBERS)));
    let unchecked = rules.fault.is("optional-types-unchecked");
    let mut check = |name: &str, expected: &str, holds: &dyn Fn(&Value) -> bool| {
        if package.present(name).is_some_and(|value| !unchecked && !holds(value)) {
            problems.push(Problem::new(format!("/{name}"), format!("must be {expected}")));
        }
    };
    for name in ["description", "handoff_note", "content_md"] {
        check(name, "a string", &|value| value.as_text().is_some());
    }
    for name in ["tags", "decisions_made", "open_questions"] {
        // 6.4: only strings.
        let any = rules.fault.is("list-elements-unchecked");
        check(name, "an array of strings", &|value| is_list_of_texts(value) || any && value.as_list().is_some());
    }
    for name in ["parent_package_id", "topic", "artifact_type", "storage_path"] {
        check(name, "a string or null", &|value| value.as_text().is_some());
    }
    check("estimated_next_actor", "human, agent or null", &|value| match value.as_text() {
        Some("human") => !rules.fault.is("next-actor-agent-only"),
        other => other == Some("agent"),
    });
    check("significance", "an integer from 1 to 10", &|value| {
        let number = value.as_number();
        // Other, E64: 5.0 is not how an integer is written.
        if rules.variant.is_other() && number.is_some_and(|number| number.spelling().contains(['.', 'e', 'E'])) {
            return false;
        }
        let integer = number.and_then(crate::json::Number::as_integer);
        integer.is_some_and(|integer| rules.fault.is("significance-unchecked") || (1..=10).contains(&integer))
    });
    check("deliverables", "an array of objects", &|value| value.as_list().is_some());
    let deliverables = package.get("deliverables").and_then(Value::as_list).unwrap_or_default();
    for (index, deliverable) in deliverables.iter().enumerate() {
        problems.extend(deliverable_problems(&format!("/deliverables/{index}"), deliverable, rules));
    }
}

/// An array that holds strings only; a null among them is not a string.
pub(crate) fn is_list_of_texts(value: &Value) -> bool {
    value.as_list().is_some_and(|items| items.iter().all(|item| item.as_text().is_some()))
}

/// 6.5: path and type are needed, hash and size_bytes are not.
fn deliverable_problems(pointer: &str, deliverable: &Value, rules: Rules) -> Vec<Problem> {
    let Value::Object(deliverable) = deliverable else {
        return vec![Problem::new(pointer, "must be an object")];
    };
    let mut problems = Vec::new();
    let mut check = |name: &str, needed: bool, expected: &str, holds: &dyn Fn(&Value) -> bool| {
        let unchecked = |_: &Value| rules.fault.is("deliverable-types-unchecked");
        let good = deliverable.present(name).map_or(!needed, |value| unchecked(value) || holds(value));
        if !good {
            problems.push(Problem::new(format!("{pointer}/{name}"), format!("must be {expected}")));
        }
    };
    let needed = !rules.fault.is("deliverable-unchecked");
    let any_form = rules.fault.is("deliverable-form-unchecked") || rules.variant.is_other();
    check("path", needed, "a relative path or a URL", &|value| {
        // Other, E62: the client that follows a path checks it.
        value.as_text().is_some_and(|path| any_form || is_path_or_url(path))
    });
    check("type", needed, "a string", &|value| value.as_text().is_some());
    check("hash", false, "an algorithm, a colon and hexadecimal digits", &|value| {
        // Other, E61: as opaque as in the example of the specification.
        value.as_text().is_some_and(|hash| any_form || is_deliverable_hash(hash))
    });
    check("size_bytes", false, "an integer not below 0", &|value| {
        value.as_number().and_then(crate::json::Number::as_integer).is_some_and(|size| size >= 0 || any_form)
    });
    problems
}

/// 6.5, strict reading of E62: inside the project, or anywhere if it is a URL.
fn is_path_or_url(path: &str) -> bool {
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    if path.split_once("://").is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty()) {
        return true;
    }
    let segments = || path.split(['/', '\\']);
    !path.is_empty() && !path.starts_with(['/', '\\']) && !segments().any(|segment| matches!(segment, "." | ".."))
}

/// 6.5, strict reading of E61.
fn is_deliverable_hash(hash: &str) -> bool {
    hash.split_once(':').is_some_and(|(algorithm, digits)| {
        let named = !algorithm.is_empty()
            && algorithm.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
        named && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minimal() -> Object {
        let text = r#"{"package_id":"p","project_id":"j","relay_version":"0.1","title":"t","status":"complete",
            "package_type":"standard","review_type":"none","created_at":"2026-01-02T03:04:05Z",
            "created_by":{"id":"a","type":"agent"}}"#;
        match crate::json::read(text.as_bytes()) {
            Ok(Value::Object(package)) => package,
            other => panic!("not an object: {other:?}"),
        }
    }

    /// The pointers of the problems of the minimal package with `name` set to the JSON text `value`.
    fn pointers(name: &str, value: &str) -> Vec<String> {
        let mut package = minimal();
        package.set(name, crate::json::read(value.as_bytes()).expect("valid JSON"));
        validate(&package, Rules::plain()).into_iter().map(|problem| problem.pointer).collect()
    }

    #[test]
    fn the_minimal_package_is_valid_and_needs_each_of_its_members() {
        assert_eq!(validate(&minimal(), Rules::plain()), []);
        for (name, _) in minimal().iter() {
            let mut package = minimal();
            package.remove(name);
            assert_eq!(validate(&package, Rules::plain()).len(), 1, "without {name}");
            assert_eq!(pointers(name, "null"), [format!("/{name}")]);
            assert_eq!(pointers(name, "7"), [format!("/{name}")]);
        }
    }

    #[test]
    fn valid_values_are_accepted() {
        for (name, value) in [
            ("package_id", "\"\""),
            ("package_id", "\"a/b \\u0000\""),
            ("package_type", "\"x-model-eval\""),
            ("created_at", "\"2026-01-02T03:04:05.123456789Z\""),
            ("significance", "50e-1"),
            ("significance", "10.0"),
            ("created_by", r#"{"id":"a","type":"script","session_id":null,"git_commit":"9f"}"#),
            ("topic", "null"),
            (
                "deliverables",
                r#"[{"path":"docs/a.md","type":"md","hash":"sha256:00fF","size_bytes":0},{"path":"https://e.org/../a","type":"x"}]"#,
            ),
            ("description", "null"),
            ("x-anything", "{}"),
            ("future", "null"),
            ("estimated_next_actor", "\"human\""),
        ] {
            assert_eq!(pointers(name, value), [""; 0], "{name} {value}");
        }
        assert_eq!(pointers("title", &format!("\"{}\"", "😀".repeat(200))), [""; 0]);
        assert_eq!(pointers("title", &format!("\"{}\"", "😀".repeat(201))), ["/title"]);
    }

    #[test]
    fn invalid_values_are_reported_at_their_place() {
        for (name, value, pointer) in [
            ("title", "\"\"", "/title"),
            ("relay_version", "\"0.2\"", "/relay_version"),
            ("status", "\"Complete\"", "/status"),
            ("package_type", "\"xreport\"", "/package_type"),
            ("package_type", "\"x-\"", "/package_type"),
            ("review_type", "\"script\"", "/review_type"),
            ("created_at", "\"2026-01-02T03:04:05+00:00\"", "/created_at"),
            ("created_by", r#"{"type":"agent"}"#, "/created_by/id"),
            ("created_by", r#"{"id":"a","type":"bot"}"#, "/created_by/type"),
            ("created_by", r#"{"id":"a","type":"agent","session_id":9}"#, "/created_by/session_id"),
            ("tags", "[\"a\",2]", "/tags"),
            ("open_questions", "[null]", "/open_questions"),
            ("significance", "5.5", "/significance"),
            ("significance", "0", "/significance"),
            ("significance", "\"5\"", "/significance"),
            ("deliverables", "{}", "/deliverables"),
            ("deliverables", "[1]", "/deliverables/0"),
            ("deliverables", r#"[{"path":"/etc/a","type":"md"}]"#, "/deliverables/0/path"),
            ("deliverables", r#"[{"path":"a/../b","type":"md"}]"#, "/deliverables/0/path"),
            ("deliverables", r#"[{"path":"a"}]"#, "/deliverables/0/type"),
            ("deliverables", r#"[{"path":"a","type":"b","hash":"sha256:"}]"#, "/deliverables/0/hash"),
            ("deliverables", r#"[{"path":"a","type":"b","size_bytes":-1}]"#, "/deliverables/0/size_bytes"),
            ("estimated_next_actor", "\"script\"", "/estimated_next_actor"),
        ] {
            assert_eq!(pointers(name, value), [pointer], "{name} {value}");
        }
    }
}
