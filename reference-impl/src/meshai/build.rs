//! Making requests and events (2.3, 3, 4), for this server as a client and for users of the library.

use super::codes::Code;
use super::faults::build as faults;
use super::message::{Kind, TIMEOUT_MS};
use super::origin::Origin;
use super::refusal::Refusal;
use super::reply::{self, Carrier, Served};
use super::rules::Rules;
use super::{auth, ids, time, version};
use crate::fault::planted;
use crate::instant::Instant;
use crate::json::{self, Object, Value};

/// What makes a message: who sends it, and its readings.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maker<'a> {
    /// The id of the sender.
    pub(crate) agent: &'a str,
    pub(crate) now: Instant,
    pub(crate) rules: Rules,
    /// Credentials for `headers.authentication`.
    pub(crate) token: Option<&'a str>,
}

/// The members of an identity and of a declaration that a registration has without `fields`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Defaults {
    pub(crate) agent: Object,
    pub(crate) capabilities: Vec<Value>,
    pub(crate) endpoints: Object,
}

/// Makes a message of a kind from the members that the caller gives (binding.md, 11).
///
/// # Errors
///
/// A kind that is unknown, or a member that is missing.
pub(crate) fn build(kind: &str, fields: &Object, defaults: &Defaults, maker: Maker<'_>) -> Result<Object, String> {
    let payload = |names: &[&str]| -> Object {
        let given = names.iter().filter_map(|name| Some(((*name).to_owned(), fields.present(name)?.clone())));
        let mut payload: Object = given.collect();
        if let Some(Value::Object(more)) = fields.present("payload") {
            more.iter().for_each(|(name, value)| payload.set(name, value.clone()));
        }
        payload
    };
    match kind {
        "request" => {
            let mut payload = payload(&["capability", "parameters", "context"]);
            let capability = payload.text("capability").ok_or("capability is missing")?.to_owned();
            if payload.present("parameters").is_none() {
                payload.set("parameters", Object::new());
            }
            // 12.1: both places name the same capability.
            let capability =
                if maker.rules.fault.is("client-other-destination") { "discovery".to_owned() } else { capability };
            planted!(maker.rules.fault, "client-parameters-as-text", faults::as_text(&mut payload, "parameters"));
            planted!(maker.rules.fault, "client-capability-renamed", faults::rename_capability(&mut payload));
            Ok(message(Kind::Request, fields, None, Some(&capability), payload, maker))
        }
        "registration" => {
            let mut payload = payload(&["agent", "capabilities", "endpoints", "authentication"]);
            fill(&mut payload, "agent", defaults.agent.clone());
            fill(&mut payload, "capabilities", defaults.capabilities.clone());
            fill(&mut payload, "endpoints", defaults.endpoints.clone());
            let credentials = maker.token.unwrap_or("none");
            fill(
                &mut payload,
                "authentication",
                Object::from([("type", "bearer".into()), ("credentials", credentials.into())]),
            );
            faults::registration(&mut payload, maker.rules.fault);
            Ok(message(Kind::Request, fields, Some("registry"), Some("registration"), payload, maker))
        }
        "discovery" => {
            let mut query = payload(&["query"]);
            if query.present("query").is_none() {
                let members = ["capabilities", "constraints"].iter();
                let members = members.filter_map(|name| Some(((*name).to_owned(), fields.present(name)?.clone())));
                query.set("query", members.collect::<Object>());
            }
            planted!(maker.rules.fault, "client-query-as-text", faults::as_text(&mut query, "query"));
            planted!(maker.rules.fault, "client-query-without-object", query = faults::inner(&query, "query"));
            let registry = if maker.rules.fault.is("client-asks-nobody") { None } else { Some("registry") };
            let operation = if maker.rules.fault.is("client-discovery-renamed") { "discover" } else { "discovery" };
            Ok(message(Kind::Request, fields, registry, Some(operation), query, maker))
        }
        "negotiation" => {
            let mut payload = payload(&["negotiation_type", "requirements"]);
            fill(&mut payload, "negotiation_type", "capability_check");
            if payload.present("requirements").is_none() {
                let members = ["capabilities", "estimated_tokens", "deadline"].iter();
                let members = members.filter_map(|name| Some(((*name).to_owned(), fields.present(name)?.clone())));
                payload.set("requirements", members.collect::<Object>());
            }
            planted!(maker.rules.fault, "client-negotiation-type", payload.set("negotiation_type", "check"));
            let first =
                payload.get("requirements").and_then(Value::as_object).and_then(|needs| needs.get("capabilities"));
            let first =
                first.and_then(Value::as_list).and_then(<[Value]>::first).and_then(Value::as_text).map(str::to_owned);
            planted!(maker.rules.fault, "client-negotiation-flat", payload = faults::lift(&payload, "requirements"));
            Ok(message(Kind::Request, fields, None, first.as_deref(), payload, maker))
        }
        "delegation" => {
            let mut payload = payload(&["delegation"]);
            if payload.present("delegation").is_none() {
                let members = ["capability", "parameters", "completion_callback"].iter();
                let subtask = members.filter_map(|name| Some(((*name).to_owned(), fields.present(name)?.clone())));
                let mut delegation = Object::from([("subtask", subtask.collect::<Object>().into())]);
                delegation.set(
                    "parent_task_id",
                    fields.present("parent_task_id").cloned().unwrap_or_else(|| ids::fresh().into()),
                );
                payload.set("delegation", delegation);
            }
            let subtask =
                payload.get("delegation").and_then(Value::as_object).and_then(|delegation| delegation.get("subtask"));
            let capability =
                subtask.and_then(Value::as_object).and_then(|subtask| subtask.text("capability")).map(str::to_owned);
            faults::delegation(&mut payload, maker.rules.fault);
            Ok(message(Kind::Request, fields, None, capability.as_deref(), payload, maker))
        }
        "context_update" | "event" => {
            let mut payload = payload(&["event_type", "context"]);
            fill(&mut payload, "event_type", "context_update");
            faults::event(&mut payload, maker.rules.fault);
            let kind = if maker.rules.fault.is("client-event-as-request") { Kind::Request } else { Kind::Event };
            Ok(message(kind, fields, None, None, payload, maker))
        }
        "response" | "error" => answer(kind, fields, maker),
        _ => Err(format!("unknown kind `{kind}`")),
    }
}

/// A response or an error to the message in `request_raw`.
fn answer(kind: &str, fields: &Object, maker: Maker<'_>) -> Result<Object, String> {
    let raw = fields.text("request_raw").map(|hex| data_encoding::HEXLOWER_PERMISSIVE.decode(hex.as_bytes()));
    let request = match raw {
        None => Object::new(),
        Some(bytes) => match json::read(&bytes.map_err(|_| "request_raw must be hex")?) {
            Ok(Value::Object(request)) => request,
            _ => return Err("request_raw must be a JSON object".to_owned()),
        },
    };
    let origin = Origin::of(&request);
    if kind == "error" {
        let name = fields.text("code").ok_or("code is missing")?;
        let code = Code::STANDARD
            .into_iter()
            .find(|code| code.name() == name)
            .ok_or_else(|| format!("unknown code `{name}`"))?;
        let mut refusal = Refusal::new(code, fields.text("message").unwrap_or(name));
        refusal.details = fields.get("details").and_then(Value::as_object).cloned().unwrap_or_default();
        return Ok(reply::error(&origin, maker.agent, &refusal, Carrier::WebSocket, maker.now, maker.rules));
    }
    let result = fields.get("result").cloned().unwrap_or_else(|| Object::new().into());
    let mut served = Served::new(maker.agent, result);
    served.status = match fields.text("status") {
        None | Some("success") => "success",
        Some("partial") => "partial",
        Some("failed") => "failed",
        Some(other) => return Err(format!("unknown status `{other}`")),
    };
    served.metadata = fields.get("metadata").and_then(Value::as_object).cloned();
    Ok(reply::response(&origin, served, maker.now, maker.rules))
}

fn fill(payload: &mut Object, name: &str, value: impl Into<Value>) {
    if payload.present(name).is_none() {
        payload.set(name, value);
    }
}

/// The envelope of a message that starts an exchange.
fn message(
    kind: Kind,
    fields: &Object,
    to: Option<&str>,
    capability: Option<&str>,
    payload: Object,
    maker: Maker<'_>,
) -> Object {
    let Maker { agent, now, rules, token } = maker;
    let part = |name: &str| fields.present(name).and_then(Value::as_object).cloned().unwrap_or_default();
    let id = fields.text("id").map_or_else(ids::fresh, str::to_owned);
    let mut source = part("source");
    fill(&mut source, "agent_id", agent);
    let mut destination = part("destination");
    let to = to.or_else(|| fields.text("agent_id"));
    if let Some(to) = to {
        fill(&mut destination, "agent_id", to);
    }
    if let Some(capability) = capability {
        fill(&mut destination, "capability", capability);
    }
    let mut headers = part("headers");
    fill(&mut headers, "correlation_id", id.as_str());
    fill(&mut headers, "priority", 5);
    let timeout = fields.present("timeout_ms").cloned();
    fill(&mut headers, "timeout_ms", timeout.unwrap_or_else(|| i64::try_from(TIMEOUT_MS).unwrap_or(i64::MAX).into()));
    fill(&mut headers, "routing_hints", Object::new());
    if let Some(token) = token {
        fill(&mut headers, "authentication", auth::of_client(token));
    }
    let protocol = fields.text("protocol").map_or_else(|| version::own(rules).to_owned(), str::to_owned);
    let mut inner = Object::from([
        ("id", id.into()),
        ("type", kind.name().into()),
        ("timestamp", time::stamp(now, rules).into()),
        ("source", source.into()),
        ("destination", destination.into()),
        ("headers", headers.into()),
        ("payload", payload.into()),
    ]);
    faults::message(&mut inner, now, rules.fault);
    let protocol = if rules.fault.is("client-protocol-lower") { protocol.to_lowercase() } else { protocol };
    Object::from([("protocol", protocol.into()), ("message", inner.into())])
}
