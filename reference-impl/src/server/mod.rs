//! Sockets and pipes: bytes in, bytes out, independent of protocols.

pub(crate) mod adapter;
pub(crate) mod http;
pub(crate) mod pipes;
