//! The schemas of 4.4 as tables, and the rules beyond the tables.

use sha2::{Digest, Sha256};

use super::super::codes::typ;
use super::super::did;
use super::super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::planted;
use crate::instant::Instant;

/// The type of a member.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Any,
    Bool,
    Bytes,
    Did,
    Source,
    Text,
    Texts,
    Time,
    Unsigned,
    AgentInfo,
    Versions,
    Items,
}

/// A member of a schema: name, kind, and whether it must be there.
pub(super) type Member = (&'static str, Kind, bool);

/// 4.4. `None` for types whose body may be anything (E40).
pub(super) fn schema(typ: u64) -> Option<&'static [Member]> {
    const CREDENTIAL: &[Member] =
        &[("format", Kind::Text, true), ("credential", Kind::Any, true), ("purpose", Kind::Text, false)];
    const DELEGATION: &[Member] = &[("delegation_id", Kind::Text, true)];
    Some(match typ {
        typ::ACK => &[
            ("ack_source", Kind::Source, true),
            ("received_at", Kind::Unsigned, true),
            ("ack_target", Kind::Did, false),
            ("stream_id", Kind::Text, false),
            ("chunks_received", Kind::Unsigned, false),
            ("verified", Kind::Bool, false),
        ],
        typ::PROC_OK => &[("details", Kind::Any, false)],
        typ::PROC_FAIL => &[("error", Kind::Any, false)],
        typ::ERROR => &[
            ("code", Kind::Unsigned, true),
            ("category", Kind::Text, true),
            ("message", Kind::Text, true),
            ("details", Kind::Any, false),
            ("retry", Kind::Bool, false),
            ("batch_index", Kind::Unsigned, false),
        ],
        typ::DOC_SEND => &[
            ("content_type", Kind::Text, true),
            ("filename", Kind::Text, true),
            ("size", Kind::Unsigned, true),
            ("hash", Kind::Bytes, true),
            ("data", Kind::Bytes, true),
        ],
        typ::DOC_REQUEST => {
            &[("doc_id", Kind::Text, false), ("hash", Kind::Bytes, false), ("accept", Kind::Text, false)]
        }
        typ::STREAM_START => &[
            ("stream_id", Kind::Text, true),
            ("content_type", Kind::Text, true),
            ("filename", Kind::Text, true),
            ("total_size", Kind::Unsigned, true),
            ("total_chunks", Kind::Unsigned, true),
            ("chunk_size", Kind::Unsigned, true),
            ("hash_algo", Kind::Text, true),
        ],
        typ::STREAM_DATA => {
            &[("stream_id", Kind::Text, true), ("index", Kind::Unsigned, true), ("data", Kind::Bytes, true)]
        }
        typ::STREAM_END => &[("stream_id", Kind::Text, true), ("hash", Kind::Bytes, true)],
        typ::CRED_ISSUE | typ::CRED_PRESENT => CREDENTIAL,
        typ::CRED_REQUEST => {
            &[("format", Kind::Text, true), ("request", Kind::Any, false), ("purpose", Kind::Text, false)]
        }
        typ::CRED_VERIFY => &CREDENTIAL[..2],
        typ::DELEG_GRANT => {
            &[("credential", Kind::Any, true), ("scope", Kind::Any, false), ("expires", Kind::Time, false)]
        }
        typ::DELEG_REVOKE | typ::DELEG_QUERY => DELEGATION,
        typ::HELLO => &[
            ("versions", Kind::Versions, true),
            ("extensions", Kind::Texts, false),
            ("agent_info", Kind::AgentInfo, false),
        ],
        typ::HELLO_ACK => &[("selected", Kind::Text, true)],
        typ::HELLO_REJECT => &[("reason", Kind::Text, false)],
        typ::BATCH => &[("items", Kind::Items, true)],
        _ => return None, // MESSAGE, REQUEST, RESPONSE, EXTENSION: anything
    })
}

impl Kind {
    fn fits(self, value: &Cbor, rules: Rules) -> bool {
        let texts =
            |value: &Cbor| value.as_array().is_some_and(|items| items.iter().all(|item| item.as_text().is_some()));
        match self {
            Self::Any => true,
            Self::Bool => value.as_bool().is_some(),
            Self::Bytes => value.as_bytes().is_some(),
            Self::Did => value.as_text().is_some_and(did::is_did),
            // 4.4, 16.1: relay or recipient.
            Self::Source => {
                let text = value.as_text();
                text.is_some_and(|text| is_source(text) || rules.fault.is("ack-source-unchecked"))
            }
            Self::Text => value.as_text().is_some(),
            Self::Texts => texts(value),
            // 4.4: RFC 3339 in UTC.
            Self::Time => value
                .as_text()
                .is_some_and(|text| Instant::parse(text).is_some() || rules.fault.is("deleg-expires-unchecked")),
            Self::Unsigned => value.as_unsigned().is_some(),
            // 4.4: at least one version. Other, E52: an empty list has no common version.
            Self::Versions => {
                let some = value.as_array().is_some_and(|items| !items.is_empty());
                texts(value) && (some || rules.is_other() || rules.fault.is("hello-empty-accepted"))
            }
            Self::AgentInfo => {
                let text = |name| value.get(name).map(Cbor::as_text);
                matches!(text("name"), Some(Some(_))) && !matches!(text("implementation"), Some(None))
            }
            // 4.4: at least one item, each of them bytes.
            Self::Items => value.as_array().is_some_and(|items| {
                (!items.is_empty() || rules.fault.is("batch-empty-accepted"))
                    && items.iter().all(|item| item.as_bytes().is_some())
            }),
        }
    }
}

/// 4.4: the members of a schema are there, of their kind, and no others.
pub(super) fn check(schema: &[Member], body: &Cbor, rules: Rules) -> Result<(), &'static str> {
    let pairs = body.as_map().ok_or("body is not a map")?;
    for (name, kind, required) in schema {
        match body.get(name) {
            Some(value) if kind.fits(value, rules) => {}
            None if !required || rules.fault.is("schema-missing-accepted") => {}
            Some(_) | None => return Err(name),
        }
    }
    // 4.4, E34: the schemas are closed. Other, E34: unknown members are ignored.
    let named = |key: &Cbor| key.as_text().is_some_and(|key| schema.iter().any(|(name, ..)| *name == key));
    if !rules.is_other() && !rules.fault.is("schema-unknown-accepted") && !pairs.iter().all(|(key, _)| named(key)) {
        return Err("unknown members");
    }
    Ok(())
}

/// 4.4, 6.1: the rules for documents beyond the schema.
pub(super) fn check_document(typ: u64, body: &Cbor, rules: Rules) -> Result<(), &'static str> {
    // 4.4: every member of a request is optional.
    let lacks = |member| typ == typ::DOC_REQUEST && body.get(member).is_none();
    planted!(rules.fault, "doc-request-wants-id", lacks("doc_id") => return Err("doc_id"));
    planted!(rules.fault, "doc-request-wants-accept", lacks("accept") => return Err("accept"));
    // 4.4: a request names the document by id or by hash.
    if typ == typ::DOC_REQUEST && !rules.fault.is("doc-request-without-selector") {
        return if body.get("doc_id").is_some() || body.get("hash").is_some() { Ok(()) } else { Err("doc_id or hash") };
    }
    // Other, E61: the reader of the document checks size and hash.
    if typ != typ::DOC_SEND || rules.is_other() {
        return Ok(());
    }
    let data = body.get("data").and_then(Cbor::as_bytes).unwrap_or_default();
    // 4.4: data may be empty.
    planted!(rules.fault, "doc-empty-refused", data.is_empty() => return Err("data"));
    let size = body.get("size").and_then(Cbor::as_unsigned);
    if size != Some(data.len() as u64) && !rules.fault.is("doc-size-unchecked") {
        return Err("size");
    }
    // E61: SHA-256 of the data.
    let hash = body.get("hash").and_then(Cbor::as_bytes);
    if hash != Some(Sha256::digest(data).as_slice()) && !rules.fault.is("doc-hash-unchecked") {
        return Err("hash");
    }
    Ok(())
}

/// Whether a text is a valid source: relay or recipient.
fn is_source(text: &str) -> bool {
    matches!(text, "relay" | "recipient")
}
