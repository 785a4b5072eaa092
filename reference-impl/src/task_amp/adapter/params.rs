//! Reading parameters.

use crate::json::{Number, Object, Value};
use crate::server::adapter::RpcError;
use crate::task_amp::role::{Kind, Role};

pub(super) fn text<'p>(params: &'p Object, name: &str) -> Result<&'p str, RpcError> {
    params.text(name).ok_or_else(|| RpcError::params(format!("{name} must be a string")))
}

pub(super) fn object<'p>(params: &'p Object, name: &str) -> Result<&'p Object, RpcError> {
    let found = params.get(name).and_then(Value::as_object);
    found.ok_or_else(|| RpcError::params(format!("{name} must be an object")))
}

pub(super) fn integer(params: &Object, name: &str) -> Result<i64, RpcError> {
    let found = params.get(name).and_then(Value::as_number).and_then(Number::as_integer);
    found.ok_or_else(|| RpcError::params(format!("{name} must be an integer")))
}

pub(super) fn kind(params: &Object, name: &str) -> Result<Kind, RpcError> {
    Kind::parse(text(params, name)?).ok_or_else(|| RpcError::params(format!("{name} must be a type of message")))
}

pub(super) fn role(params: &Object, name: &str) -> Result<Role, RpcError> {
    Role::parse(text(params, name)?).ok_or_else(|| RpcError::params(format!("{name} must be a role")))
}

pub(super) fn bytes(params: &Object, name: &str) -> Result<Vec<u8>, RpcError> {
    let decoded = data_encoding::HEXLOWER_PERMISSIVE.decode(text(params, name)?.as_bytes());
    decoded.map_err(|_| RpcError::params(format!("{name} must be hexadecimal")))
}

/// An error of this protocol.
pub(super) fn error(code: i64, message: impl Into<String>) -> RpcError {
    RpcError { code, message: message.into(), data: None }
}
