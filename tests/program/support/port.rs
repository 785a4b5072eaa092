//! A free port.

use std::net::{SocketAddr, TcpListener};

/// A port of this machine without a listener.
pub(crate) fn unused_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address")
}
