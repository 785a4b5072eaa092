//! The methods by name, and reading and writing parameters.

use crate::json::{Object, Value};
use crate::meshai::codes::Code;
use crate::meshai::refusal::{Cause, Refusal};
use crate::meshai::rules::Rules;
use crate::server::adapter::RpcError;

/// Every method besides `describe`.
const METHODS: &[&str] = &[
    "meshai/info",
    "meshai/reset",
    "meshai/set_clock",
    "meshai/define_capability",
    "meshai/parse",
    "meshai/encode",
    "meshai/build",
    "meshai/handle",
    "meshai/outbox",
    "meshai/validate_identity",
    "meshai/validate_capability",
    "meshai/validate_context",
    "meshai/taxonomy",
    "meshai/error_codes",
    "meshai/match",
    "meshai/context",
    "meshai/canonical",
    "meshai/sign",
    "meshai/verify",
    "meshai/make_jwt",
    "meshai/check_jwt",
    "meshai/negotiate_version",
    "meshai/participate",
    "meshai/invoke",
    "meshai/poll",
];

/// The names of the methods.
pub(super) fn operations() -> Vec<Value> {
    METHODS.iter().map(|method| (*method).into()).collect()
}

/// The error of a call for a refusal of the protocol (binding.md, 11).
pub(super) fn rejected(refusal: &Refusal, rules: Rules) -> RpcError {
    let code = match refusal.cause {
        Cause::Crash => -32099,
        Cause::Credentials | Cause::Signature => -32002,
        Cause::Access => -32003,
        Cause::Condition if refusal.code == Code::Timeout => -32004,
        Cause::Condition | Cause::Unreadable | Cause::Envelope => -32001,
    };
    let mut data = Object::from([("code", refusal.name(rules).into()), ("message", refusal.message.as_str().into())]);
    if !refusal.details.is_empty() {
        data.set("details", refusal.details.clone());
    }
    RpcError { code, message: refusal.message.clone(), data: Some(data) }
}

/// A parameter that must be an object.
pub(super) fn object<'a>(params: &'a Object, name: &str) -> Result<&'a Object, RpcError> {
    let value = params.get(name).and_then(Value::as_object);
    value.ok_or_else(|| RpcError::params(format!("{name} must be an object")))
}

/// A parameter that must be a string.
pub(super) fn text<'a>(params: &'a Object, name: &str) -> Result<&'a str, RpcError> {
    params.text(name).ok_or_else(|| RpcError::params(format!("{name} must be a string")))
}

/// A parameter that must be bytes in hexadecimal.
pub(super) fn bytes(params: &Object, name: &str) -> Result<Vec<u8>, RpcError> {
    let decoded = data_encoding::HEXLOWER_PERMISSIVE.decode(text(params, name)?.as_bytes());
    decoded.map_err(|_| RpcError::params(format!("{name} must be hexadecimal")))
}

/// Bytes as a result.
pub(super) fn hex(bytes: &[u8]) -> Value {
    data_encoding::HEXLOWER.encode(bytes).into()
}
