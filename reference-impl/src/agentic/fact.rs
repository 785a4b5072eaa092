//! Section 7: the rules for a fact, on the wire and as the input of assert_fact.

use super::package::{actor_problems, is_list_of_texts};
use super::refusal::Problem;
use super::rules::Rules;
use crate::instant::Instant;
use crate::json::{Number, Object, Value};

/// A fact that keeps every rule of section 7.
#[derive(Debug, Clone)]
pub(crate) struct Fact {
    pub(crate) object: Object,
    pub(crate) valid_from: Instant,
    /// `None` while the fact is current.
    pub(crate) valid_to: Option<Instant>,
}

impl Fact {
    /// Takes an object as a fact in its wire format.
    ///
    /// # Errors
    ///
    /// Every rule of sections 7.1 and 7.2 that it breaks.
    pub(crate) fn new(mut object: Object, rules: Rules) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        for name in ["fact_id", "project_id", "subject", "predicate", "value"] {
            problems.extend(text_problem(&object, name));
        }
        let valid_from = time(&object, "valid_from", rules, &mut problems);
        let created_at = time(&object, "created_at", rules, &mut problems);
        let valid_to = match object.present("valid_to") {
            None => None,
            Some(_) => time(&object, "valid_to", rules, &mut problems),
        };
        // E42, strict: an interval may be empty but does not end before it starts.
        if let (Some(from), Some(to)) = (valid_from, valid_to)
            && to < from
        {
            problems.push(Problem::new("/valid_to", "must not be before valid_from"));
        }
        problems.extend(optional_problems(&object, rules));
        match valid_from {
            Some(valid_from) if problems.is_empty() => {
                // Other, E58: a store with times of its own prints them its own way.
                if rules.variant.is_other() {
                    let times = [("valid_from", Some(valid_from)), ("valid_to", valid_to), ("created_at", created_at)];
                    for (name, time) in times.into_iter().filter_map(|(name, time)| Some((name, time?))) {
                        object.set(name, rules.spelled(time));
                    }
                }
                Ok(Self { object, valid_from, valid_to })
            }
            _ => Err(problems), // a missing valid_from is among them
        }
    }

    /// The string called `name`, which is there in every fact for the members of 7.1.
    pub(crate) fn member(&self, name: &str) -> &str {
        self.object.text(name).unwrap_or_default()
    }
}

/// The violations in the inputs of assert_fact (8.6). The caller reads `valid_from`.
pub(crate) fn assertion_problems(input: &Object, rules: Rules) -> Vec<Problem> {
    let mut problems = Vec::new();
    // A JSON number is not a value (7.1): its text would be a guess.
    for name in ["subject", "predicate", "value"] {
        // Other, E44: unless its text is the value.
        let coerced = name == "value" && rules.variant.is_other() && input.get(name).is_some_and(is_number);
        // 8.6: all three are required, and strings.
        if !coerced && !rules.fault.is("assertion-unchecked") {
            problems.extend(text_problem(input, name));
        }
    }
    if input.present("valid_to").is_some() {
        problems.push(Problem::new("/valid_to", "must be absent: an asserted fact is current"));
    }
    if input.present("valid_from").is_some() && !rules.fault.is("valid-from-unchecked") {
        time(input, "valid_from", rules, &mut problems);
    }
    problems.extend(optional_problems(input, rules));
    problems
}

fn is_number(value: &Value) -> bool {
    value.as_number().is_some()
}

fn text_problem(object: &Object, name: &str) -> Option<Problem> {
    let reason = match object.present(name) {
        Some(Value::Text(_)) => return None,
        Some(_) => "must be a string",
        None => "is required",
    };
    Some(Problem::new(format!("/{name}"), reason))
}

fn time(object: &Object, name: &str, rules: Rules, problems: &mut Vec<Problem>) -> Option<Instant> {
    let time = object.text(name).and_then(|text| rules.instant(text));
    if time.is_none() {
        problems.push(Problem::new(format!("/{name}"), "must be an RFC 3339 time in UTC ending in Z"));
    }
    time
}

/// 7.2.
fn optional_problems(object: &Object, rules: Rules) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut check = |name: &str, expected: &str, holds: &dyn Fn(&Value) -> bool| {
        if object.present(name).is_some_and(|value| !holds(value)) {
            problems.push(Problem::new(format!("/{name}"), format!("must be {expected}")));
        }
    };
    check("source_package_id", "a string or null", &|value| value.as_text().is_some());
    check("confidence", "a number from 0 to 1", &|value| {
        let number = value.as_number().map(Number::as_f64);
        // 7.2: a number, not a text that looks like one.
        let spelled = value.as_text().filter(|_| rules.fault.is("confidence-text-accepted"));
        let number = number.or_else(|| spelled?.parse().ok());
        number.is_some_and(|number| rules.fault.is("confidence-unchecked") || (0.0..=1.0).contains(&number))
    });
    check("tags", "an array of strings", &is_list_of_texts);
    // Other, E45: only the presence of an actor is checked.
    if let Some(actor) =
        object.present("asserted_by").filter(|actor| !rules.variant.is_other() || actor.as_object().is_none())
    {
        problems.extend(actor_problems("/asserted_by", actor, rules));
    }
    problems
}

/// Every rule of section 7 that `object` breaks.
pub(crate) fn validate(object: &Object, rules: Rules) -> Vec<Problem> {
    Fact::new(object.clone(), rules).err().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXAMPLE: &str = r#"{"fact_id":"fact_ab12cd34ef56ab78cd90ef12ab34cd56","project_id":"proj_dev_relay",
        "subject":"longmemeval_s","predicate":"recall_any_at_5","value":"97.0","valid_from":"2026-04-10T12:00:00Z",
        "valid_to":null,"source_package_id":"pkg_7593a5b03fcc4706b181ea855e958e06","confidence":1.0,
        "asserted_by":{"id":"jordan","type":"human","session_id":null},"created_at":"2026-04-10T12:00:00Z",
        "tags":["benchmark","retrieval"]}"#;

    fn example_with(name: &str, value: &str) -> Result<Fact, Vec<Problem>> {
        let Ok(Value::Object(mut object)) = crate::json::read(EXAMPLE.as_bytes()) else { panic!("not an object") };
        object.set(name, crate::json::read(value.as_bytes()).expect("valid JSON"));
        Fact::new(object, Rules::plain())
    }

    #[test]
    fn the_example_of_section_7_5_is_a_fact() {
        assert!(example_with("x-origin", "1").is_ok_and(|fact| fact.valid_to.is_none()));
        assert!(example_with("valid_to", "\"2026-04-10T12:00:00.5Z\"").is_ok_and(|fact| fact.valid_to.is_some()));
    }

    #[test]
    fn bad_members_are_named() {
        for (name, value) in [
            ("value", "97"),
            ("subject", "null"),
            ("valid_from", "17"),
            ("valid_to", "\"2026-04-09T12:00:00Z\""),
            ("confidence", "1.01"),
            ("confidence", "\"0.5\""),
            ("tags", "[1]"),
            ("source_package_id", "3"),
            ("created_at", "\"2026-04-10\""),
        ] {
            let problems = example_with(name, value).expect_err(name);
            assert_eq!(problems[0].pointer, format!("/{name}"));
        }
    }
}
