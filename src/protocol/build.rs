//! From an operation and its inputs to a message, by the operation's route or method.

use super::definition::Protocol;
use super::operation::{BodyPlan, ChannelPlan, Inputs, Operation, Param, TreePlan};
use crate::exchange::{ChannelAction, Exchange, Peer, Summons, Transport};
use crate::target::RouteOverride;
use crate::value::Value;
use crate::wire::json;

/// The input that says over how many milliseconds the body of an HTTP request is sent.
pub const PACE: &str = "pace_ms";

/// A message that is built and not yet encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// The transport.
    pub transport: Transport,
    /// The action, for transports with connections that stay open.
    pub action: ChannelAction,
    /// Name of the base URL; `None` for that of the target.
    pub base: Option<String>,
    /// HTTP method, or the name of the adapter method.
    pub method: String,
    /// Path and query from the root of the target's URL; empty for an adapter.
    pub path: String,
    /// Header fields.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: MessageBody,
}

/// The body of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum MessageBody {
    /// No body.
    None,
    /// A value that the protocol encodes.
    Value(Value),
    /// Parameters of an adapter method. Where a step edits the message, it edits the value of this input.
    Params {
        /// Parameters that are ready.
        ready: Vec<(String, Value)>,
        /// The parameter that carries the value as hex, and the value.
        payload: Option<(String, Value)>,
    },
    /// These bytes.
    Bytes(Vec<u8>),
}

/// Why a message cannot be built: a mistake of the suite or of a target file, never of the target.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// An input that cannot be left out is not given.
    #[error("`{operation}` needs `{input}`")]
    Missing {
        /// The operation.
        operation: String,
        /// The input.
        input: String,
    },
    /// The value of an input cannot be part of the name of a file.
    #[error("the `{input}` of `{operation}` cannot be part of the name of a file")]
    Name {
        /// The operation.
        operation: String,
        /// The input.
        input: String,
    },
    /// The operation does not exist at this kind of target.
    #[error("`{0}` is not available for this kind of target")]
    NoWay(String),
}

/// Builds the message of `operation` for `transport`.
///
/// # Errors
///
/// See [`BuildError`].
pub fn build(
    protocol: &dyn Protocol,
    operation: &Operation,
    inputs: &Inputs,
    transport: Transport,
    route: Option<&RouteOverride>,
) -> Result<Message, BuildError> {
    for input in operation.inputs {
        if input.required && !inputs.contains_key(input.name) {
            return Err(BuildError::Missing { operation: operation.name.into(), input: input.name.into() });
        }
    }
    if let Some(ChannelPlan::Repository(action, name)) = &operation.channel {
        return Ok(Message {
            transport,
            action: ChannelAction::Repository(*action),
            base: None,
            method: operation.name.to_owned(),
            path: inputs.get(*name).map(text_of).unwrap_or_default(),
            headers: Vec::new(),
            body: MessageBody::None,
        });
    }
    match transport {
        Transport::Http => build_http(protocol, operation, inputs, route),
        Transport::Ws | Transport::Tcp => match &operation.channel {
            Some(plan) => build_move(operation, plan, inputs, transport),
            None => build_http(protocol, operation, inputs, route),
        },
        Transport::Tree => match &operation.tree {
            Some(plan) => build_files(operation, plan, inputs, route),
            None => build_http(protocol, operation, inputs, route),
        },
        Transport::Adapter => build_call(protocol, operation, inputs),
    }
}

fn build_files(
    operation: &Operation,
    plan: &TreePlan,
    inputs: &Inputs,
    own: Option<&RouteOverride>,
) -> Result<Message, BuildError> {
    let template = own.and_then(|own| own.path.as_deref()).unwrap_or(plan.path);
    let mut path = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        path.push_str(before);
        let Some((name, after)) = after.split_once('}') else { break };
        match inputs.get(name).map(text_of) {
            // A value may come from the target: it must not add path segments.
            Some(value) if value.contains(['/', '*', '\0']) || value.is_empty() => {
                return Err(BuildError::Name { operation: operation.name.into(), input: name.into() });
            }
            Some(value) => path.push_str(&value),
            None if !plan.action.writes() => path.push('*'),
            None => return Err(BuildError::Missing { operation: operation.name.into(), input: name.into() }),
        }
        rest = after;
    }
    path.push_str(rest);
    let body = match plan.content.and_then(|name| inputs.get(name)) {
        None => MessageBody::None,
        Some(Value::Bytes(bytes)) => MessageBody::Bytes(bytes.clone()),
        Some(Value::Text(text)) => MessageBody::Bytes(text.as_bytes().to_vec()),
        Some(value) => MessageBody::Value(value.clone()),
    };
    let author = plan.author.and_then(|name| inputs.get(name)).map(|value| ("author".to_owned(), text_of(value)));
    Ok(Message {
        transport: Transport::Tree,
        action: ChannelAction::Tree(plan.action),
        base: None,
        method: operation.name.to_owned(),
        path,
        headers: author.into_iter().collect(),
        body,
    })
}

fn build_move(
    operation: &Operation,
    plan: &ChannelPlan,
    inputs: &Inputs,
    transport: Transport,
) -> Result<Message, BuildError> {
    let small = |name: &str| {
        inputs.get(name).and_then(Value::as_integer).and_then(|number| u16::try_from(number).ok()).unwrap_or(1000)
    };
    let payload = |name: &str| match inputs.get(name) {
        None => MessageBody::None,
        Some(Value::Bytes(bytes)) => MessageBody::Bytes(bytes.clone()),
        Some(value) => MessageBody::Value(value.clone()),
    };
    let (action, body) = match plan {
        ChannelPlan::Message(name) => (ChannelAction::Message, payload(name)),
        ChannelPlan::Open => (ChannelAction::Open, MessageBody::None),
        ChannelPlan::Frame(kind, name) => {
            (ChannelAction::Frame(u8::try_from(small(kind)).unwrap_or_default()), payload(name))
        }
        ChannelPlan::Raw(name) => (ChannelAction::Raw, payload(name)),
        // Such an operation is built before.
        ChannelPlan::Listen | ChannelPlan::Repository(..) => (ChannelAction::Listen, MessageBody::None),
        ChannelPlan::Close => match inputs.get("how").and_then(Value::as_text) {
            Some("half") => (ChannelAction::HalfClose, MessageBody::None),
            Some("reset") => (ChannelAction::Reset, MessageBody::None),
            _ => (ChannelAction::Close(small("how")), MessageBody::None),
        },
    };
    let mut headers = Vec::new();
    if let Some(protocols) = inputs.get("protocols").map(text_of).filter(|text| !text.is_empty()) {
        headers.push(("sec-websocket-protocol".to_owned(), protocols));
    }
    let path = inputs.get("path").map(text_of).unwrap_or_default();
    Ok(Message { transport, action, base: None, method: operation.name.to_owned(), path, headers, body })
}

fn build_http(
    protocol: &dyn Protocol,
    operation: &Operation,
    inputs: &Inputs,
    own: Option<&RouteOverride>,
) -> Result<Message, BuildError> {
    let route = operation.route.as_ref().ok_or_else(|| BuildError::NoWay(operation.name.into()))?;
    let method = own.and_then(|own| own.method.clone()).unwrap_or_else(|| route.method.to_owned());
    let template = own.and_then(|own| own.path.as_deref()).unwrap_or(route.path);
    let mut path = fill(template, inputs).unwrap_or_default();
    let query: Vec<(String, String)> = match own.and_then(|own| own.query.clone()) {
        Some(query) => query,
        None => route.query.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect(),
    };
    let mut separator = if path.contains('?') { '&' } else { '?' };
    for (name, text) in &query {
        // A parameter without its input is omitted.
        if let Some(value) = fill(text, inputs) {
            path.push(separator);
            path.push_str(&percent(name));
            path.push('=');
            path.push_str(&value);
            separator = '&';
        }
    }
    let mut headers = vec![("accept".to_owned(), "application/json".to_owned())];
    let json_type = || ("content-type".to_owned(), "application/json".to_owned());
    let body = match &route.body {
        BodyPlan::None => MessageBody::None,
        BodyPlan::Input(name) => {
            headers.push(json_type());
            inputs.get(*name).cloned().map_or(MessageBody::None, MessageBody::Value)
        }
        BodyPlan::Object(members) => {
            headers.push(json_type());
            let members = members.iter().filter_map(|(member, name)| Some((*member, inputs.get(*name)?.clone())));
            MessageBody::Value(Value::map(members))
        }
        BodyPlan::Text(name, media_type) => {
            headers.push(("content-type".to_owned(), (*media_type).to_owned()));
            let text = inputs.get(*name).map(text_of).unwrap_or_default();
            MessageBody::Bytes(text.into_bytes())
        }
    };
    for (name, text) in route.headers {
        headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        if let Some(value) = fill_with(text, inputs, &text_of) {
            headers.push(((*name).to_owned(), value));
        }
    }
    let word = |name: &str| inputs.get(name).and_then(Value::as_text).unwrap_or_default();
    let action = if route.summons {
        let via = Transport::ALL.into_iter().find(|transport| transport.name() == word("via"));
        let peer = match word("peer") {
            "cut" => Peer::Cut,
            "silent" => Peer::Silent,
            _ => Peer::Accept,
        };
        let held = inputs.get("held").map(|value| protocol.codec().encode(value, "")).unwrap_or_default();
        ChannelAction::Summon(Summons { via: via.unwrap_or(Transport::Http), peer, held })
    } else if let Some(pace) = inputs.get(PACE).and_then(Value::as_integer) {
        ChannelAction::Paced(u64::try_from(pace).unwrap_or_default())
    } else {
        ChannelAction::Message
    };
    let base = own.and_then(|own| own.base.clone()).or_else(|| route.base.map(str::to_owned));
    Ok(Message { transport: Transport::Http, action, base, method, path, headers, body })
}

fn build_call(protocol: &dyn Protocol, operation: &Operation, inputs: &Inputs) -> Result<Message, BuildError> {
    let method = operation.method.as_ref().ok_or_else(|| BuildError::NoWay(operation.name.into()))?;
    let mut ready = Vec::new();
    let mut payload = None;
    for (param, from) in method.params {
        let (Param::Input(name)
        | Param::JsonHex(name)
        | Param::TextHex(name)
        | Param::Encoded(name)
        | Param::JsonHexWith { input: name, .. }) = *from;
        let Some(value) = inputs.get(name) else { continue };
        match from {
            Param::Input(_) => ready.push(((*param).to_owned(), to_json_value(value))),
            Param::Encoded(_) => {
                let hex = match value {
                    Value::Text(text) => text.clone(),
                    Value::Bytes(bytes) => data_encoding::HEXLOWER.encode(bytes).into(),
                    other => data_encoding::HEXLOWER.encode(&protocol.codec().encode(other, "")).into(),
                };
                ready.push(((*param).to_owned(), Value::Text(hex)));
            }
            Param::JsonHex(_) => payload = Some(((*param).to_owned(), value.clone())),
            Param::JsonHexWith { member, value: other, .. } => {
                let mut whole = value.clone();
                if let (Some(_), None, Some(other)) = (whole.as_map(), whole.member(member), inputs.get(*other)) {
                    whole.set_member(member, other.clone());
                }
                payload = Some(((*param).to_owned(), whole));
            }
            Param::TextHex(_) => {
                let hex = match value {
                    Value::Bytes(bytes) => data_encoding::HEXLOWER.encode(bytes),
                    other => data_encoding::HEXLOWER.encode(text_of(other).as_bytes()),
                };
                ready.push(((*param).to_owned(), Value::text(hex)));
            }
        }
    }
    Ok(Message {
        transport: Transport::Adapter,
        action: ChannelAction::Message,
        base: None,
        method: method.name.to_owned(),
        path: String::new(),
        headers: Vec::new(),
        body: MessageBody::Params { ready, payload },
    })
}

/// The header fields that the route of a target adds; those whose input is not given are left out.
pub fn header_fields(route: &RouteOverride, inputs: &Inputs) -> Vec<(String, String)> {
    let filled = |(name, text): &(String, String)| Some((name.clone(), fill_with(text, inputs, &text_of)?));
    route.headers.iter().filter_map(filled).collect()
}

/// The body that a target file gives an operation, with the values of its placeholders: those of the inputs, and `body` for the
/// body of the protocol, edits included. The input that is the body is edited as well.
pub fn own_body(template: &Value, operation: &Operation, inputs: &Inputs, specified: MessageBody) -> MessageBody {
    let specified = match specified {
        MessageBody::Value(value) => Some(value),
        MessageBody::Bytes(bytes) => Some(Value::Bytes(bytes)),
        MessageBody::None | MessageBody::Params { .. } => None,
    };
    let mut known = inputs.clone();
    if let Some(body) = specified {
        match operation.route.as_ref().map(|route| &route.body) {
            Some(BodyPlan::Input(name)) => drop(known.insert((*name).to_owned(), body.clone())),
            Some(BodyPlan::Object(members)) => {
                let edited = members.iter().filter_map(|(member, name)| Some((*name, body.member(member)?.clone())));
                known.extend(edited.map(|(name, value)| (name.to_owned(), value)));
            }
            _ => {}
        }
        known.insert("body".to_owned(), body);
    }
    filled(template, &known).map_or(MessageBody::None, MessageBody::Value)
}

/// A value with its placeholders replaced; `None` if one of them has no value.
fn filled(template: &Value, known: &Inputs) -> Option<Value> {
    match template {
        Value::Text(text) => match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            // A text that is a placeholder takes the value with its type.
            Some(name) if !name.contains(['{', '}']) => known.get(name).cloned(),
            _ => fill_with(text, known, &text_of).map(Value::text),
        },
        Value::Map(members) => {
            let member = |(key, value): &(Value, Value)| Some((key.clone(), filled(value, known)?));
            Some(Value::Map(members.iter().filter_map(member).collect()))
        }
        Value::Array(items) => Some(Value::Array(items.iter().filter_map(|item| filled(item, known)).collect())),
        other => Some(other.clone()),
    }
}

/// The bytes of the message that an exchange carried: those of the body, or what an adapter was given in hex.
pub fn payload(operation: &Operation, exchange: &Exchange) -> Option<Vec<u8>> {
    if exchange.sent.transport != Transport::Adapter {
        return Some(exchange.sent.body.0.to_vec());
    }
    let params = operation.method.as_ref()?.params;
    let carries = |param: &Param| matches!(param, Param::JsonHex(_) | Param::JsonHexWith { .. });
    let (name, _) = params.iter().find(|(_, param)| carries(param))?;
    let call = json::parse(&exchange.sent.body.0).ok()?;
    let hex = call.member("params")?.member(name)?.as_text()?;
    data_encoding::HEXLOWER.decode(hex.as_bytes()).ok()
}

/// A value in the adapter protocol: bytes in hex, and integers beyond the range of a double as decimal text.
fn to_json_value(value: &Value) -> Value {
    const SAFE: i128 = (1 << 53) - 1;
    match value {
        Value::Bytes(bytes) => Value::text(data_encoding::HEXLOWER.encode(bytes)),
        Value::Integer(integer) if integer.abs() > SAFE => Value::text(integer.to_string()),
        Value::Array(items) => Value::Array(items.iter().map(to_json_value).collect()),
        Value::Map(members) => {
            Value::Map(members.iter().map(|(key, value)| (key.clone(), to_json_value(value))).collect())
        }
        other => other.clone(),
    }
}

/// The names of the places in a text: `{name}`.
pub fn places(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

/// The text with its placeholders filled, or `None` if an input is missing.
fn fill(text: &str, inputs: &Inputs) -> Option<String> {
    fill_with(text, inputs, &|value| percent(&text_of(value)))
}

fn fill_with(text: &str, inputs: &Inputs, write: &dyn Fn(&Value) -> String) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}')?;
        filled.push_str(&write(inputs.get(name)?));
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.to_string(),
        other => json::compact(other),
    }
}

/// Percent-encodes all but the unreserved characters of RFC 3986.
pub(super) fn percent(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
