//! Connections that are handed in, in the place of a socket that is listened on.

use std::io;

use axum::serve::Listener;
use tokio::io::DuplexStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;

/// Gives out connections as they are handed in.
#[derive(Debug)]
pub(crate) struct Pipes {
    connections: UnboundedReceiver<DuplexStream>,
    /// Signals the end.
    done: Option<oneshot::Sender<()>>,
}

impl Pipes {
    /// A listener, and a future that resolves when all senders are dropped.
    pub(crate) fn new(
        connections: UnboundedReceiver<DuplexStream>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (done, ended) = oneshot::channel();
        let ended = async move {
            ended.await.ok(); // also if the listener was dropped
        };
        (Self { connections, done: Some(done) }, ended)
    }
}

impl Listener for Pipes {
    type Io = DuplexStream;
    type Addr = ();

    async fn accept(&mut self) -> (DuplexStream, ()) {
        if let Some(connection) = self.connections.recv().await {
            return (connection, ());
        }
        if let Some(done) = self.done.take() {
            done.send(()).ok(); // the receiver may have been dropped
        }
        std::future::pending().await
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}
