//! A server without a network: messages in, replies out.

use std::time::Duration;

use super::params::{bytes, hex, object, operations, rejected, text};
use crate::json::{self, Object, Value};
use crate::meshai::agents::Behaviour;
use crate::meshai::auth::Presented;
use crate::meshai::canonical::Recipe;
use crate::meshai::codes::Code;
use crate::meshai::context::Operation;
use crate::meshai::keyed::{Encoding, Signing};
use crate::meshai::node::{Arrival, Node, Settings};
use crate::meshai::refusal::Refusal;
use crate::meshai::reply::Carrier;
use crate::meshai::time::{self, Clock};
use crate::meshai::version;
use crate::server::adapter::RpcError;

/// How long `outbox` waits for subtasks under way.
const QUIET: Duration = Duration::from_secs(10);

/// The answer to a call; `None` if the method is not one of these.
pub(super) async fn call(name: &str, params: &Object, node: &Node) -> Result<Option<Object>, RpcError> {
    let rules = node.rules();
    let result = match name {
        "info" => info(node),
        "set_clock" => {
            node.set_clock(Clock::Fixed(instant(params, "now")?));
            Object::new()
        }
        "define_capability" => {
            let behaviour = Behaviour::parse(object(params, "behaviour")?);
            let behaviour =
                behaviour.ok_or_else(|| RpcError::params("behaviour.kind is fixed, echo, sleep, fail or exhaust"))?;
            node.define(object(params, "capability")?.clone(), behaviour);
            Object::new()
        }
        "handle" => handle(params, node).await?,
        "outbox" => {
            node.quiet(QUIET).await;
            let sent = node
                .sent()
                .into_iter()
                .map(|(to, text)| Object::from([("to", to.into()), ("raw", hex(text.as_bytes()))]).into());
            let sent: Vec<Value> = sent.collect();
            Object::from([("sent", sent.into())])
        }
        "build" => {
            let envelope = node.compose(text(params, "kind")?, object(params, "fields")?).map_err(RpcError::params)?;
            Object::from([("raw", hex(envelope.write().as_bytes()))])
        }
        "context" => {
            let operation = Operation::named(text(params, "op")?).ok_or_else(|| RpcError::params("op is unknown"))?;
            let parameters = object(params, "parameters")?.clone();
            let shown = node.context(operation, parameters, text(params, "agent_id")?).await;
            Object::from([("context", shown.map_err(|refusal| rejected(&refusal, rules))?.into())])
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

fn info(node: &Node) -> Object {
    let texts = |texts: &[&str]| texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>();
    let features = node.settings().features;
    let offered =
        [("context", features.context), ("negotiation", features.negotiation), ("delegation", features.delegation)];
    let offered: Vec<&str> = ["registry", "routing"]
        .into_iter()
        .chain(offered.into_iter().filter(|(_, there)| *there).map(|(name, _)| name))
        .collect();
    let families = if node.rules().is_other() { &version::FAMILIES[1..] } else { version::FAMILIES };
    let protocols: Vec<Value> = families.iter().map(|family| format!("{family}/1.0").into()).collect();
    // 10.1: at least one transport.
    let transports: &[&str] = if node.rules().fault.is("no-transport") { &[] } else { &["http", "websocket"] };
    Object::from([
        ("name", "proofmark-reference".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("roles", texts(&["agent", "registry", "mesh", "client"]).into()),
        ("protocols", protocols.into()),
        ("transports", texts(transports).into()),
        ("auth", texts(&["api_key", "jwt", "hmac"]).into()),
        ("canonical", "jcs".into()),
        ("encoding", if node.rules().is_other() { "hex" } else { "base64" }.into()),
        ("features", texts(&offered).into()),
        ("operations", operations().into()),
    ])
}

fn instant(params: &Object, name: &str) -> Result<crate::instant::Instant, RpcError> {
    time::parse(text(params, name)?).ok_or_else(|| RpcError::params(format!("{name} must be an RFC 3339 time")))
}

/// The settings and the clock of a clean state.
pub(super) fn reset(settings: &Settings, clock: Clock, params: &Object) -> Result<(Settings, Clock), RpcError> {
    let clock = if params.present("now").is_some() { Clock::Fixed(instant(params, "now")?) } else { clock };
    let mut settings = settings.clone();
    let empty = Object::new();
    let config = params.present("config").and_then(Value::as_object).unwrap_or(&empty);
    if let Some(auth) = config.present("auth").and_then(Value::as_object) {
        let part = |name: &str| auth.present(name).and_then(Value::as_object);
        settings.auth.api_keys =
            part("api_key").and_then(|key| key.text("value")).map(str::to_owned).into_iter().collect();
        settings.auth.jwt_key = part("jwt").and_then(|jwt| jwt.text("key")).map(|key| key.as_bytes().to_vec());
        settings.auth.signing = part("hmac").and_then(|hmac| {
            Some(Signing {
                key: hmac.text("key")?.as_bytes().to_vec(),
                recipe: hmac.text("canonical").and_then(Recipe::parse).unwrap_or(Recipe::Jcs),
                encoding: if hmac.text("encoding") == Some("hex") { Encoding::Hex } else { Encoding::Base64 },
                required: hmac.get("required") == Some(&Value::Bool(true)),
            })
        });
    }
    if let Some(limit) = config.present("rate_limit").and_then(Value::as_object) {
        let number = |name: &str| limit.present(name).and_then(Value::as_number).and_then(json::Number::as_integer);
        settings.rate = number("requests").zip(number("window_ms"));
    }
    if let Some(enforce) = config.present("enforce_registration") {
        settings.enforce = *enforce == Value::Bool(true);
    }
    Ok((settings, clock))
}

/// One message and its reply.
async fn handle(params: &Object, node: &Node) -> Result<Object, RpcError> {
    let raw = bytes(params, "raw")?;
    let carrier = match params.text("transport") {
        Some("websocket") => Carrier::WebSocket,
        _ => Carrier::Library,
    };
    let presented = Presented { authorization: params.text("authorization").map(str::to_owned), api_key: None };
    let arrival = Arrival { carrier, presented, hops: 0, connection: 0 };
    // A panic of a planted mistake is a failed call, not the end of the library.
    let (worker, message) = (node.clone(), raw.clone());
    let answered = tokio::spawn(async move { worker.answer(&message, &arrival).await }).await;
    let crashed = || rejected(&Refusal::crash("the library failed"), node.rules());
    let answer = answered.map_err(|_| crashed())?;
    if answer.body.is_none() && answer.refused == Some(Code::Internal) {
        return Err(crashed());
    }
    let text = answer.body.map(|body| if node.rules().is_other() { body.write_otherwise() } else { body.write() });
    let mut result = Object::from([("raw", text.map_or(Value::Null, |text| hex(text.as_bytes())))]);
    result.set("http_status", i64::from(answer.status));
    Ok(result)
}
