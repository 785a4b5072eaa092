//! Faults of streams.

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
