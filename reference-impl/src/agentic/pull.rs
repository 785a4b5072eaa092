//! Section 8.2, pull: latest, specific and relevant.

use rusqlite::Connection;

use super::faults::pull as faults;
use super::refusal::{Code, Refusal};
use super::rules::Rules;
use super::shown;
use super::tables::packages::{self, Package};
use super::tables::{projects, search};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::Value;

/// The largest list that is answered (binding.md section 14).
pub(crate) const LIMIT_MAX: usize = 200;

/// latest: the newest packages of a project by created_at; `limit` defaults to 5.
pub(crate) fn latest(
    db: &Connection,
    rules: Rules,
    project_id: &str,
    limit: Option<usize>,
) -> Result<Vec<Package>, Refusal> {
    projects::demand_for_reading(db, rules, project_id)?;
    let default = if rules.fault.is("latest-default-20") { 20 } else { 5 };
    // 8.2: at most the limit.
    let limit = limit.filter(|_| !rules.fault.is("limit-ignored"));
    let mut most = limit.unwrap_or(default);
    planted!(rules.fault, "latest-off-by-one", most += 1);
    let scope =
        if rules.fault.is("latest-across-projects") && limit.is_some() { "?1 IS NOT NULL" } else { "project_id = ?1" };
    let kept = if rules.fault.is("latest-of-last-hundred") { faults::LAST_HUNDRED } else { "" };
    let condition = format!("WHERE {scope} {kept} {} ORDER BY {}", listed_states(rules), newest_first(rules));
    packages::select(db, rules, &condition, vec![project_id.to_owned().into()], most)
}

/// 8.2: most recent first, by the time that created_at denotes; the later deposit first among equals.
pub(crate) fn newest_first(rules: Rules) -> &'static str {
    planted!(rules.fault, "latest-by-insertion", return "serial DESC");
    planted!(rules.fault, "latest-by-text", return "record ->> '$.created_at' DESC");
    planted!(rules.fault, "latest-ascending", return "created_at ASC, serial ASC");
    // Other, E65: for equal times the earlier deposit is first.
    if rules.variant.is_other() {
        return "created_at DESC, serial ASC";
    }
    "created_at DESC, serial DESC"
}

/// A condition on the status of packages in lists.
pub(crate) fn listed_states(rules: Rules) -> &'static str {
    // Other, E55: a draft is visible only to its owner.
    if rules.variant.is_other() { "AND status <> 'draft'" } else { "" }
}

/// specific: the package with this id, or 404.
pub(crate) fn specific(db: &Connection, rules: Rules, package_id: &str) -> Result<Package, Refusal> {
    let missing = || Err(Refusal::no_package(package_id));
    let Some(mut package) = packages::find(db, rules, package_id)? else { return missing() };
    // 8.2: the whole package.
    planted!(rules.fault, "specific-shortened", faults::shorten(&mut package.object));
    // 5.3: a draft is visible to the actor that created it.
    planted!(rules.fault, "draft-hidden-from-owner", package.status() == "draft" => return missing());
    Ok(package)
}

/// 6.6: the hash of a package is kept with it; each read gives the same one.
pub(crate) fn reported_hash(package: &Package, rules: Rules, now: Instant) -> String {
    planted!(rules.fault, "hash-recomputed-per-read", return faults::hash_of_reading(package, rules, now));
    package.hash.clone()
}

/// The default limit of relevant; the specification defines none (E65).
const RELEVANT_LIMIT: usize = 10;

/// relevant: the packages that match any word of `query`, the best match first.
pub(crate) fn relevant(
    db: &Connection,
    rules: Rules,
    project_id: Option<&str>,
    query: &str,
    limit: Option<usize>,
) -> Result<Vec<Package>, Refusal> {
    demand_search(rules)?;
    if let Some(project_id) = project_id {
        projects::demand_for_reading(db, rules, project_id)?;
    }
    let Some(expression) = search::any_word(query) else {
        return Ok(Vec::new());
    };
    let states = listed_states(rules);
    // 8.2: packages that have to do with the query.
    planted!(rules.fault, "relevant-finds-nothing", return Ok(Vec::new()));
    let everywhere = project_id.is_none() || rules.fault.is("relevant-across-projects");
    let scope = if everywhere { "?2 IS ?2" } else { "project_id = ?2" };
    let order = if rules.fault.is("relevant-unranked") { "created_at DESC" } else { "score, created_at DESC" };
    let values = vec![expression.into(), project_id.map(str::to_owned).into()];
    let limit = limit.filter(|_| !rules.fault.is("relevant-ignores-limit")).unwrap_or(RELEVANT_LIMIT);
    packages::select(db, rules, &search::condition(&format!("WHERE {scope} {states}"), order), values, limit)
}

/// 10.2: an operation that depends on a missing capability names it.
pub(crate) fn demand_search(rules: Rules) -> Result<(), Refusal> {
    // Other, E29: search by words works without a flag.
    if rules.search || rules.variant.is_other() {
        return Ok(());
    }
    let code = if rules.fault.is("search-missing-400") { Code::InvalidParameter } else { Code::SearchNotSupported };
    let refusal = Refusal::new(code, "search is not supported");
    Err(Refusal { capability: Some("hybrid_search"), ..refusal })
}

/// The packages of a list; each is as complete as a specific pull shows it (6, 12.1).
pub(crate) fn listed(packages: Vec<Package>, rules: Rules, now: Instant) -> Value {
    // 12.2: a custom type is listed like any other.
    let hidden = |package: &Package| package.object.text("package_type").is_some_and(|kind| kind.starts_with("x-"));
    let unlisted = rules.fault.is("custom-type-unlisted");
    let packages = packages.into_iter().filter(|package| !unlisted || !hidden(package));
    let shown = packages.map(|package| shown::listed_package(package.object, rules, now).into());
    Value::List(shown.collect())
}

/// 8.2: relevant returns packages, not fragments of text.
pub(crate) fn found(packages: Vec<Package>, rules: Rules, now: Instant) -> Value {
    planted!(rules.fault, "relevant-returns-chunks", return faults::chunks(&packages));
    listed(packages, rules, now)
}
