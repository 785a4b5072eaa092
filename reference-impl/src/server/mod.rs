//! Sockets and pipes: bytes in, bytes out. Nothing here knows a protocol.

pub(crate) mod adapter;
pub(crate) mod http;
pub(crate) mod pipes;
