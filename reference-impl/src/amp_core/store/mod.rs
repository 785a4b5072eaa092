//! The stored state of a node (binding.md section 11): the tables, and in the modules their statements.
//!
//! Times are milliseconds since 1970; values beyond a signed 64-bit number count as never.

pub(super) mod kept;
pub(super) mod outbound;
pub(super) mod queue;
pub(super) mod seen;
pub(super) mod streams;
pub(super) mod transfers;

use crate::store::Schema;

/// The tables of a node.
pub(super) const SCHEMA: Schema = Schema {
    version: 1001, // distinct from the numbers of other protocols, so that their files are not confused
    sql: "
CREATE TABLE seen (
    number INTEGER PRIMARY KEY,             -- grows, so that the oldest entries are known
    sender TEXT NOT NULL,                   -- without fragment
    id BLOB NOT NULL,
    keep_until INTEGER NOT NULL,
    status INTEGER NOT NULL,                -- of the HTTP answer
    replies BLOB NOT NULL,
    UNIQUE (sender, id)
) STRICT;
CREATE INDEX seen_by_end ON seen (keep_until);

CREATE TABLE outbound (
    id BLOB PRIMARY KEY,
    url TEXT NOT NULL,                      -- '' if the caller carries the message
    path TEXT NOT NULL,                     -- for a URL of HTTP without one
    recipient TEXT NOT NULL,                -- the party at that URL
    message BLOB NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'confirmed', 'failed'))
) STRICT, WITHOUT ROWID;
CREATE INDEX outbound_by_time ON outbound (next_at) WHERE state = 'waiting';

CREATE TABLE parcel (
    parcel INTEGER PRIMARY KEY,
    sender TEXT NOT NULL,
    id BLOB NOT NULL,
    raw BLOB NOT NULL,                      -- as received
    expires_at INTEGER NOT NULL,
    UNIQUE (sender, id)
) STRICT;
CREATE INDEX parcel_by_end ON parcel (expires_at);

CREATE TABLE delivery (
    place INTEGER PRIMARY KEY AUTOINCREMENT, -- never used again: cursors count on it
    parcel INTEGER NOT NULL REFERENCES parcel ON DELETE CASCADE,
    recipient TEXT NOT NULL,                -- without fragment
    state TEXT NOT NULL CHECK (state IN ('pending', 'delivered')),
    transfer TEXT,                          -- what a relay upstream said: 'single' or 'dual'
    UNIQUE (parcel, recipient)
) STRICT;
CREATE INDEX delivery_by_recipient ON delivery (recipient, place) WHERE state = 'pending';

CREATE TABLE transfer (
    sender TEXT NOT NULL,
    id BLOB NOT NULL,
    recipient TEXT NOT NULL,
    peer TEXT NOT NULL,                     -- the other relay
    upstream INTEGER NOT NULL,              -- 1: the peer handed it to us; 0: we handed it to the peer
    state TEXT NOT NULL CHECK (state IN ('pending', 'accepted', 'rolled_back', 'commit_reported')),
    receipt BLOB,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (sender, id, recipient, upstream)
) STRICT, WITHOUT ROWID;

CREATE TABLE stream (
    sender TEXT NOT NULL,
    stream_id TEXT NOT NULL,
    start BLOB NOT NULL,                    -- the body of STREAM_START
    timeout_at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('open', 'done', 'failed')),
    PRIMARY KEY (sender, stream_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE chunk (
    arrival INTEGER PRIMARY KEY,
    sender TEXT NOT NULL,
    stream_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (sender, stream_id, place),
    FOREIGN KEY (sender, stream_id) REFERENCES stream ON DELETE CASCADE
) STRICT;

CREATE TABLE kept (
    kind TEXT NOT NULL,                     -- document, credential, delegation
    hash BLOB NOT NULL,
    sender TEXT NOT NULL,
    name TEXT NOT NULL,
    body BLOB NOT NULL,
    PRIMARY KEY (kind, hash)
) STRICT, WITHOUT ROWID;

CREATE TABLE counter (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE did_document (did TEXT PRIMARY KEY, json TEXT NOT NULL, fetched_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
",
};

/// A time as stored in a table.
pub(super) fn stored(milliseconds: u64) -> i64 {
    i64::try_from(milliseconds).unwrap_or(i64::MAX)
}
