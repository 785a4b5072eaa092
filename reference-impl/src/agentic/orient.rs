//! Sections 8.3 and 8.4: the bundles that bring a newcomer up to date.

use rusqlite::Connection;

use super::faults::orient as faults;
use super::pull::{demand_search, listed, listed_states, relevant};
use super::refusal::Refusal;
use super::rules::Rules;
use super::shown;
use super::tables::packages::{self, Package};
use super::tables::search::texts;
use super::tables::{facts, projects};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{Object, Value};

/// The default window, in days (8.3).
const WINDOW_DAYS: i64 = 14;

/// The longest window that is answered: a century.
pub(crate) const WINDOW_MAX: i64 = 36_500;

/// Maximum number of recent packages in a bundle; the specification leaves it open (E51).
const RECENT_LIMIT: usize = 50;

/// The default number of snippets in a digest (8.4).
pub(crate) const SNIPPETS: usize = 25;

/// 8.3: the OrientationBundle of a project.
pub(crate) fn orient(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    days: Option<i64>,
    now: Instant,
) -> Result<Object, Refusal> {
    let project = projects::demand_for_reading(db, rules, project_id)?;
    let default = if rules.fault.is("orient-default-7") { 7 } else { WINDOW_DAYS };
    let days = days.unwrap_or(default);
    let scope = if rules.fault.is("orient-other-projects") { None } else { Some(project_id) };
    let recent = recent(db, rules, scope, days, now)?;
    let questions = open_questions(&recent, rules);
    let mut facts = facts::current(db, rules, Some(project_id), now)?;
    facts.retain(|fact| rules.is_shown(fact));
    planted!(rules.fault, "orient-shows-ended", facts = faults::all_facts(db, project_id)?);
    // 8.3: full packages, so that no further request is needed.
    let packages = if rules.fault.is("orient-summaries") { summaries(&recent) } else { listed(recent, rules, now) };
    let echoed = if rules.fault.is("orient-echo-constant") { WINDOW_DAYS } else { days };
    // The start of a server that has been running for a day; this one may have started a moment ago.
    let generated_at = if rules.fault.is("orient-constant-time") { rules.started.days_earlier(1) } else { now };
    // 8.3: project is an object, active_facts and open_questions are arrays.
    let (mut project, mut questions) = (Value::from(rules.shown_project(project.record)), questions);
    planted!(rules.fault, "orient-project-as-text", project = project_id.into());
    // 8.3: all of them, however many; the text bounds recent_packages alone.
    planted!(rules.fault, "orient-first-hundred-facts", facts.truncate(100));
    let mut shown = objects(facts.clone(), rules);
    planted!(rules.fault, "orient-facts-by-subject", shown = faults::by_subject(facts));
    planted!(rules.fault, "orient-first-hundred-questions", questions = faults::first_hundred(&questions));
    planted!(rules.fault, "orient-counts-questions", questions = faults::count(&questions));
    Ok(Object::from([
        ("project", project),
        ("recent_packages", packages),
        ("active_facts", shown),
        ("open_questions", questions),
        ("window_days", echoed.into()),
        ("generated_at", generated_at.to_string().into()),
    ]))
}

/// 8.4: the DigestBundle of a project, or of all of them; member names are those of E53.
pub(crate) fn orchestrate(
    db: &Connection,
    rules: Rules,
    project_id: Option<&str>,
    focus: Option<&str>,
    snippets: usize,
    days: Option<i64>,
    now: Instant,
) -> Result<Object, Refusal> {
    if let Some(project_id) = project_id {
        projects::demand_for_reading(db, rules, project_id)?;
    }
    let days = days.unwrap_or(WINDOW_DAYS);
    // 8.4: of one project, if one is named.
    let scope = project_id.filter(|_| !rules.fault.is("digest-of-everything"));
    let mut packages = recent(db, rules, scope, days, now)?;
    packages.retain(|package| in_digest(package, rules));
    // 8.4: recent activity, questions, facts.
    let asked = if rules.fault.is("digest-without-questions") { Vec::new() } else { packages.clone() };
    planted!(rules.fault, "digest-without-activity", packages.clear());
    let facts =
        if rules.fault.is("digest-without-facts") { Vec::new() } else { facts::current(db, rules, scope, now)? };
    let excerpts = match focus {
        None => Vec::new(),
        Some(focus) => {
            demand_search(rules)?;
            // 8.4: at most the requested number, near the focus.
            let most = if rules.fault.is("digest-snippets-unlimited") { 200 } else { snippets };
            let mut found = relevant(db, rules, project_id, focus, Some(most))?;
            planted!(rules.fault, "digest-snippets-newest", found.clone_from(&packages));
            found.retain(|package| in_digest(package, rules));
            found.iter().map(snippet).collect()
        }
    };
    // 8.4: without a project the digest is of all of them.
    let uncounted = rules.fault.is("digest-without-counts");
    let counts = projects::counts(db)?
        .into_iter()
        .filter(|_| !uncounted)
        .filter(|(id, _, _)| project_id.is_none_or(|wanted| wanted == id));
    let counts = counts.map(|(id, packages, facts)| {
        Object::from([("project_id", id.into()), ("packages", packages.into()), ("active_facts", facts.into())]).into()
    });
    // Other, E53: the five items of the prose are unnamed.
    let names = if rules.variant.is_other() {
        ["days", "made_at", "overview", "state", "unanswered", "excerpts", "totals"]
    } else {
        ["window_days", "generated_at", "summary", "active_facts", "open_questions", "snippets", "project_counts"]
    };
    Ok(Object::from([
        (names[0], days.into()),
        (names[1], now.to_string().into()),
        (names[2], summary(&packages, days).into()),
        (names[3], objects(facts, rules)),
        (names[4], open_questions(&asked, rules)),
        (names[5], excerpts.into()),
        (names[6], counts.collect::<Vec<Value>>().into()),
    ]))
}

/// 5.3: drafts are left out of digests.
fn in_digest(package: &Package, rules: Rules) -> bool {
    package.status() != "draft" || rules.fault.is("digest-shows-drafts")
}

/// The packages created inside the window, newest first.
fn recent(
    db: &Connection,
    rules: Rules,
    project_id: Option<&str>,
    days: i64,
    now: Instant,
) -> Result<Vec<Package>, Refusal> {
    // Other, E51: the newest are recent, however old.
    let always = rules.variant.is_other() || rules.fault.is("orient-window-ignored");
    let since = if always { String::new() } else { now.days_earlier(days).key() };
    let states = listed_states(rules);
    let condition = format!(
        "WHERE (?1 IS NULL OR project_id = ?1) AND created_at >= ?2 {states} ORDER BY created_at DESC, serial DESC"
    );
    let values = vec![project_id.map(str::to_owned).into(), since.into()];
    let mut recent = packages::select(db, rules, &condition, values, RECENT_LIMIT)?;
    // 8.3: recent packages, not important ones.
    planted!(rules.fault, "orient-important-only", recent.retain(|package| faults::is_important(&package.object)));
    Ok(recent)
}

/// The questions of recent packages, without duplicates.
fn open_questions(packages: &[Package], rules: Rules) -> Value {
    // Other, E51: each with its package.
    if rules.variant.is_other() {
        let asked = packages.iter().flat_map(|package| {
            let asked = |question: &str| {
                Object::from([("question", question.into()), ("asked_in", package.id().into())]).into()
            };
            texts(&package.object, "open_questions").map(asked)
        });
        return Value::List(asked.collect());
    }
    let mut questions: Vec<Value> = Vec::new();
    for question in packages.iter().flat_map(|package| texts(&package.object, "open_questions")) {
        if !questions.iter().any(|known| known.as_text() == Some(question)) {
            questions.push(question.into());
        }
    }
    Value::List(questions)
}

fn summaries(packages: &[Package]) -> Value {
    let summary = |package: &Package| {
        Object::from([("package_id", package.id().into()), ("title", package.object.text("title").into())]).into()
    };
    Value::List(packages.iter().map(summary).collect())
}

/// One line per package: the work, its actor, and the note for the next actor.
fn summary(packages: &[Package], days: i64) -> String {
    let mut lines = vec![format!("packages in the last {days} days: {}", packages.len())];
    for package in packages {
        let text = |name| package.object.text(name).unwrap_or_default();
        let actor = package.object.get("created_by").and_then(Value::as_object).and_then(|actor| actor.text("id"));
        let note =
            if text("handoff_note").is_empty() { String::new() } else { format!("; next: {}", text("handoff_note")) };
        let actor = actor.unwrap_or_default();
        lines.push(format!("{} [{}] {} ({actor}){note}", text("created_at"), text("package_type"), text("title")));
    }
    lines.join("\n")
}

fn snippet(package: &Package) -> Value {
    let text = |name| package.object.text(name).unwrap_or_default();
    let body = [text("description"), text("handoff_note"), text("content_md")];
    let excerpt: String = body.iter().find(|text| !text.is_empty()).map_or("", |text| text).chars().take(280).collect();
    Object::from([
        ("package_id", package.id().into()),
        ("project_id", text("project_id").into()),
        ("title", text("title").into()),
        ("excerpt", excerpt.into()),
    ])
    .into()
}

fn objects(facts: Vec<Object>, rules: Rules) -> Value {
    Value::List(facts.into_iter().map(|fact| shown::fact(fact, rules).into()).collect())
}
