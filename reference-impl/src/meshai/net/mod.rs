//! How a server is reached: HTTP (8.2) and WebSocket (8.1, E78).

mod control;
mod http;
mod server;
mod ws;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::routing::{any, get, post};
use axum::serve::Listener;
use std::fmt::Debug;
use tower_http::catch_panic::CatchPanicLayer;

use server::empty;

pub(crate) use server::Server;

/// Serves until the server is stopped and the exchanges are done.
pub(crate) async fn serve<L: Listener<Addr: Debug>>(server: Server, listener: L) -> std::io::Result<()> {
    let fault = server.node.rules().fault;
    let mut router = Router::new()
        .route("/aip/v1/ws", get(ws::upgrade))
        .route("/aip/v1/callback", post(http::callback))
        .route("/agents/{id}", axum::routing::delete(http::deregister))
        .route("/agents/{id}/health", axum::routing::put(http::renew));
    // 8.2: messages are sent by POST.
    let invoke = if fault.is("put-executes") { post(http::invoke).put(http::invoke) } else { post(http::invoke) };
    let invoke = if fault.is("get-executes") { invoke.get(http::invoke_by_query) } else { invoke };
    // 8.2: the path of the binding.
    let path = if fault.is("invoke-path-moved") { "/invoke" } else { "/aip/v1/invoke" };
    router = router.route(path, invoke);
    // 10.1: a health endpoint.
    router = if fault.is("health-missing") { router } else { router.route("/health", get(http::health)) };
    // Never by default: any client of it can send in the name of this agent.
    if server.control {
        router = router.route("/aip/v1/control", post(control::control));
    }
    let panicked = |_| empty(StatusCode::INTERNAL_SERVER_ERROR);
    let (waiting, node) = (server.clone(), server.node.clone());
    let router = router
        .fallback(any(async || empty(StatusCode::NOT_FOUND)))
        .layer(DefaultBodyLimit::disable())
        .with_state(server)
        .layer(CatchPanicLayer::custom(panicked));
    let served = axum::serve(listener, router).with_graceful_shutdown(async move { waiting.stopped().await }).await;
    node.close().await;
    served
}
