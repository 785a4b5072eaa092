//! Faults of the bundles.

use rusqlite::Connection;

use crate::agentic::refusal::Refusal;
use crate::agentic::tables::facts;
use crate::json::{Object, Value};

/// `orient-important-only`: Whether a package was made by hand, is the result of work, and has some significance.
pub(in crate::agentic) fn is_important(package: &Object) -> bool {
    let author = package.get("created_by").and_then(Value::as_object).and_then(|author| author.text("type"));
    let significance = package.get("significance").map_or_else(|| "5".to_owned(), Value::write);
    author != Some("script")
        && !matches!(package.text("package_type"), Some("auto_deposit" | "orchestrator_report" | "handoff"))
        && significance != "1"
}

/// `orient-shows-ended`: Lists every fact in active_facts.
pub(in crate::agentic) fn all_facts(db: &Connection, project_id: &str) -> Result<Vec<Object>, Refusal> {
    facts::select(db, "WHERE project_id = ? ORDER BY serial", vec![project_id.to_owned().into()])
}

/// `orient-facts-by-subject`: Shows active_facts as an object with subjects as names.
pub(in crate::agentic) fn by_subject(facts: Vec<Object>) -> Value {
    let named = facts.into_iter().map(|fact| (fact.text("subject").unwrap_or_default().to_owned(), fact.into()));
    Value::Object(named.collect())
}

/// `orient-first-hundred-questions`: Cuts open_questions at a hundred.
pub(in crate::agentic) fn first_hundred(questions: &Value) -> Value {
    Value::List(questions.as_list().unwrap_or_default().iter().take(100).cloned().collect())
}

/// `orient-counts-questions`: Shows the number of open questions.
pub(in crate::agentic) fn count(questions: &Value) -> Value {
    i64::try_from(questions.as_list().map_or(0, <[_]>::len)).unwrap_or(0).into()
}
