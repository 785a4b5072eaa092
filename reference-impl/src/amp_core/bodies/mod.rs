//! Bodies (4.4): the parts of them that something is done with.
//!
//! [`schema`] defines the members of each type, [`write`] builds bodies.

mod schema;
mod write;

use super::codes::{Code, typ};
use super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::planted;

use schema::{check, check_document, schema};

/// Why a body does not fit its type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Violation {
    /// 1001 for bodies of the protocol, 4004 for those of applications (E34).
    pub(crate) code: Code,
    /// The reason, usually the name of the member.
    pub(crate) reason: &'static str,
}

/// A body that fits its type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Body {
    /// ACK.
    Ack(Ack),
    /// ERROR.
    Error(ErrorBody),
    /// STREAM_START.
    StreamStart(StreamStart),
    /// STREAM_DATA.
    StreamData(StreamData),
    /// STREAM_END.
    StreamEnd(StreamEnd),
    /// BATCH: the bytes of the items.
    Batch(Vec<Vec<u8>>),
    /// DOC_SEND.
    DocSend(DocSend),
    /// DOC_REQUEST.
    DocRequest(DocRequest),
    /// HELLO: the versions in the order of preference.
    Hello(Vec<String>),
    /// HELLO_ACK: the version that was selected.
    HelloAck(String),
    /// HELLO_REJECT, with the optional reason.
    HelloReject(Option<String>),
    /// Every other type: checked against its schema, and kept as it is.
    Other(Cbor),
}

/// The acknowledging party (16.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AckSource {
    /// A relay: accepted for delivery.
    Relay,
    /// The recipient: delivered.
    Recipient,
}

/// The body of an ACK.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ack {
    /// The acknowledging party.
    pub(crate) source: AckSource,
    /// When the message arrived: milliseconds since the Unix epoch.
    pub(crate) received_at: u64,
    /// The recipient whose delivery is confirmed.
    pub(crate) target: Option<String>,
    /// The stream that is complete (6.2).
    pub(crate) stream_id: Option<String>,
    /// The number of distinct received chunks.
    pub(crate) chunks_received: Option<u64>,
    /// Whether the hash was right.
    pub(crate) verified: Option<bool>,
}

/// The body of an ERROR (15.1).
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ErrorBody {
    /// The number, standard or not.
    pub(crate) code: u64,
    /// The category, as it was written.
    pub(crate) category: String,
    /// A human-readable text.
    pub(crate) message: String,
    /// Anything.
    pub(crate) details: Option<Cbor>,
    /// Whether to retry; if absent, the table applies (E33).
    pub(crate) retry: Option<bool>,
    /// Which item of a batch, from zero.
    pub(crate) batch_index: Option<u64>,
}

/// The body of a STREAM_START (6.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamStart {
    /// The name of the stream, unique for its sender (E60).
    pub(crate) stream_id: String,
    /// Media type.
    pub(crate) content_type: String,
    /// File name.
    pub(crate) filename: String,
    /// Bytes in all.
    pub(crate) total_size: u64,
    /// Chunks in all.
    pub(crate) total_chunks: u64,
    /// Bytes of each chunk but the last.
    pub(crate) chunk_size: u64,
    /// `sha256` (E59).
    pub(crate) hash_algo: String,
}

/// The body of a STREAM_DATA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamData {
    /// The stream.
    pub(crate) stream_id: String,
    /// Which chunk, from zero.
    pub(crate) index: u64,
    /// Its bytes.
    pub(crate) data: Vec<u8>,
}

/// The body of a STREAM_END.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StreamEnd {
    /// The stream.
    pub(crate) stream_id: String,
    /// SHA-256 of all chunks in order.
    pub(crate) hash: Vec<u8>,
}

/// The body of a DOC_SEND (6.1).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocSend {
    /// Media type.
    pub(crate) content_type: String,
    /// File name.
    pub(crate) filename: String,
    /// Bytes.
    pub(crate) size: u64,
    /// SHA-256 (E61).
    pub(crate) hash: Vec<u8>,
    /// The document.
    pub(crate) data: Vec<u8>,
}

/// The body of a DOC_REQUEST: one of the first two is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DocRequest {
    /// Its name.
    pub(crate) doc_id: Option<String>,
    /// Its hash.
    pub(crate) hash: Option<Vec<u8>>,
    /// The requested media type.
    pub(crate) accept: Option<String>,
}

impl Body {
    /// Checks a body against the schema of its type (4.4) and takes from it what something is done with.
    ///
    /// # Errors
    ///
    /// [`Violation`] with the first member that is missing or of another kind.
    pub(crate) fn read(typ: u64, body: &Cbor, rules: Rules) -> Result<Self, Violation> {
        let refuse = |reason| Violation { code: code(typ, rules), reason };
        // 4.4: PING and PONG have no payload.
        if matches!(typ, typ::PING | typ::PONG) {
            let good = *body == Cbor::Null || rules.fault.is("ping-body-accepted");
            return if good { Ok(Self::Other(body.clone())) } else { Err(refuse("body is not null")) };
        }
        let Some(schema) = schema(typ) else {
            return Ok(Self::Other(body.clone()));
        };
        // 4.4: a body has the members of its schema.
        let any = || Ok(Self::typed(typ, body).unwrap_or_else(|| Self::Other(body.clone())));
        planted!(rules.fault, "schema-unchecked", typ != typ::BATCH => return any());
        // 7.1: a grant has a credential.
        planted!(rules.fault, "delegation-without-credential", typ == typ::DELEG_GRANT => return any());
        check(schema, body, rules).map_err(refuse)?;
        check_document(typ, body, rules).map_err(refuse)?;
        Self::typed(typ, body).ok_or_else(|| refuse("body"))
    }

    /// `None` only if the body does not match its schema.
    fn typed(typ: u64, body: &Cbor) -> Option<Self> {
        let text = |name| body.get(name).and_then(Cbor::as_text).map(str::to_owned);
        let unsigned = |name| body.get(name).and_then(Cbor::as_unsigned);
        let bytes = |name| body.get(name).and_then(Cbor::as_bytes).map(<[u8]>::to_vec);
        let truth = |name| body.get(name).and_then(Cbor::as_bool);
        Some(match typ {
            typ::ACK => Self::Ack(Ack {
                source: if text("ack_source").as_deref() == Some("relay") {
                    AckSource::Relay
                } else {
                    AckSource::Recipient
                },
                received_at: unsigned("received_at")?,
                target: text("ack_target"),
                stream_id: text("stream_id"),
                chunks_received: unsigned("chunks_received"),
                verified: truth("verified"),
            }),
            typ::ERROR => Self::Error(ErrorBody {
                code: unsigned("code")?,
                category: text("category")?,
                message: text("message")?,
                details: body.get("details").cloned(),
                retry: truth("retry"),
                batch_index: unsigned("batch_index"),
            }),
            typ::STREAM_START => Self::StreamStart(StreamStart {
                stream_id: text("stream_id")?,
                content_type: text("content_type")?,
                filename: text("filename")?,
                total_size: unsigned("total_size")?,
                total_chunks: unsigned("total_chunks")?,
                chunk_size: unsigned("chunk_size")?,
                hash_algo: text("hash_algo")?,
            }),
            typ::STREAM_DATA => Self::StreamData(StreamData {
                stream_id: text("stream_id")?,
                index: unsigned("index")?,
                data: bytes("data")?,
            }),
            typ::STREAM_END => Self::StreamEnd(StreamEnd { stream_id: text("stream_id")?, hash: bytes("hash")? }),
            typ::BATCH => {
                let items = body.get("items")?.as_array()?.iter();
                Self::Batch(items.map(|item| item.as_bytes().map(<[u8]>::to_vec)).collect::<Option<_>>()?)
            }
            typ::DOC_SEND => Self::DocSend(DocSend {
                content_type: text("content_type")?,
                filename: text("filename")?,
                size: unsigned("size")?,
                hash: bytes("hash")?,
                data: bytes("data")?,
            }),
            typ::DOC_REQUEST => {
                Self::DocRequest(DocRequest { doc_id: text("doc_id"), hash: bytes("hash"), accept: text("accept") })
            }
            typ::HELLO => {
                let versions = body.get("versions")?.as_array()?.iter();
                Self::Hello(versions.map(|version| version.as_text().map(str::to_owned)).collect::<Option<_>>()?)
            }
            typ::HELLO_ACK => Self::HelloAck(text("selected")?),
            typ::HELLO_REJECT => Self::HelloReject(text("reason")),
            _ => Self::Other(body.clone()), // its members are not used
        })
    }
}

/// E34: which code a body gets that does not fit.
fn code(typ: u64, rules: Rules) -> Code {
    match typ {
        _ if rules.is_other() => Code::BadRequest, // Other, E34: invalid parameters of any origin
        // RFC 005, 8.
        typ::DELEG_GRANT..=typ::DELEG_QUERY if rules.companions => Code::InvalidMessage,
        typ::DOC_SEND..=typ::DELEG_QUERY => Code::SchemaViolation,
        _ => Code::InvalidMessage, // of the protocol itself
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(typ: u64, body: &Cbor) -> Result<Body, u64> {
        Body::read(typ, body, Rules::PLAIN).map_err(|violation| violation.code.number())
    }

    fn without(body: &Cbor, name: &str) -> Cbor {
        let pairs = body.as_map().expect("a map").iter();
        Cbor::Map(pairs.filter(|(key, _)| key.as_text() != Some(name)).cloned().collect())
    }

    #[test]
    fn a_body_has_the_members_of_its_schema() {
        let start = StreamStart {
            stream_id: "s".into(),
            content_type: "a/b".into(),
            filename: "f".into(),
            total_size: 1,
            total_chunks: 1,
            chunk_size: 1,
            hash_algo: "sha256".into(),
        };
        let credential = Cbor::map([("format", "jwt_vc".into()), ("credential", Cbor::Null)]);
        let good = [
            (typ::ACK, Ack::new(AckSource::Recipient, 1).cbor(), 1001),
            (typ::STREAM_START, start.cbor(), 1001),
            (typ::STREAM_DATA, StreamData { stream_id: "s".into(), index: 0, data: vec![] }.cbor(), 1001),
            (typ::STREAM_END, StreamEnd { stream_id: "s".into(), hash: vec![] }.cbor(), 1001),
            (typ::BATCH, super::super::batch::body(vec![vec![1]]), 1001),
            (typ::HELLO, Cbor::map([("versions", Cbor::Array(vec!["1.0".into()]))]), 1001),
            (typ::HELLO_ACK, Cbor::map([("selected", "1.0".into())]), 1001),
            (typ::DOC_SEND, DocSend::new("a/b", "f", b"abc".to_vec()).cbor(), 4004),
            (typ::CRED_ISSUE, credential.clone(), 4004),
            (typ::CRED_PRESENT, credential.clone(), 4004),
            (typ::CRED_VERIFY, credential, 4004),
            (typ::CRED_REQUEST, Cbor::map([("format", "x".into())]), 4004),
            (typ::DELEG_GRANT, Cbor::map([("credential", 1.into())]), 4004),
            (typ::DELEG_REVOKE, Cbor::map([("delegation_id", "d".into())]), 4004),
            (typ::DELEG_QUERY, Cbor::map([("delegation_id", "d".into())]), 4004),
        ];
        for (typ, body, code) in good {
            assert!(read(typ, &body).is_ok(), "{typ:#x}");
            for (key, _) in body.as_map().expect("a map") {
                let name = key.as_text().expect("a text");
                assert_eq!(read(typ, &without(&body, name)), Err(code), "{typ:#x} without {name}");
            }
            let mut more = body.clone();
            more.set("x-unknown", Cbor::Null);
            assert_eq!(read(typ, &more), Err(code), "{typ:#x} with another member");
            assert_eq!((read(typ, &Cbor::Null), read(typ, &Cbor::Array(vec![]))), (Err(code), Err(code)), "{typ:#x}");
        }
    }

    #[test]
    fn members_have_their_types() {
        let ack = |name: &str, value: Cbor| {
            let mut body = Ack::new(AckSource::Relay, 1).cbor();
            body.set(name, value);
            read(typ::ACK, &body)
        };
        for source in ["Recipient", "gateway", ""] {
            assert_eq!(ack("ack_source", source.into()), Err(1001));
        }
        assert!(ack("ack_target", "did:x:a".into()).is_ok() && ack("verified", true.into()).is_ok());
        assert_eq!((ack("ack_target", "a".into()), ack("verified", 1.into())), (Err(1001), Err(1001)));
        assert_eq!((ack("received_at", Cbor::Float(1.0)), ack("received_at", "1".into())), (Err(1001), Err(1001)));
        assert_eq!((read(typ::PING, &Cbor::Null).is_ok(), read(typ::PING, &Cbor::map([]))), (true, Err(1001)));
        assert!(read(typ::PROC_OK, &Cbor::map([])).is_ok() && read(typ::PROC_OK, &Cbor::Null).is_err());
        assert!(read(typ::MESSAGE, &Cbor::Float(f64::NAN)).is_ok());
        assert!(read(typ::DOC_REQUEST, &Cbor::map([])).is_err());
        assert!(read(typ::DOC_REQUEST, &Cbor::map([("doc_id", "d".into())])).is_ok());
        let expires =
            |text: &str| read(typ::DELEG_GRANT, &Cbor::map([("credential", Cbor::Null), ("expires", text.into())]));
        assert_eq!((expires("2026-01-01T00:00:00Z").is_ok(), expires("tomorrow")), (true, Err(4004)));
        assert_eq!(read(typ::HELLO, &Cbor::map([("versions", Cbor::Array(vec![]))])), Err(1001));
    }

    #[test]
    fn a_document_matches_its_size_and_hash() {
        let good = DocSend::new("a/b", "f", b"abc".to_vec());
        let bad = [DocSend { size: 4, ..good.clone() }, DocSend { hash: vec![0; 32], ..good.clone() }];
        assert_eq!(read(typ::DOC_SEND, &good.cbor()), Ok(Body::DocSend(good)));
        for bad in bad {
            assert_eq!(read(typ::DOC_SEND, &bad.cbor()), Err(4004));
        }
    }
}
