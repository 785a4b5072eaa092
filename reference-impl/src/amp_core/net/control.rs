//! The control endpoint (binding.md, 11; E95): lets a test make the node send, and set its clock.

use axum::body::Body;
use axum::extract::State;
use axum::http::{Response, StatusCode};
use bytes::Bytes;

use super::outgoing;
use super::reply::text;
use super::server::Server;
use crate::amp_core::node::clock::Clock;
use crate::amp_core::node::outbound::Order;
use crate::json::{self, Object, Value};

/// Answers one JSON request.
pub(super) async fn control(State(server): State<Server>, body: Bytes) -> Response<Body> {
    let answer = match json::read(&body) {
        Ok(Value::Object(request)) => obey(&server, &request).await,
        Ok(_) => Err("a request is a JSON object".to_owned()),
        Err(error) => Err(error.to_string()),
    };
    let (status, body) = match answer {
        Ok(body) => (StatusCode::OK, body),
        Err(message) => (StatusCode::BAD_REQUEST, Object::from([("error", message.into())])),
    };
    text(status, "application/json", &body.write())
}

async fn obey(server: &Server, request: &Object) -> Result<Object, String> {
    match request.text("op") {
        Some("send") => {
            let order = Order::of_json(request)?;
            let sent = server.node.send(order).await?;
            Ok(Object::from([("id", hex(&sent.id).into()), ("message", hex(&sent.message).into())]))
        }
        Some("clock") => {
            server.node.set_clock(clock(request)?);
            Ok(Object::from([("now", server.node.now().to_string().into())]))
        }
        Some("documents") => {
            let documents = request.present("documents").ok_or("documents is missing")?;
            let count = server.node.learn(documents).await?;
            Ok(Object::from([("documents", count.into())]))
        }
        // The relay waits for an answer to its own request before it looks at ours.
        Some("receive") => {
            let url = request.text("url").ok_or("url is missing")?.to_owned();
            tokio::spawn(outgoing::receive(server.clone(), url));
            Ok(Object::new())
        }
        // What became of a message that was sent.
        Some("outbound") => {
            let id = request.text("id").and_then(crate::amp_core::node::from_hex).ok_or("id must be hex")?;
            server.node.outbound_state(id).await
        }
        Some("stop") => {
            server.stop.send_replace(true);
            Ok(Object::new())
        }
        _ => Err("op is one of send, receive, clock, documents, outbound, stop".to_owned()),
    }
}

/// The requested clock.
fn clock(request: &Object) -> Result<Clock, String> {
    let integer = |name| {
        let value = request.present(name)?;
        let number = value.as_number().and_then(json::Number::as_integer);
        let text = match value {
            Value::Text(text) => text.parse().ok(),
            _ => None, // another kind
        };
        Some(number.or(text).ok_or_else(|| format!("{name} must be an integer")))
    };
    match (integer("offset_ms").transpose()?, integer("freeze_ms").transpose()?) {
        (_, Some(now)) => Ok(Clock::Frozen(u64::try_from(now).map_err(|_| "freeze_ms is before 1970")?)),
        (Some(offset), None) => Ok(Clock::Offset(offset)),
        (None, None) => Err("clock needs offset_ms or freeze_ms".to_owned()),
    }
}

fn hex(bytes: &[u8]) -> String {
    crate::amp_core::node::to_hex(bytes)
}
