//! From an operation and its inputs to a message, by the operation's route or method.

use std::collections::BTreeMap;

use super::{BodyPlan, Operation, Param};
use crate::exchange::Transport;
use crate::target::RouteOverride;
use crate::value::Value;
use crate::wire::json;

/// What an operation is given, by name.
pub type Inputs = BTreeMap<String, Value>;

/// A message that is built and not yet encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What will carry it.
    pub transport: Transport,
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
    /// There is none.
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
    /// The operation does not exist at this kind of target.
    #[error("`{0}` cannot be asked of this kind of target")]
    NoWay(String),
}

/// Builds the message of `operation` for `transport`.
///
/// # Errors
///
/// See [`BuildError`].
pub fn build(
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
    match transport {
        Transport::Http => build_http(operation, inputs, route),
        Transport::Adapter => build_call(operation, inputs),
    }
}

fn build_http(operation: &Operation, inputs: &Inputs, own: Option<&RouteOverride>) -> Result<Message, BuildError> {
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
        // A parameter whose input is not given is left out.
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
    Ok(Message { transport: Transport::Http, method, path, headers, body })
}

fn build_call(operation: &Operation, inputs: &Inputs) -> Result<Message, BuildError> {
    let method = operation.method.as_ref().ok_or_else(|| BuildError::NoWay(operation.name.into()))?;
    let mut ready = Vec::new();
    let mut payload = None;
    for (param, from) in method.params {
        let (Param::Input(name) | Param::JsonHex(name) | Param::TextHex(name) | Param::JsonHexWith { input: name, .. }) =
            *from;
        let Some(value) = inputs.get(name) else { continue };
        match from {
            Param::Input(_) => ready.push(((*param).to_owned(), value.clone())),
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
                ready.push(((*param).to_owned(), Value::Text(hex)));
            }
        }
    }
    Ok(Message {
        transport: Transport::Adapter,
        method: method.name.to_owned(),
        path: String::new(),
        headers: Vec::new(),
        body: MessageBody::Params { ready, payload },
    })
}

/// The names of the places in a text: `{name}`.
pub fn places(text: &str) -> Vec<&str> {
    text.split('{').skip(1).filter_map(|rest| rest.split_once('}').map(|(name, _)| name)).collect()
}

/// The text with its places filled, or `None` if an input is not given.
fn fill(text: &str, inputs: &Inputs) -> Option<String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        filled.push_str(before);
        let (name, after) = after.split_once('}')?;
        filled.push_str(&percent(&text_of(inputs.get(name)?)));
        rest = after;
    }
    filled.push_str(rest);
    Some(filled)
}

fn text_of(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
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
