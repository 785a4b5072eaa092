//! The control endpoint (binding.md, 12): makes the server send, sets its clock, and stops it. Only for tests.

use axum::body::Body;
use axum::extract::State;
use axum::http::Response;
use bytes::Bytes;

use super::server::{Server, json};
use crate::json::{self as text, Object, Value};
use crate::meshai::node::client::Sent;
use crate::meshai::time::{self, Clock};

/// Answers one JSON request.
pub(super) async fn control(State(server): State<Server>, body: Bytes) -> Response<Body> {
    let answer = match text::read(&body) {
        Ok(Value::Object(request)) => obey(&server, &request).await,
        Ok(_) => Err((400, "a request is a JSON object".to_owned())),
        Err(error) => Err((400, error.to_string())),
    };
    match answer {
        Ok(body) => json(200, body.write()),
        Err((status, message)) => json(status, Object::from([("error", message.into())]).write()),
    }
}

async fn obey(server: &Server, request: &Object) -> Result<Object, (u16, String)> {
    let node = &server.node;
    let wrong = |message: String| (400, message);
    let kind = match request.text("op") {
        Some("clock") => {
            node.set_clock(clock(request).map_err(wrong)?);
            return Ok(Object::from([("now", node.now().to_string().into())]));
        }
        Some("stop") => {
            server.stop.send_replace(true);
            return Ok(Object::new());
        }
        Some("register") => return node.register(request.text("url")).await.map(shown).map_err(wrong),
        Some("discover") => "discovery",
        Some("request") => "request",
        Some("negotiate") => "negotiation",
        Some("delegate") => "delegation",
        Some("share") => "context_update",
        _ => {
            let known = "op is one of register, discover, request, negotiate, delegate, share, clock, stop";
            return Err(wrong(known.to_owned()));
        }
    };
    // 4.1: only a registered agent takes part.
    if !node.admitted().await {
        return Err((409, "this agent is not registered".to_owned()));
    }
    let registry =
        node.settings().registry.as_deref().map(|base| format!("{}/aip/v1/invoke", base.trim_end_matches('/')));
    let url = request.text("url").map(str::to_owned).or(registry).ok_or_else(|| wrong("url is missing".to_owned()))?;
    let mut fields = request.clone();
    fields.remove("op");
    fields.remove("url");
    if kind == "delegation" && fields.get("completion_callback").is_none() {
        fields.set("completion_callback", format!("{}/aip/v1/callback", node.base()));
    }
    let envelope = node.compose(kind, &fields).map_err(wrong)?;
    Ok(shown(node.send(&url, envelope).await))
}

fn shown(sent: Sent) -> Object {
    Object::from([("sent", sent.envelope.into()), ("reply", sent.reply.into()), ("outcome", sent.outcome.into())])
}

/// The requested clock: a fixed `now`, an `offset_ms`, or that of the machine.
fn clock(request: &Object) -> Result<Clock, String> {
    match (request.present("now"), request.present("offset_ms")) {
        (Some(now), _) => {
            let now = now.as_text().and_then(time::parse).ok_or("now must be an RFC 3339 time")?;
            Ok(Clock::Fixed(now))
        }
        (None, Some(offset)) => {
            let offset = offset.as_number().and_then(text::Number::as_integer);
            offset.map(Clock::Offset).ok_or_else(|| "offset_ms must be an integer".to_owned())
        }
        (None, None) => Ok(Clock::Offset(0)),
    }
}
