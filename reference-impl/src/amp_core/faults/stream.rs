//! Faults of streams.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::cbor;

/// `stream-hash-over-encoding`: Hashes the chunks as they are encoded.
pub(in crate::amp_core) fn over_encoding<'a>(chunks: impl Iterator<Item = &'a Vec<u8>>) -> Sha256 {
    chunks.fold(Sha256::new(), |hasher, chunk| hasher.chain_update(cbor::encode(&chunk.as_slice().into())))
}

/// `stream-hash-with-lengths`: Hashes a length before each chunk.
pub(in crate::amp_core) fn with_lengths<'a>(chunks: impl Iterator<Item = &'a Vec<u8>>) -> Sha256 {
    let length = |chunk: &[u8]| u32::try_from(chunk.len()).unwrap_or(u32::MAX).to_be_bytes();
    chunks.fold(Sha256::new(), |hasher, chunk| hasher.chain_update(length(chunk)).chain_update(chunk))
}

/// `stream-order-as-text`: Puts the chunks together in the order of their indexes as text, where 10 stands behind 1.
pub(in crate::amp_core) fn by_text(chunks: &BTreeMap<u64, Vec<u8>>) -> Vec<u8> {
    let mut sorted: Vec<_> = chunks.iter().map(|(index, chunk)| (index.to_string(), chunk)).collect();
    sorted.sort();
    sorted.into_iter().flat_map(|(_, chunk)| chunk).copied().collect()
}
