//! Functions of templates that only this protocol has.

use super::{hmac, jwt};
use crate::template::{Arguments, Function, RenderError};
use crate::value::{self, Path, Value};

fn text<'a>(arguments: &'a Arguments<'_>, index: usize) -> Result<&'a str, RenderError> {
    arguments.word(index).ok_or_else(|| RenderError::new("missing argument: a text"))
}

/// The parameters of a fixture with a value at the place that one of its members names.
fn filled(arguments: &Arguments<'_>, member: &str, usual: &str, new: Value) -> Result<Value, RenderError> {
    let fixture = arguments.value(0).ok_or_else(|| RenderError::new("missing argument: a fixture"))?;
    let place = fixture.member(member).and_then(Value::as_text).unwrap_or(usual);
    let path = Path::parse(place).map_err(|error| RenderError::new(error.to_string()))?;
    let mut parameters = fixture.member("parameters").cloned().unwrap_or_else(|| Value::map::<&str>([]));
    value::set(&mut parameters, &path, new).map_err(|error| RenderError::new(error.to_string()))?;
    Ok(parameters)
}

/// A text whose last character is another one of the same kind.
fn other_last(text: &str) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    if let Some(last) = characters.last_mut() {
        *last = if *last == 'A' { 'B' } else { 'A' };
    }
    characters.into_iter().collect()
}

/// Every function.
pub(super) const FUNCTIONS: &[Function] = &[
    Function {
        name: "uuid",
        summary: "A random UUID of version 4.",
        example: "${uuid}",
        call: |a| {
            let mut bytes = a.random_bytes(16);
            bytes[6] = bytes[6] & 0x0f | 0x40;
            bytes[8] = bytes[8] & 0x3f | 0x80;
            let hex = data_encoding::HEXLOWER.encode(&bytes);
            let parts = [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]];
            Ok(Value::text(parts.join("-")))
        },
    },
    Function {
        name: "echo_parameters",
        summary: "The parameters of the echo fixture with a marker.",
        example: "${echo_parameters $echo $marker}",
        call: |a| {
            let marker = a.value(1).cloned().ok_or_else(|| RenderError::new("missing argument: the marker"))?;
            filled(a, "marker_pointer", "/marker", marker)
        },
    },
    Function {
        name: "slow_parameters",
        summary: "The parameters of the slow fixture for this many milliseconds.",
        example: "${slow_parameters $slow 3000}",
        call: |a| {
            let milliseconds = a.integer(1)?;
            filled(a, "ms_pointer", "/ms", Value::Integer(milliseconds))
        },
    },
    Function {
        name: "token",
        summary: "A JWT over claims under a key, with this algorithm in its header [default: HS256].",
        example: "${token $claims $jwt_key}",
        call: |a| {
            let claims = a.value(0).cloned().ok_or_else(|| RenderError::new("missing argument: the claims"))?;
            let algorithm = a.word(2).unwrap_or("HS256");
            Ok(Value::text(jwt::make(&claims, text(a, 1)?.as_bytes(), algorithm)))
        },
    },
    Function {
        name: "seconds",
        summary: "The start of the case plus an offset in seconds, as seconds since 1970.",
        example: "${seconds $now_ms -120}",
        call: |a| {
            let offset = if a.word(1).is_some() { a.integer(1)? } else { 0 };
            Ok(Value::Integer(a.integer(0)?.div_euclid(1_000) + offset))
        },
    },
    Function {
        name: "without_last",
        summary: "A text without its last character.",
        example: "${without_last $api_key}",
        call: |a| {
            let mut text = text(a, 0)?.to_owned();
            text.pop();
            Ok(Value::text(text))
        },
    },
    Function {
        name: "other_last",
        summary: "A text with another last character.",
        example: "${other_last $api_key}",
        call: |a| Ok(Value::text(other_last(text(a, 0)?))),
    },
    Function {
        name: "other_case",
        summary: "A text in which one letter has the other case; one without letters is extended.",
        example: "${other_case $api_key}",
        call: |a| {
            let mut characters: Vec<char> = text(a, 0)?.chars().collect();
            if let Some(letter) = characters.iter_mut().find(|character| character.is_ascii_alphabetic()) {
                *letter =
                    if letter.is_ascii_lowercase() { letter.to_ascii_uppercase() } else { letter.to_ascii_lowercase() };
            } else {
                characters.push('x');
            }
            Ok(Value::Text(characters.into_iter().collect()))
        },
    },
    Function {
        name: "upper",
        summary: "A text in capitals.",
        example: "${upper $id}",
        call: |a| Ok(Value::text(text(a, 0)?.to_uppercase())),
    },
    Function {
        name: "segments",
        summary: "The first segments of a token, as many as given.",
        example: "${segments $jwt 2}",
        call: |a| {
            let count = usize::try_from(a.integer(1)?).unwrap_or(0);
            Ok(Value::text(text(a, 0)?.split('.').take(count).collect::<Vec<_>>().join(".")))
        },
    },
    Function {
        name: "reclaimed",
        summary: "A token with other claims and its old signature.",
        example: "${reclaimed $jwt $claims}",
        call: |a| {
            let token = text(a, 0)?;
            let claims = a.value(1).ok_or_else(|| RenderError::new("missing argument: the claims"))?;
            let claims = data_encoding::BASE64URL_NOPAD.encode(crate::wire::json::compact(claims).as_bytes());
            let parts: Vec<&str> = token.split('.').collect();
            let (Some(header), Some(signature)) = (parts.first(), parts.get(2)) else {
                return Err(RenderError::new("the token does not have three segments"));
            };
            Ok(Value::text(format!("{header}.{claims}.{signature}")))
        },
    },
    Function {
        name: "reheaded",
        summary: "A token with another header and its old signature.",
        example: "${reheaded $jwt $header}",
        call: |a| {
            let header = a.value(1).ok_or_else(|| RenderError::new("missing argument: the header"))?;
            let header = data_encoding::BASE64URL_NOPAD.encode(crate::wire::json::compact(header).as_bytes());
            match text(a, 0)?.split_once('.') {
                Some((_, rest)) => Ok(Value::text(format!("{header}.{rest}"))),
                None => Err(RenderError::new("the token does not have three segments")),
            }
        },
    },
    Function {
        name: "signature",
        summary: "The base64 value of the signature of an envelope under a key, or its hex with `hex`, by a recipe [default: jcs].",
        example: "${signature $envelope $hmac_key}",
        call: |a| {
            let envelope = a.value(0).ok_or_else(|| RenderError::new("missing argument: the envelope"))?;
            let message = envelope.member("message").ok_or_else(|| RenderError::new("the envelope has no message"))?;
            let recipe = match a.word(3) {
                Some(name) => hmac::Recipe::named(name).ok_or_else(|| RenderError::new("unknown recipe"))?,
                None => hmac::Recipe::default(),
            };
            let digest = hmac::hmac_sha256(text(a, 1)?.as_bytes(), &hmac::signed_bytes(message, recipe));
            Ok(Value::Text(match a.word(2) {
                Some("hex") => data_encoding::HEXLOWER.encode(&digest).into(),
                _ => data_encoding::BASE64.encode(&digest).into(),
            }))
        },
    },
    Function {
        name: "private",
        summary: "The private memory of an agent with a marker: `{ AGENT: { k: MARKER } }`.",
        example: "${private $a_agent $secret}",
        call: |a| {
            let marker = a.value(1).cloned().ok_or_else(|| RenderError::new("missing argument: the marker"))?;
            Ok(Value::map([(text(a, 0)?, Value::map([("k", marker)]))]))
        },
    },
    Function {
        name: "instant",
        summary: "Milliseconds since 1970 as RFC 3339 in UTC, to the millisecond.",
        example: "${instant $soon_ms}",
        call: |a| {
            let milliseconds = a.integer(0)?;
            let whole = crate::template::format_time(milliseconds * 1_000_000);
            Ok(Value::text(format!("{whole}.{:03}Z", milliseconds.rem_euclid(1_000))))
        },
    },
    Function {
        name: "path_of",
        summary: "The path and query of a URL.",
        example: "${path_of $invoke}",
        call: |a| {
            let url = url::Url::parse(text(a, 0)?).map_err(|error| RenderError::new(error.to_string()))?;
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            Ok(Value::text(format!("{}{query}", url.path())))
        },
    },
    Function {
        name: "list_of",
        summary: "The numbers from 1 to the given one, to repeat a step over.",
        example: "${list_of $rate_limit/requests}",
        call: |a| {
            let count = a.integer(0)?.clamp(0, 1_000);
            Ok(Value::Array((1..=count).map(Value::Integer).collect()))
        },
    },
    Function {
        name: "text_of_length",
        summary: "A text as long as the declarations of agents allow for the capability of a fixture, plus the third argument.",
        example: "${text_of_length $declared $fixture 1}",
        call: |a| {
            let capability = a.value(1).and_then(|fixture| fixture.member("capability")).cloned();
            let agents = a.value(0).and_then(Value::as_array).unwrap_or_default();
            let entries = agents.iter().filter_map(|agent| agent.member("capabilities")?.as_array()).flatten();
            let mut named = entries.filter(|entry| entry.member("id") == capability.as_ref());
            let most = named.find_map(|entry| entry.member("constraints")?.member("max_input_length")?.as_integer());
            let most = most.ok_or_else(|| RenderError::new("the declaration has no maximum"))?;
            let length = usize::try_from(most + a.integer(2)?).ok().filter(|length| *length <= 1 << 20);
            Ok(Value::text("x".repeat(length.ok_or_else(|| RenderError::new("the maximum is too large"))?)))
        },
    },
    Function {
        name: "json_text",
        summary: "A value as compact JSON text.",
        example: "${json_text $envelope}",
        call: |a| {
            let value = a.value(0).ok_or_else(|| RenderError::new("missing argument: a value"))?;
            Ok(Value::text(crate::wire::json::compact(value)))
        },
    },
];
