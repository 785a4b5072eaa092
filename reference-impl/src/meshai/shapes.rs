//! The shapes of identities (2.1), capability declarations (2.2), endpoints (4.1) and context objects (5.1).

use super::rules::Rules;
use super::schema::{self, Problem};
use super::{taxonomy, time, version};
use crate::fault::planted;
use crate::json::{self, Object, Value};

/// The frameworks of 2.1 (E04, E89).
const FRAMEWORKS: &[&str] = &["langchain", "crewai", "autogen", "custom"];

/// Collects what is wrong with the members of one object.
struct Judge<'a> {
    at: String,
    object: &'a Object,
    problems: Vec<Problem>,
}

impl<'a> Judge<'a> {
    fn new(at: &str, object: &'a Object) -> Self {
        Self { at: at.to_owned(), object, problems: Vec::new() }
    }

    fn blame(&mut self, name: &str, reason: impl Into<String>) {
        self.problems.push(Problem::new(format!("{}/{name}", self.at), reason));
    }

    /// A string that is not empty.
    fn text(&mut self, name: &str, required: bool) -> Option<&'a str> {
        match self.object.present(name) {
            Some(Value::Text(text)) if !text.is_empty() => return Some(text),
            None if !required => {}
            _ => self.blame(name, "must be a string that is not empty"),
        }
        None
    }

    fn object(&mut self, name: &str, required: bool) -> Option<&'a Object> {
        match self.object.present(name) {
            Some(Value::Object(object)) => return Some(object),
            None if !required => {}
            _ => self.blame(name, "must be an object"),
        }
        None
    }

    /// An array of strings.
    fn texts(&mut self, name: &str) {
        let fits =
            |value: &Value| value.as_list().is_some_and(|items| items.iter().all(|item| item.as_text().is_some()));
        if self.object.present(name).is_some_and(|value| !fits(value)) {
            self.blame(name, "must be an array of strings");
        }
    }

    fn number(&mut self, name: &str, whole: bool) {
        let Some(value) = self.object.present(name) else { return };
        let number = value.as_number();
        let fits = number.is_some_and(|number| number.as_f64() >= 0.0 && (!whole || number.as_integer().is_some()));
        if !fits {
            self.blame(
                name,
                if whole { "must be a whole number of at least 0" } else { "must be a number of at least 0" },
            );
        }
    }

    fn timestamp(&mut self, name: &str) {
        let Some(value) = self.object.present(name) else { return };
        if value.as_text().and_then(time::parse).is_none() {
            self.blame(name, "must be an RFC 3339 date-time");
        }
    }
}

/// 2.1: an identity. The other variant asks only for what the registration example has (E37, E89).
#[must_use]
pub(crate) fn identity(agent: &Object, rules: Rules) -> Vec<Problem> {
    let mut judge = Judge::new("/agent", agent);
    let strict = !rules.is_other();
    let id = judge.text("id", !rules.fault.is("registration-unchecked"));
    // E41: the id of the registry is taken.
    if id == Some("registry") && strict {
        judge.blame("id", "is reserved");
    }
    judge.text("name", !rules.fault.is("name-optional"));
    let framework = judge.text("framework", !rules.fault.is("framework-optional"));
    if framework.is_some_and(|framework| !FRAMEWORKS.contains(&framework))
        && strict
        && !rules.fault.is("framework-open")
    {
        judge.blame("framework", format!("must be one of {}", FRAMEWORKS.join(", ")));
    }
    // 2.1: each of the four is accepted.
    planted!(rules.fault, "framework-without-crewai", framework == Some("crewai") => judge.blame("framework", "is unknown"));
    if let Some(number) = judge.text("version", strict)
        && strict
        && !is_dotted(number, 3..=3, true)
    {
        judge.blame("version", "must have three dotted numbers");
    }
    // E87: MAJOR of the identity agrees with that of the messages.
    let protocol = judge.text("protocol_version", strict);
    if protocol.is_some_and(|text| version::parse(text).is_none_or(|(major, _)| major != 1)) {
        judge.blame("protocol_version", "must be MAJOR.MINOR with MAJOR 1");
    }
    judge.problems
}

/// 2.2: a capability declaration. `standard` asks for an identifier of the taxonomy (E82).
#[must_use]
pub(crate) fn capability(capability: &Object, standard: bool, at: &str, rules: Rules) -> Vec<Problem> {
    let mut judge = Judge::new(at, capability);
    let strict = !rules.is_other();
    let id = judge.text("id", !rules.fault.is("capability-id-optional"));
    if standard && id.is_some_and(|id| !taxonomy::is_known(id)) {
        judge.blame("id", "is not a standard identifier");
    }
    if let Some(number) = judge.text("version", strict && !rules.fault.is("capability-version-optional"))
        && strict
        && !is_dotted(number, 2..=3, true)
    {
        judge.blame("version", "must have two or three dotted numbers");
    }
    if capability.present("description").is_none_or(|text| text.as_text().is_none()) && strict {
        judge.blame("description", "must be a string");
    }
    for name in ["input_schema", "output_schema"] {
        let schema = judge.object(name, strict);
        // E84: a reference that cannot be resolved is a schema all the same.
        let usable = |schema: &Object| schema::is_schema(&Value::Object(schema.clone()));
        if schema.is_some_and(|schema| {
            !usable(schema) || rules.fault.is("ref-schema-crashes") && schema.get("$ref").is_some()
        }) {
            judge.blame(name, "must be a JSON Schema");
        }
    }
    let constraints = judge.object("constraints", rules.fault.is("constraints-required"));
    let mut problems = judge.problems;
    if let Some(constraints) = constraints {
        let mut judge = Judge::new(&format!("{at}/constraints"), constraints);
        judge.number("max_input_length", true);
        judge.texts("supported_languages");
        judge.number("response_time_ms", false);
        problems.append(&mut judge.problems);
    }
    problems
}

/// Whether a text is so many numbers between dots; the last may have a suffix behind a dash or plus.
fn is_dotted(text: &str, parts: std::ops::RangeInclusive<usize>, suffix: bool) -> bool {
    let plain = text.split(['-', '+']).next().unwrap_or_default();
    let numbers: Vec<&str> = plain.split('.').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    parts.contains(&numbers.len()) && numbers.iter().all(digits) && (suffix || plain == text)
}

/// 4.1, E39: the endpoints of an agent.
#[must_use]
pub(crate) fn endpoints(endpoints: &Object, rules: Rules) -> Vec<Problem> {
    let mut judge = Judge::new("/endpoints", endpoints);
    for (name, required) in [("invoke", true), ("health", false)] {
        let url = judge.text(name, required && !rules.is_other());
        if url.is_some_and(|url| !is_absolute(url)) && !rules.is_other() && !rules.fault.is("endpoints-unchecked") {
            judge.blame(name, "must be an absolute http or https URL");
        }
    }
    judge.problems
}

/// Whether a text is an absolute http or https URL.
#[must_use]
pub(crate) fn is_absolute(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"));
    rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with(['/', '?', '#']) && !rest.contains(char::is_whitespace)
    })
}

/// 5.1: a context object, or the parts of one in a create, an update or an event.
#[must_use]
pub(crate) fn context(context: &Object, rules: Rules) -> Vec<Problem> {
    let mut judge = Judge::new("/context", context);
    let strict = !rules.is_other();
    judge.text("id", false);
    judge.text("session_id", false);
    judge.timestamp("created_at");
    if strict || context.present("expires_at").is_some_and(|value| value.as_text().is_none()) {
        judge.timestamp("expires_at");
    }
    if !rules.fault.is("shared-memory-unchecked") {
        judge.object("shared_memory", false);
    }
    if let Some(memory) = judge.object("agent_memory", false)
        && memory.iter().any(|(_, entry)| entry.as_object().is_none())
    {
        judge.blame("agent_memory", "must be an object of objects");
    }
    let lists = judge.object("access_control", false);
    if let Some(lineage) = judge.object("lineage", false) {
        let text = |name: &str| lineage.present(name).is_none_or(|id| id.as_text().is_some());
        if !(text("parent_context") && text("root_context")) {
            judge.blame("lineage", "must name contexts by strings");
        }
    }
    let mut problems = judge.problems;
    if let Some(lists) = lists {
        let mut judge = Judge::new("/context/access_control", lists);
        for name in ["read", "write"] {
            if !rules.fault.is("access-list-as-text") {
                judge.texts(name);
            }
        }
        problems.append(&mut judge.problems);
    }
    problems
}

/// Whether two of the three times of a whole context object are in order (5.1).
#[must_use]
pub(crate) fn expires_later(context: &Object) -> bool {
    let time = |name: &str| context.text(name).and_then(time::parse);
    time("created_at").zip(time("expires_at")).is_none_or(|(created, expires)| expires > created)
}

/// A number of at least 0, and at most `most`.
#[must_use]
pub(crate) fn bounded(value: &Value, most: f64) -> Option<f64> {
    value.as_number().map(json::Number::as_f64).filter(|number| (0.0..=most).contains(number))
}
