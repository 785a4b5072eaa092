//! The durable state as tables, and their queries.
//! A record is stored as the received text (`record`), which is authoritative; the other columns are for lookup and
//! ordering. Instants are stored as `Instant::key` writes
//! them.

pub(crate) mod facts;
pub(crate) mod packages;
pub(crate) mod projects;
pub(crate) mod search;
pub(crate) mod sessions;

use crate::json::{self, Object, Value};
use crate::store::Schema;

use super::refusal::{Code, Refusal};

/// The tables of this protocol.
pub(crate) const SCHEMA: Schema = Schema {
    version: 1,
    sql: "
    CREATE TABLE projects (
        project_id  TEXT NOT NULL PRIMARY KEY,
        record      TEXT NOT NULL,
        archived_at TEXT
    ) STRICT;

    -- `hash` is that of `record`; `deposited_hash` that of the deposit, which transitions do not change.
    CREATE TABLE packages (
        serial         INTEGER PRIMARY KEY,
        package_id     TEXT NOT NULL,
        project_id     TEXT NOT NULL REFERENCES projects,
        record         TEXT NOT NULL,
        hash           TEXT NOT NULL,
        deposited_hash TEXT NOT NULL,
        created_at     TEXT NOT NULL,
        status         TEXT NOT NULL
    ) STRICT;
    CREATE UNIQUE INDEX package_by_id ON packages (package_id);
    CREATE INDEX packages_by_time ON packages (project_id, created_at DESC, serial DESC);
    CREATE INDEX packages_by_status ON packages (project_id, status);

    CREATE TABLE review_notes (
        serial      INTEGER PRIMARY KEY,
        package_id  TEXT NOT NULL,
        review_type TEXT NOT NULL,
        note        TEXT NOT NULL,
        flagged_at  TEXT NOT NULL
    ) STRICT;

    CREATE TABLE facts (
        serial     INTEGER PRIMARY KEY,
        fact_id    TEXT NOT NULL UNIQUE,
        project_id TEXT NOT NULL REFERENCES projects,
        subject    TEXT NOT NULL,
        predicate  TEXT NOT NULL,
        value      TEXT NOT NULL,
        record     TEXT NOT NULL,
        valid_from TEXT NOT NULL,
        valid_to   TEXT
    ) STRICT;
    CREATE INDEX facts_by_pair ON facts (project_id, subject, predicate, valid_from);
    -- 7.3: at most one fact is current for a subject and predicate.
    CREATE UNIQUE INDEX current_fact ON facts (project_id, subject, predicate) WHERE valid_to IS NULL;

    CREATE TABLE sessions (
        project_id TEXT NOT NULL REFERENCES projects,
        session_id TEXT NOT NULL,
        record     TEXT NOT NULL,
        started_at TEXT NOT NULL,
        PRIMARY KEY (project_id, session_id)
    ) STRICT;

    -- Row ids are those of packages. No text is kept twice.
    CREATE VIRTUAL TABLE package_words USING fts5 (
        title, description, decisions, questions, note, content, tags,
        content = '', tokenize = 'unicode61'
    );
    CREATE VIRTUAL TABLE package_titles USING fts5 (title, tags, content = '', tokenize = 'trigram');
    ",
};

/// A record from the store as the object it is.
fn object(record: &str) -> Result<Object, Refusal> {
    match json::read_to_depth(record.as_bytes(), json::DEPTH_LIMIT + 1) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(Refusal::new(Code::HashMismatch, "a stored record is not an object")),
        Err(error) => Err(Refusal::new(Code::HashMismatch, format!("a stored record is damaged: {error}"))),
    }
}

/// Texts as the values of a statement.
pub(super) fn texts(texts: &[&str]) -> Vec<rusqlite::types::Value> {
    texts.iter().map(|text| (*text).to_owned().into()).collect()
}
