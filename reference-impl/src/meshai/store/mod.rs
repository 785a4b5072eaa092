//! The stored state (binding.md, 12): the tables, and in the modules their statements.
//!
//! Instants are stored as texts of fixed width whose order is that in time.

pub(super) mod agents;
pub(super) mod contexts;
pub(super) mod delegations;
pub(super) mod rates;

use crate::store::Schema;

/// The tables of a server.
pub(super) const SCHEMA: Schema = Schema {
    version: 3001, // distinct from the numbers of other protocols, so that their files are not confused
    sql: "
CREATE TABLE agent (
    key TEXT PRIMARY KEY,                   -- the id
    number INTEGER NOT NULL,                -- in the order of registration
    record TEXT NOT NULL,                   -- agent, capabilities and endpoints as JSON
    credentials TEXT NOT NULL,              -- '' if the agent has none
    renewed_at INTEGER NOT NULL,            -- milliseconds since 1970
    built_in INTEGER NOT NULL,              -- 1: an agent of this server
    total INTEGER NOT NULL DEFAULT 0,       -- requests that were routed to it
    failed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE context (
    id TEXT PRIMARY KEY,
    number INTEGER NOT NULL,                -- in the order of creation
    session TEXT NOT NULL,
    created_at TEXT NOT NULL,
    expires_at TEXT,                        -- as it was sent
    expiry INTEGER,                         -- the same in milliseconds since 1970
    shared TEXT NOT NULL,                   -- JSON
    access TEXT,                            -- JSON; NULL without lists
    parent TEXT,
    root TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX context_by_session ON context (session, number);
CREATE INDEX context_by_expiry ON context (expiry) WHERE expiry IS NOT NULL;

CREATE TABLE private (
    context TEXT NOT NULL REFERENCES context ON DELETE CASCADE,
    agent TEXT NOT NULL,
    memory TEXT NOT NULL,                   -- JSON
    PRIMARY KEY (context, agent)
) STRICT, WITHOUT ROWID;

CREATE TABLE delegation (
    id TEXT PRIMARY KEY,                    -- of the delegating message
    parent_task TEXT NOT NULL,
    agent TEXT NOT NULL,
    callback TEXT,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'done', 'failed')),
    attempts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE rate (
    source TEXT NOT NULL,
    at INTEGER NOT NULL,                    -- milliseconds since 1970
    number INTEGER NOT NULL,
    PRIMARY KEY (source, at, number)
) STRICT, WITHOUT ROWID;
",
};
