//! The parameters of methods, read strictly; and bytes as hexadecimal digits.

use std::fmt::Display;
use std::ops::RangeInclusive;

use crate::agentic::hash;
use crate::agentic::query::FactQuery;
use crate::agentic::refusal::{Code, Refusal};
use crate::agentic::rules::Rules;
use crate::instant::Instant;
use crate::json::{self, Object, Value};
use crate::server::adapter::RpcError;

pub(super) fn text<'a>(params: &'a Object, name: &str) -> Result<&'a str, RpcError> {
    params.text(name).ok_or_else(|| RpcError::params(format!("{name} must be a string")))
}

pub(super) fn optional_text(params: &Object, name: &str) -> Result<Option<String>, RpcError> {
    params.present(name).map(|_| text(params, name).map(str::to_owned)).transpose()
}

pub(super) fn integer<T>(params: &Object, name: &str, range: RangeInclusive<T>) -> Result<Option<T>, RpcError>
where
    T: TryFrom<i64> + PartialOrd + Display,
{
    let Some(value) = params.present(name) else {
        return Ok(None);
    };
    let integer = value.as_number().and_then(json::Number::as_integer).and_then(|integer| T::try_from(integer).ok());
    let inside = integer.filter(|integer| range.contains(integer));
    let reason = || format!("{name} must be an integer from {} to {}", range.start(), range.end());
    inside.map(Some).ok_or_else(|| RpcError::params(reason()))
}

pub(super) fn instant(params: &Object, name: &str) -> Result<Instant, RpcError> {
    Instant::parse(text(params, name)?)
        .ok_or_else(|| RpcError::params(format!("{name} must be an RFC 3339 time in UTC")))
}

pub(super) fn bytes(params: &Object, name: &str) -> Result<Vec<u8>, RpcError> {
    let text = text(params, name)?;
    let bad = || RpcError::params(format!("{name} must be hexadecimal digits in pairs"));
    let pairs = text.as_bytes().chunks(2).map(|pair| match pair {
        [high, low] => Some(u8::try_from(char::from(*high).to_digit(16)? * 16 + char::from(*low).to_digit(16)?).ok()?),
        _ => None, // an odd digit at the end
    });
    pairs.collect::<Option<Vec<u8>>>().ok_or_else(bad)
}

pub(super) fn fact_query(params: &Object) -> Result<FactQuery, RpcError> {
    let as_of = optional_text(params, "as_of")?.map(|text| {
        let instant =
            Instant::parse_or_date(&text).ok_or_else(|| RpcError::params("as_of is not an RFC 3339 time in UTC"));
        instant.map(|instant| (instant, text))
    });
    Ok(FactQuery {
        subject: optional_text(params, "subject")?,
        predicate: optional_text(params, "predicate")?,
        as_of: as_of.transpose()?,
        include_ended: matches!(params.get("include_ended"), Some(Value::Bool(true))),
        limit: None,
    })
}

/// The text behind `json_hex` and its value; -32009 if it is not JSON that has a canonical form.
pub(super) fn canonicalizable(params: &Object, rules: Rules) -> Result<(Vec<u8>, Value), RpcError> {
    let source = bytes(params, "json_hex")?;
    let value = rules.read(&source).map_err(|error| Refusal::new(Code::NotCanonicalizable, error.to_string()))?;
    Ok((source, value))
}

pub(super) fn object(value: Value) -> Result<Object, Refusal> {
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Refusal::new(Code::InvalidSchema, "must be a JSON object").at("")), // any other kind
    }
}

pub(super) fn hex_of(object: &Object, rules: Rules) -> Value {
    hash::hex(rules.text(object).as_bytes()).into()
}

pub(super) fn hex_list(objects: &[Object], rules: Rules) -> Value {
    Value::List(objects.iter().map(|object| hex_of(object, rules)).collect())
}
