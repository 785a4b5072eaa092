//! The transports of RFC 002: HTTP (section 6), WebSocket (5), TCP (4), and this node as a client of the three.

mod client;
mod control;
mod http;
mod outgoing;
mod relay;
mod reply;
mod server;
mod tcp;
mod webhook;
mod ws;

use tokio::net::TcpListener;

use crate::server::http::without_delay;
use crate::server::pipes::Pipes;

pub(crate) use client::fetch_json;
pub(crate) use relay::{COMMIT, FORWARD};
pub(crate) use server::Server;

/// Serves HTTP on given connections, without retries.
pub(crate) async fn serve_connections(server: Server, pipes: Pipes, ended: impl Future<Output = ()> + Send + 'static) {
    let stop = server.stop.clone();
    tokio::spawn(async move {
        ended.await;
        stop.send_replace(true);
    });
    http::serve(server.clone(), pipes).await.ok(); // pipes cannot fail as sockets do
    server.node.close().await;
}

/// Serves on both listeners until the server is stopped, then finishes the open requests.
pub(crate) async fn serve(server: Server, http: TcpListener, tcp: Option<TcpListener>) -> std::io::Result<()> {
    let frames = tcp.map(|listener| tokio::spawn(tcp::serve(server.clone(), listener)));
    let ticking = tokio::spawn(outgoing::run(server.clone()));
    let served = http::serve(server.clone(), without_delay(http)).await;
    server.stop.send_replace(true);
    ticking.await.ok();
    if let Some(frames) = frames {
        frames.await.ok();
    }
    server.node.close().await;
    served
}
