//! Encodes the bodies of messages.

use sha2::{Digest, Sha256};

use super::{Ack, AckSource, DocSend, ErrorBody, StreamData, StreamEnd, StreamStart};
use crate::cbor::Cbor;

/// Adds a member that is there.
fn add(map: &mut Cbor, name: &str, value: Option<impl Into<Cbor>>) {
    if let Some(value) = value {
        map.set(name, value.into());
    }
}

impl Ack {
    /// An ACK without anything optional.
    #[must_use]
    pub(crate) fn new(source: AckSource, received_at: u64) -> Self {
        Self { source, received_at, target: None, stream_id: None, chunks_received: None, verified: None }
    }

    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        let source = match self.source {
            AckSource::Relay => "relay",
            AckSource::Recipient => "recipient",
        };
        let mut map = Cbor::map([("ack_source", source.into()), ("received_at", self.received_at.into())]);
        add(&mut map, "ack_target", self.target.as_deref());
        add(&mut map, "stream_id", self.stream_id.as_deref());
        add(&mut map, "chunks_received", self.chunks_received);
        add(&mut map, "verified", self.verified);
        map
    }
}

impl ErrorBody {
    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        let mut map = Cbor::map([
            ("code", self.code.into()),
            ("category", self.category.as_str().into()),
            ("message", self.message.as_str().into()),
        ]);
        add(&mut map, "details", self.details.clone());
        add(&mut map, "retry", self.retry);
        add(&mut map, "batch_index", self.batch_index);
        map
    }
}

impl StreamStart {
    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        Cbor::map([
            ("stream_id", self.stream_id.as_str().into()),
            ("content_type", self.content_type.as_str().into()),
            ("filename", self.filename.as_str().into()),
            ("total_size", self.total_size.into()),
            ("total_chunks", self.total_chunks.into()),
            ("chunk_size", self.chunk_size.into()),
            ("hash_algo", self.hash_algo.as_str().into()),
        ])
    }
}

impl StreamData {
    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        Cbor::map([
            ("stream_id", self.stream_id.as_str().into()),
            ("index", self.index.into()),
            ("data", self.data.as_slice().into()),
        ])
    }
}

impl StreamEnd {
    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        Cbor::map([("stream_id", self.stream_id.as_str().into()), ("hash", self.hash.as_slice().into())])
    }
}

impl DocSend {
    /// A document with its true size and hash.
    #[must_use]
    pub(crate) fn new(content_type: &str, filename: &str, data: Vec<u8>) -> Self {
        let (content_type, filename) = (content_type.to_owned(), filename.to_owned());
        Self { size: data.len() as u64, hash: Sha256::digest(&data).to_vec(), content_type, filename, data }
    }

    /// As encoded in a message.
    #[must_use]
    pub(crate) fn cbor(&self) -> Cbor {
        Cbor::map([
            ("content_type", self.content_type.as_str().into()),
            ("filename", self.filename.as_str().into()),
            ("size", self.size.into()),
            ("hash", self.hash.as_slice().into()),
            ("data", self.data.as_slice().into()),
        ])
    }
}
