//! The reference implementation as a separate server, and connections that are forwarded to it.

use std::io::{BufRead, BufReader};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;

/// A reference implementation of amp-core that is served.
pub(crate) struct Reference {
    child: std::process::Child,
    pub(crate) http: SocketAddr,
    pub(crate) tcp: SocketAddr,
}

impl Reference {
    /// Starts one, and waits until it prints its address.
    pub(crate) fn start() -> std::io::Result<Self> {
        let mut child = Command::new(env!("CARGO_BIN_EXE_proofmark"))
            .args(["serve", "--protocol", "amp-core", "--listen", "127.0.0.1:0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let mut line = String::new();
        let output = child.stdout.take().ok_or_else(|| std::io::Error::other("its output"))?;
        BufReader::new(output).read_line(&mut line)?;
        let after = |scheme: &str| {
            let (_, rest) = line.split_once(scheme)?;
            rest.split_whitespace().next()?.parse().ok()
        };
        let (http, tcp) = (after(" http://"), after(" amp://"));
        let (Some(http), Some(tcp)) = (http, tcp) else {
            return Err(std::io::Error::other(format!("unexpected output {line:?}")));
        };
        Ok(Self { child, http, tcp })
    }
}

impl Drop for Reference {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Forwards everything in both directions until both sides close.
pub(crate) fn forward(near: TcpStream, behind: SocketAddr) -> std::io::Result<()> {
    let far = TcpStream::connect(behind)?;
    let (mut from, mut to) = (near.try_clone()?, far.try_clone()?);
    let there = thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let (mut from, mut to) = (far, near);
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
    let _ = there.join();
    Ok(())
}
