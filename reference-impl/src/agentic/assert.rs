//! Sections 7.3 and 8.6, assert_fact: a new fact supersedes the current one, in one step.

use rusqlite::Connection;

use super::fact::{Fact, assertion_problems};
use super::faults::assert as faults;
use super::faults::intake::{fold_names, in_seconds, trimmed};
use super::refusal::{Code, Problem, Refusal};
use super::rules::Rules;
use super::shown;
use super::tables::{facts, packages, projects, texts};
use crate::fault::{Planted, planted};
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// Members that the server composes: set by itself, or taken over from the inputs of 8.6.
const COMPOSED: [&str; 12] = [
    "fact_id",
    "project_id",
    "created_at",
    "valid_to",
    "subject",
    "predicate",
    "value",
    "valid_from",
    "source_package_id",
    "confidence",
    "asserted_by",
    "tags",
];

/// 8.6: supersedes the current fact of the same project, subject and predicate, and returns the new one.
pub(crate) fn assert(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    body: &[u8],
    actor: Option<&str>,
    now: Instant,
) -> Result<Object, Refusal> {
    let input = read_input(body, project_id, rules)?;
    let problems = assertion_problems(&input, rules);
    if !problems.is_empty() {
        let refusal = Refusal::from(problems);
        // Other, E40: what can be read and not be processed is 422.
        let code = if rules.variant.is_other() { Code::Unprocessable } else { refusal.code };
        return Err(Refusal { code, ..refusal });
    }
    let project = projects::find_or_create(db, project_id, now)?;
    if project.archived && !rules.variant.is_other() {
        return Err(Refusal::new(Code::ProjectArchived, format!("project {project_id:?} is archived")));
    }
    let mut fact = compose(db, rules, project_id, &input, actor, now)?;
    // 5.2, 7.4, 8.6: an assertion supersedes, regardless of history and other projects.
    planted!(rules.fault, "invalidated-for-good", faults::refuse_invalidated(db, &fact)?);
    planted!(rules.fault, "subject-of-one-project", faults::refuse_elsewhere(db, &fact)?);
    planted!(rules.fault, "reassert-doubles", faults::is_again(db, &fact)? => return faults::insert_beside(db, fact));
    planted!(rules.fault, "backdated-beside", faults::is_late(db, &fact)? => return faults::insert_beside(db, fact));
    if rules.variant.is_other() {
        // Other, E41: asserting the current value has no effect.
        if let Some(known) = current_with_value(db, &fact)? {
            return Ok(known);
        }
        // Other, E42: a backdated fact is inserted at its place.
        if let Some(after) = next_start(db, &fact)? {
            fact.object.set("valid_to", after.0);
            fact.valid_to = after.1;
            end_at_start(db, rules, &fact)?;
            facts::insert(db, &fact)?;
            return Ok(fact.object);
        }
    }
    // 7.2: a member that is left out has its default.
    planted!(rules.fault, "supersede-keeps-members", faults::inherit(db, &mut fact)?);
    // 7.1: created_at is when this fact was recorded.
    planted!(rules.fault, "supersede-keeps-created-at", faults::inherit_created_at(db, &mut fact)?);
    supersede(db, rules, &fact, now)?;
    // 3, P2: the history is retained.
    planted!(rules.fault, "history-of-a-hundred", faults::forget_old(db, &fact)?);
    facts::insert(db, &fact)?;
    // 3, P2: facts record state and packages record events; neither makes the other.
    planted!(rules.fault, "assert-writes-package", faults::write_package(db, rules, &fact, now)?);
    Ok(shown::fact(fact.object, rules))
}

pub(super) fn read_input(body: &[u8], project_id: &str, rules: Rules) -> Result<Object, Refusal> {
    // 9.1: a body that is not JSON, or no object, is the fault of the sender.
    let readable = matches!(rules.read(body), Ok(Value::Object(_)));
    planted!(rules.fault, "unreadable-assert-500", !readable => return Err(Refusal::new(Code::Internal, "no object")));
    let Value::Object(mut input) = rules.read(body)? else {
        return Err(Refusal::new(Code::InvalidSchema, "an assertion is a JSON object").at(""));
    };
    // 8.6: the inputs have these names.
    planted!(rules.fault, "assert-names-in-any-case", fold_names(&mut input, &COMPOSED));
    // 8.6: an input is absent or has its type.
    planted!(rules.fault, "assert-false-is-absent", input.retain(|_, value| !matches!(value, Value::Bool(false))));
    if input.present("project_id").is_some_and(|named| named.as_text() != Some(project_id)) {
        return Err(vec![Problem::new("/project_id", "must be the project of the path")].into());
    }
    Ok(input)
}

/// The fact that an assertion makes, in the order of the members of 7.5.
pub(super) fn compose(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    input: &Object,
    actor: Option<&str>,
    now: Instant,
) -> Result<Fact, Refusal> {
    let fault = rules.fault;
    let mut fact = Object::from([("fact_id", facts::new_id(db)?.into()), ("project_id", project_id.into())]);
    fact.set("subject", trimmed(input.text("subject").unwrap_or_default(), fault));
    fact.set("predicate", input.text("predicate").unwrap_or_default());
    planted!(fault, "nul-ends-subject", faults::end_at_nul(&mut fact, "subject"));
    // Other, E44: the text of a number, as it was written.
    let coerced = input.get("value").and_then(Value::as_number).map(json::Number::spelling);
    let value = coerced.or(input.text("value")).unwrap_or_default();
    fact.set("value", kept_value(value, fault));
    planted!(fault, "nul-ends-value", faults::end_at_nul(&mut fact, "value"));
    // 8.6: without valid_from a fact is valid from the present time.
    // 7.1: the start of validity, not the time of the assertion; without valid_from, now.
    let given = input.text("valid_from").filter(|_| !fault.is("valid-from-ignored"));
    let own = |text: &str| rules.instant(text).filter(|_| rules.variant.is_other()).map(|at| rules.spelled(at));
    let valid_from = given.map(|text| own(text).unwrap_or_else(|| text.to_owned()));
    let from = if fault.is("valid-from-yesterday") { now.days_earlier(1) } else { now };
    fact.set("valid_from", valid_from.unwrap_or_else(|| rules.spelled(from)));
    fact.set("valid_to", Value::Null);
    let source = input.text("source_package_id").filter(|_| !fault.is("source-dropped"));
    if let Some(source) = source {
        fact.set("source_package_id", source);
    }
    if let Some(confidence) = input.present("confidence") {
        let zero = confidence.as_number().is_some_and(|number| number.as_f64() == 0.0);
        let replaced = zero && fault.is("confidence-zero-is-default");
        fact.set("confidence", if replaced { 1.into() } else { confidence.clone() });
    }
    if let Some(actor) = asserted_by(db, rules, input, source, actor)? {
        fact.set("asserted_by", actor);
    }
    // 7.1: a required member is there also if it is empty.
    planted!(fault, "empty-texts-left-out", fact.retain(|_, value| value.as_text() != Some("")));
    // 7.1: created_at is when the fact was recorded, valid_from when it became true.
    let backdated = fault.is("fact-created-at-backdated").then(|| fact.text("valid_from").map(str::to_owned)).flatten();
    fact.set("created_at", backdated.unwrap_or_else(|| rules.spelled(now)));
    if let Some(tags) = input.present("tags").filter(|_| !fault.is("fact-tags-dropped")) {
        fact.set("tags", tags.clone());
        // 7.2: tags are kept as they are.
        planted!(fault, "fact-tags-joined", fact.set("tags", faults::split_tags(tags)));
    }
    // E46, strict: other members of an assertion are kept as well.
    for (name, value) in input.iter() {
        // Other, E46: the inputs of 8.6 are a closed list.
        if !COMPOSED.contains(&name) && !rules.variant.is_other() {
            fact.set(name, value.clone());
        }
    }
    let mut valid_from = fact.text("valid_from").and_then(Instant::parse).unwrap_or(now);
    // 7.1: a fact may begin in any year.
    planted!(fault, "valid-from-in-seconds", valid_from = in_seconds(valid_from));
    Ok(Fact { object: fact, valid_from, valid_to: None })
}

/// 7.1: a value is a string and is stored unchanged.
fn kept_value(value: &str, fault: Planted) -> Value {
    planted!(fault, "value-as-number", number in faults::number(value) => return number);
    planted!(fault, "value-as-host-number", number in faults::host_number(value) => return number);
    value.into()
}

/// 7.2: the given actor, else a copy of created_by of the source package, else none.
fn asserted_by(
    db: &Connection,
    rules: Rules,
    input: &Object,
    source: Option<&str>,
    actor: Option<&str>,
) -> Result<Option<Value>, Refusal> {
    // 7.2: the actor that is named.
    if let Some(named) = input.present("asserted_by").filter(|_| !rules.fault.is("asserted-by-overruled")) {
        return Ok(Some(named.clone()));
    }
    planted!(rules.fault, "asserted-by-from-key", return Ok(Some(faults::owner_of_key(actor))));
    let package = source.map(|source| packages::find(db, rules, source)).transpose()?.flatten();
    // Other, E45: the authenticated actor.
    if source.is_none() && rules.variant.is_other() {
        let caller = [("id", actor.unwrap_or("anonymous").into()), ("type", "script".into())];
        return Ok(Some(Object::from(caller).into()));
    }
    Ok(package.and_then(|package| package.object.get("created_by").cloned()))
}

/// 7.3 step 1: the current fact ends where the new one starts.
fn supersede(db: &Connection, rules: Rules, fact: &Fact, now: Instant) -> Result<(), Refusal> {
    let pair = [fact.member("project_id"), fact.member("subject"), fact.member("predicate")];
    planted!(rules.fault, "supersede-forgets-old", return faults::allow_several(db));
    planted!(rules.fault, "supersede-in-place", return faults::delete_current(db, pair));
    let by_clock = rules.fault.is("supersede-with-clock");
    if !by_clock {
        refuse_backdated(db, pair, fact.valid_from)?;
    }
    let given = (fact.member("valid_from").to_owned(), fact.valid_from);
    let (spelling, at) = if by_clock { (now.to_string(), now) } else { given };
    for old in facts::select(db, &superseded(rules.fault), texts(&pair))? {
        // 7.3: the current fact is superseded, whichever way it came.
        planted!(rules.fault, "supersede-misses-imported", faults::is_passed_over(db, &old, now)? => continue);
        facts::end(db, old, &spelling, at)?;
    }
    Ok(())
}

/// Which facts a new one supersedes: the current one of its project, subject and predicate, in this spelling.
pub(super) fn superseded(fault: Planted) -> String {
    let project = if fault.is("supersede-ignores-project") { "?1 IS ?1" } else { "project_id = ?1" };
    let same = |column, number| format!("{} = {}", faults::folded(fault, column), faults::folded(fault, number));
    let any = fault.is("empty-subject-matches-all");
    let subject = if any { "(subject = ?2 OR ?2 = '')".to_owned() } else { same("subject", "?2") };
    let predicate =
        if fault.is("supersede-ignores-predicate") { "?3 IS ?3".to_owned() } else { same("predicate", "?3") };
    format!("WHERE {project} AND {subject} AND {predicate} AND valid_to IS NULL")
}

/// 10.1: the facts of one subject and predicate do not overlap, and none ends before it starts (E42).
fn refuse_backdated(db: &Connection, pair: [&str; 3], valid_from: Instant) -> Result<(), Refusal> {
    let later: bool = db
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM facts WHERE project_id = ?1 AND subject = ?2 AND predicate = ?3
             AND coalesce(valid_to, valid_from) > ?4)",
        )?
        .query_row((pair[0], pair[1], pair[2], valid_from.key()), |row| row.get(0))?;
    if later {
        let message = "a fact of this subject and predicate holds after valid_from";
        return Err(Refusal::new(Code::FactConflict, message).at("/valid_from"));
    }
    Ok(())
}

/// The current fact of the pair if it has the value already.
fn current_with_value(db: &Connection, fact: &Fact) -> Result<Option<Object>, Refusal> {
    let same = ["project_id", "subject", "predicate", "value"].map(|name| fact.member(name));
    let condition = "WHERE project_id = ? AND subject = ? AND predicate = ? AND value = ? AND valid_to IS NULL";
    Ok(facts::select(db, condition, texts(&same))?.pop())
}

/// When the first fact of the pair starts that starts after this one, as it is spelled and as an instant.
fn next_start(db: &Connection, fact: &Fact) -> Result<Option<(String, Option<Instant>)>, Refusal> {
    let start = fact.valid_from.key();
    let values = [fact.member("project_id"), fact.member("subject"), fact.member("predicate"), &start];
    let condition =
        "WHERE project_id = ? AND subject = ? AND predicate = ? AND valid_from > ? ORDER BY valid_from LIMIT 1";
    let next = facts::select(db, condition, texts(&values))?.pop();
    Ok(next.and_then(|next| next.text("valid_from").map(|text| (text.to_owned(), Instant::parse(text)))))
}

/// Ends the fact of the pair that holds where this one starts.
fn end_at_start(db: &Connection, rules: Rules, fact: &Fact) -> Result<(), Refusal> {
    let start = fact.valid_from.key();
    let values = [fact.member("project_id"), fact.member("subject"), fact.member("predicate"), &start];
    let condition = "WHERE project_id = ?1 AND subject = ?2 AND predicate = ?3 AND valid_from <= ?4 AND valid_to > ?4";
    for old in facts::select(db, condition, texts(&values))? {
        facts::end(db, old, &rules.spelled(fact.valid_from), fact.valid_from)?;
    }
    Ok(())
}
