//! Faults of an assertion.

use rusqlite::Connection;

use crate::agentic::fact::Fact;
use crate::agentic::intake;
use crate::agentic::refusal::{Code, Refusal};
use crate::agentic::rules::Rules;
use crate::agentic::tables::{facts, packages, texts};
use crate::fault::Planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// The facts of the pair of a fact, and the current one among them.
fn history(db: &Connection, fact: &Fact) -> Result<(Vec<Object>, Option<Object>), Refusal> {
    let pair = ["project_id", "subject", "predicate"].map(|name| fact.member(name));
    let history = facts::select(db, "WHERE project_id = ? AND subject = ? AND predicate = ?", texts(&pair))?;
    let current = history.iter().find(|known| known.present("valid_to").is_none()).cloned();
    Ok((history, current))
}

fn conflict(message: &str) -> Result<(), Refusal> {
    Err(Refusal::new(Code::FactConflict, message))
}

/// `invalidated-for-good`: Rejects the assertion of an invalidated fact.
pub(in crate::agentic) fn refuse_invalidated(db: &Connection, fact: &Fact) -> Result<(), Refusal> {
    let (history, current) = history(db, fact)?;
    if current.is_none() && !history.is_empty() { conflict("the fact was invalidated before") } else { Ok(()) }
}

/// `subject-of-one-project`: Refuses a subject and predicate that another project has.
pub(in crate::agentic) fn refuse_elsewhere(db: &Connection, fact: &Fact) -> Result<(), Refusal> {
    let pair = ["project_id", "subject", "predicate"].map(|name| fact.member(name));
    let elsewhere = "WHERE project_id <> ? AND subject = ? AND predicate = ? AND valid_to IS NULL";
    let known = facts::select(db, elsewhere, texts(&pair))?;
    if known.is_empty() { Ok(()) } else { conflict("another project has this subject") }
}

/// `supersede-misses-imported`: Leaves facts that were recorded long before, as those of an import, beside the new one.
pub(in crate::agentic) fn is_passed_over(db: &Connection, old: &Object, now: Instant) -> Result<bool, Refusal> {
    let passed_over = was_recorded_before(old, now);
    if passed_over {
        allow_several(db)?;
    }
    Ok(passed_over)
}

/// Whether a fact was recorded an hour ago or earlier.
pub(in crate::agentic) fn was_recorded_before(fact: &Object, now: Instant) -> bool {
    let recorded = fact.text("created_at").and_then(Instant::parse);
    recorded.is_some_and(|at| now.unix_milliseconds() - at.unix_milliseconds() >= 3_600_000)
}

/// `supersede-keeps-members`: Takes optional members that an assertion leaves out from the fact that it supersedes.
pub(in crate::agentic) fn inherit(db: &Connection, fact: &mut Fact) -> Result<(), Refusal> {
    let (_, Some(current)) = history(db, fact)? else { return Ok(()) };
    for name in ["source_package_id", "confidence", "tags"] {
        if let (None, Some(value)) = (fact.object.present(name), current.present(name)) {
            fact.object.set(name, value.clone());
        }
    }
    Ok(())
}

/// `supersede-keeps-created-at`: Gives a fact the created_at of the fact that it supersedes.
pub(in crate::agentic) fn inherit_created_at(db: &Connection, fact: &mut Fact) -> Result<(), Refusal> {
    let (_, Some(current)) = history(db, fact)? else { return Ok(()) };
    if let Some(recorded) = current.get("created_at") {
        fact.object.set("created_at", recorded.clone());
    }
    Ok(())
}

/// `reassert-doubles`: Inserts a second current fact when the current value is asserted again.
pub(in crate::agentic) fn is_again(db: &Connection, fact: &Fact) -> Result<bool, Refusal> {
    let (_, current) = history(db, fact)?;
    Ok(current.is_some_and(|known| known.text("value") == Some(fact.member("value"))))
}

/// `backdated-beside`: Inserts a backdated fact as a second current one.
pub(in crate::agentic) fn is_late(db: &Connection, fact: &Fact) -> Result<bool, Refusal> {
    let (_, current) = history(db, fact)?;
    let start = current.as_ref().and_then(|known| known.text("valid_from")).and_then(Instant::parse);
    Ok(start.is_some_and(|start| fact.valid_from < start))
}

/// Inserts a second current fact.
pub(in crate::agentic) fn insert_beside(db: &Connection, fact: Fact) -> Result<Object, Refusal> {
    allow_several(db)?;
    facts::insert(db, &fact)?;
    Ok(fact.object)
}

/// `supersede-forgets-old`: Inserts without ending the old fact.
pub(in crate::agentic) fn allow_several(db: &Connection) -> Result<(), Refusal> {
    Ok(db.execute_batch("DROP INDEX IF EXISTS current_fact")?)
}

/// `value-as-number`: Stores numeric-looking values as numbers and gives 97 for 97.0.
pub(in crate::agentic) fn number(value: &str) -> Option<Value> {
    let Ok(Value::Number(number)) = json::read(value.as_bytes()) else { return None };
    Some(number.as_integer().map_or(Value::Number(number), Value::from))
}

/// `value-as-host-number`: Rewrites values that languages read as numbers, such as +5 and 0x1F.
pub(in crate::agentic) fn host_number(value: &str) -> Option<Value> {
    let bare = value.trim_start_matches('+').trim_end_matches('.').replace('_', "");
    let bare = if bare.starts_with('.') { format!("0{bare}") } else { bare };
    let written = match bare.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()?.to_string(),
        None => bare.parse::<f64>().ok().map(|_| bare)?,
    };
    Some(written.into())
}

/// `asserted-by-from-key`: Sets asserted_by from the credentials although a source package is named.
pub(in crate::agentic) fn owner_of_key(actor: Option<&str>) -> Value {
    Object::from([("id", actor.unwrap_or("anonymous").into()), ("type", "agent".into())]).into()
}

/// `supersede-in-place`: Updates the value of the existing row.
pub(in crate::agentic) fn delete_current(db: &Connection, pair: [&str; 3]) -> Result<(), Refusal> {
    db.execute("DELETE FROM facts WHERE project_id = ? AND subject = ? AND predicate = ? AND valid_to IS NULL", pair)?;
    Ok(())
}

/// `history-of-a-hundred`: Keeps the newest hundred facts of a pair.
pub(in crate::agentic) fn forget_old(db: &Connection, fact: &Fact) -> Result<(), Refusal> {
    let pair = ["project_id", "subject", "predicate"].map(|name| fact.member(name));
    db.execute(
        "DELETE FROM facts WHERE serial IN (SELECT serial FROM facts WHERE project_id = ? AND subject = ?
         AND predicate = ? ORDER BY serial DESC LIMIT -1 OFFSET 99)",
        pair,
    )?;
    Ok(())
}

/// `nul-ends-subject`, `nul-ends-value`: Stores a text up to its first U+0000.
pub(in crate::agentic) fn end_at_nul(fact: &mut Object, member: &str) {
    let cut = fact.text(member).and_then(|text| text.split_once('\0')).map(|(before, _)| before.to_owned());
    if let Some(before) = cut {
        fact.set(member, before);
    }
}

/// `assert-writes-package`: Deposits a package for every assert.
pub(in crate::agentic) fn write_package(
    db: &Connection,
    rules: Rules,
    fact: &Fact,
    now: Instant,
) -> Result<(), Refusal> {
    let package = Object::from([
        ("package_id", fact.member("fact_id").replace("fact_", "pkg_").into()),
        ("project_id", fact.member("project_id").into()),
        ("relay_version", "0.1".into()),
        ("title", "Fact asserted".into()),
        ("status", "complete".into()),
        ("package_type", "auto_deposit".into()),
        ("review_type", "none".into()),
        ("created_at", now.to_string().into()),
        ("created_by", Object::from([("id", "server".into()), ("type", "script".into())]).into()),
    ]);
    packages::insert(db, &intake::admit(rules, package, None))
}

/// `fact-tags-joined`: Keeps tags as one text with commas between them.
pub(in crate::agentic) fn split_tags(tags: &Value) -> Value {
    let texts = tags.as_list().unwrap_or_default().iter().filter_map(Value::as_text);
    Value::List(texts.flat_map(|text| text.split(',')).map(Value::from).collect())
}

/// How texts are compared, as SQL: as they are, unless they are folded by a fault.
pub(in crate::agentic) fn folded(fault: Planted, text: &str) -> String {
    if fault.is("supersede-folds-case") {
        return format!("lower({text})");
    }
    if fault.is("supersede-folds-letters") {
        let pairs =
            [("o\u{308}", "ö"), ("\u{fb01}", "fi"), ("é", "e"), ("ß", "ss"), ("\u{200d}", ""), ("Ä", "ä"), ("Ö", "ö")];
        let replace = |text: String, (from, to): &(&str, &str)| format!("replace({text}, '{from}', '{to}')");
        return format!("lower({})", pairs.iter().fold(text.to_owned(), replace));
    }
    if fault.is("supersede-folds-space") {
        return format!("replace(replace(trim({text}, ' ' || char(10)), char(160), ' '), '  ', ' ')");
    }
    if fault.is("supersede-folds-numbers") {
        return format!("CASE WHEN {text} GLOB '[0-9]*' THEN CAST({text} AS REAL) ELSE {text} END");
    }
    if fault.is("supersede-folds-marks") {
        return format!("replace(rtrim({text}, '/'), '_', '-')");
    }
    if fault.is("supersede-compares-64") {
        return format!("substr({text}, 1, 64)");
    }
    if fault.is("supersede-compares-255") {
        return format!("substr({text}, 1, 255)");
    }
    text.to_owned()
}
