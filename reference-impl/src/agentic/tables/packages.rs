//! Packages in the store: inserted once, found by id or in order of time, verified at every read.

use rusqlite::types::Value as Sql;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use super::{object, search};
use crate::agentic::hash::{content_hash, verify};
use crate::agentic::intake::Submission;
use crate::agentic::refusal::{Code, Refusal};
use crate::agentic::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// A package from the store with a verified content hash.
#[derive(Debug, Clone)]
pub(crate) struct Package {
    pub(crate) object: Object,
    /// The text it is stored as.
    pub(crate) text: String,
    pub(crate) hash: String,
    /// The hash at its deposit; differs from `hash` after a transition.
    pub(crate) deposited_hash: String,
}

impl From<Submission> for Package {
    fn from(submission: Submission) -> Self {
        let Submission { object, text, hash, .. } = submission;
        Self { object, text, deposited_hash: hash.clone(), hash }
    }
}

impl Package {
    pub(crate) fn id(&self) -> &str {
        self.object.text("package_id").unwrap_or_default()
    }

    pub(crate) fn status(&self) -> &str {
        self.object.text("status").unwrap_or_default()
    }
}

const COLUMNS: &str = "record, hash, deposited_hash, package_id";

struct Stored {
    text: String,
    hash: String,
    deposited_hash: String,
    package_id: String,
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored { text: row.get(0)?, hash: row.get(1)?, deposited_hash: row.get(2)?, package_id: row.get(3)? })
}

/// 6.6: a package is verified on every read; a mismatch is reported to the client.
fn verified(stored: Stored, rules: Rules) -> Result<Package, Refusal> {
    let Stored { text, hash, deposited_hash, package_id } = stored;
    let mismatch =
        || Refusal::new(Code::HashMismatch, format!("package {package_id:?} does not match its deposited content"));
    let mut object = object(&text).map_err(|_| mismatch())?;
    if !rules.fault.is("tampered-returned") && !verify(&object, text.as_bytes(), &hash, rules) {
        return Err(mismatch());
    }
    // 6.1, E58: created_at is returned as spelled.
    if rules.fault.is("created-at-respelled")
        && let Some(time) = object.text("created_at").and_then(crate::instant::Instant::parse)
    {
        object.set("created_at", time.with_milliseconds());
        let hash = content_hash(&object, text.as_bytes(), rules);
        return Ok(Package { object, text, hash, deposited_hash });
    }
    Ok(Package { object, text, hash, deposited_hash })
}

/// 8.2: the package with exactly this id.
pub(crate) fn find(db: &Connection, rules: Rules, package_id: &str) -> Result<Option<Package>, Refusal> {
    let matches = if rules.fault.is("id-like-match") { "package_id LIKE ?1" } else { "package_id = ?1" };
    // 6.1: an id is a text, also if it consists of digits.
    let same_number = "?1 GLOB '[0-9]*' AND package_id GLOB '[0-9]*' AND CAST(package_id AS REAL) = CAST(?1 AS REAL)";
    let number = format!("(package_id = ?1 OR {same_number})");
    let matches = if rules.fault.is("id-compared-as-number") { &number } else { matches };
    let mut query =
        db.prepare_cached(&format!("SELECT {COLUMNS} FROM packages WHERE {matches} ORDER BY serial DESC LIMIT 1"))?;
    let row = query.query_row([package_id], stored).optional()?;
    row.map(|row| verified(row, rules)).transpose()
}

/// The packages that `condition` selects, in the order that it ends with, at most `limit` of them.
///
/// 6.6: a package that fails verification is quarantined: lists omit it.
pub(crate) fn select(
    db: &Connection,
    rules: Rules,
    condition: &str,
    values: Vec<Sql>,
    limit: usize,
) -> Result<Vec<Package>, Refusal> {
    let mut query = db.prepare_cached(&format!("SELECT {COLUMNS} FROM packages {condition}"))?;
    let mut rows = query.query(params_from_iter(values))?;
    let mut packages = Vec::new();
    while packages.len() < limit {
        let Some(row) = rows.next()? else { break };
        match verified(stored(row)?, rules) {
            Ok(package) => packages.push(package),
            Err(refusal) if refusal.code == Code::HashMismatch => {}
            Err(refusal) => return Err(refusal),
        }
    }
    planted!(rules.fault, "reading-sorts-lists", sort_stored(db, rules, &packages));
    Ok(packages)
}

/// 8.1 step 3: inserts a new package and its search index.
pub(crate) fn insert(db: &Connection, submission: &Submission) -> Result<(), Refusal> {
    let Submission { object, text, hash, package_id, project_id, created_at } = submission;
    let mut statement = db.prepare_cached(
        "INSERT INTO packages (package_id, project_id, record, hash, deposited_hash, created_at, status)
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6)",
    )?;
    let status = object.text("status").unwrap_or_default();
    statement.execute((package_id, project_id, text, hash, created_at, status))?;
    search::insert(db, db.last_insert_rowid(), object)
}

/// Rewrites a package under its id: a transition (5.3), which is the only permitted change.
pub(crate) fn rewrite(db: &Connection, package_id: &str, object: &Object, hash: &str) -> Result<(), Refusal> {
    let mut statement =
        db.prepare_cached("UPDATE packages SET record = ?, hash = ?, status = ? WHERE package_id = ?")?;
    let status = object.text("status").unwrap_or_default();
    statement.execute((object.write(), hash, status, package_id))?;
    Ok(())
}

/// Replaces the stored package but not the stored hash, as damage would.
pub(crate) fn tamper(db: &Connection, package_id: &str, text: &str) -> Result<(), Refusal> {
    let changed = db.execute("UPDATE packages SET record = ? WHERE package_id = ?", [text, package_id])?;
    if changed == 0 { Err(Refusal::no_package(package_id)) } else { Ok(()) }
}

/// `reading-sorts-lists`: Sorts the lists of a stored package when an answer with several packages shows it.
fn sort_stored(db: &Connection, rules: Rules, shown: &[Package]) {
    // The connection of a reader writes nothing; a snapshot that is no longer the newest one cannot be written to.
    db.pragma_update(None, "query_only", false).ok();
    for package in shown {
        let mut sorted = package.object.clone();
        for name in ["tags", "decisions_made", "open_questions"] {
            if let Some(Value::List(items)) = sorted.present(name) {
                let mut items = items.clone();
                items.sort_by(|left, right| left.as_text().cmp(&right.as_text()));
                sorted.set(name, Value::List(items));
            }
        }
        let hash = content_hash(&sorted, b"", rules);
        rewrite(db, package.id(), &sorted, &hash).ok();
    }
}
