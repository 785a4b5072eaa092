//! `served` and `rejected`: what an answer amounts to (binding, section 1).

use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;

/// Holds if the request was served.
pub(super) struct Served;

impl Matcher for Served {
    fn name(&self) -> &'static str {
        "served"
    }

    fn summary(&self) -> &'static str {
        "The message was served: a response with status success or partial answers it. With `event`, any answer with status 2xx \
         that is no error is sufficient, and over a WebSocket silence."
    }

    fn example(&self) -> &'static str {
        "{ served: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            Value::Bool(true) => Ok(Box::new(IsServed { event: false })),
            Value::Text(word) if word == "event" => Ok(Box::new(IsServed { event: true })),
            other => Err(ArgumentError::new(format!("is true or event, not {}", show(other)))),
        }
    }
}

struct IsServed {
    event: bool,
}

impl Check for IsServed {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        match outcome(seen) {
            "served" => Outcome::HOLDS,
            "ok" | "silent" if self.event => Outcome::HOLDS,
            _ => Outcome::mismatch("the message served", Some(&Value::text(summary(seen)))),
        }
    }
}

/// Holds if the message was rejected.
pub(super) struct Rejected;

impl Matcher for Rejected {
    fn name(&self) -> &'static str {
        "rejected"
    }

    fn needs_refusal(&self) -> bool {
        true
    }

    fn summary(&self) -> &'static str {
        "The message was rejected: an error envelope, a status 4xx without an envelope, or over WebSocket a close. With `code` or \
         `codes` the error has one of them; with `bare`, a list of statuses, one of these without an envelope is sufficient, too."
    }

    fn example(&self) -> &'static str {
        "{ rejected: { code: AUTHENTICATION_FAILED, bare: [401, 403] } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let mut check = IsRejected { codes: Vec::new(), bare: Vec::new() };
        match argument {
            Value::Bool(true) => return Ok(Box::new(check)),
            Value::Text(code) => check.codes.push(code.to_string()),
            Value::Map(members) => {
                for (key, value) in members {
                    match (key.as_text(), value) {
                        (Some("code"), Value::Text(code)) => check.codes.push(code.to_string()),
                        (Some("codes"), Value::Array(codes)) => {
                            check.codes.extend(codes.iter().filter_map(Value::as_text).map(str::to_owned));
                        }
                        (Some("bare"), Value::Array(statuses)) => {
                            check.bare.extend(statuses.iter().filter_map(Value::as_integer));
                        }
                        _ => {
                            return Err(ArgumentError::new(format!("takes code, codes and bare, not {}", show(key))));
                        }
                    }
                }
                if check.codes.is_empty() {
                    return Err(ArgumentError::new("needs `code` or `codes`"));
                }
            }
            other => return Err(ArgumentError::new(format!("is true, a code or a map, not {}", show(other)))),
        }
        Ok(Box::new(check))
    }
}

struct IsRejected {
    /// The codes that are expected; empty for any.
    codes: Vec<String>,
    /// Statuses that reject a message without an envelope.
    bare: Vec<i128>,
}

impl Check for IsRejected {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        let code = seen.member("code").and_then(Value::as_text);
        let found = outcome(seen);
        let is_bare = matches!(found, "refused" | "closed");
        let status = seen.member("status").and_then(Value::as_integer);
        let holds = match (found, self.codes.is_empty()) {
            ("error", true) => true,
            (_, true) => is_bare,
            (_, false) if code.is_some_and(|code| self.codes.iter().any(|known| known == code)) => {
                found == "error" || is_bare
            }
            ("refused", false) => code.is_none() && status.is_some_and(|status| self.bare.contains(&status)),
            // A close has no code: it may be the refusal of credentials, and of nothing else.
            ("closed", false) => !self.bare.is_empty(),
            _ => false,
        };
        if holds { Outcome::HOLDS } else { Outcome::mismatch(self.words(), Some(&Value::text(summary(seen)))) }
    }
}

impl IsRejected {
    fn words(&self) -> String {
        match (self.codes.as_slice(), self.bare.as_slice()) {
            ([], _) => "a rejection".to_owned(),
            (codes, []) => format!("an error with code {}", codes.join(" or ")),
            (codes, bare) => {
                let statuses: Vec<String> = bare.iter().map(ToString::to_string).collect();
                format!("an error with code {}, or status {} alone", codes.join(" or "), statuses.join(" or "))
            }
        }
    }
}

fn outcome(seen: &Value) -> &str {
    seen.member("outcome").and_then(Value::as_text).unwrap_or_default()
}

/// The outcome of a message, as a sentence.
fn summary(seen: &Value) -> String {
    let mut words = match outcome(seen) {
        "served" => "the message served".to_owned(),
        "failed" => "a response with status failed".to_owned(),
        "error" => "an error envelope".to_owned(),
        "refused" => "a rejection without an envelope".to_owned(),
        "closed" => "the connection closed by the server".to_owned(),
        "ok" => "a success status without an envelope".to_owned(),
        "crash" => "a failure of the server without an envelope".to_owned(),
        "silent" | "" => "no answer".to_owned(),
        "returned" => "a result".to_owned(),
        _ => "an answer that is neither a response nor an error".to_owned(),
    };
    for (name, place) in [("code", "code"), ("status", "status")] {
        if let Some(value) = seen.member(place) {
            words.push_str(&format!(", {name} {}", show(value)));
        }
    }
    let text = seen.member("error").and_then(|error| error.member("message")).and_then(Value::as_text);
    if let Some(text) = text {
        words.push_str(&format!(": {}", text.chars().take(200).collect::<String>()));
    }
    words
}
