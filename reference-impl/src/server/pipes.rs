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
    /// Said when there will be no more.
    done: Option<oneshot::Sender<()>>,
}

impl Pipes {
    /// A listener, and a future that resolves when nobody can hand anything in any more.
    pub(crate) fn new(
        connections: UnboundedReceiver<DuplexStream>,
    ) -> (Self, impl Future<Output = ()> + Send + 'static) {
        let (done, ended) = oneshot::channel();
        let ended = async move {
            ended.await.ok(); // also when the listener is gone
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
            done.send(()).ok(); // nobody may be waiting
        }
        std::future::pending().await
    }

    fn local_addr(&self) -> io::Result<()> {
        Ok(())
    }
}
