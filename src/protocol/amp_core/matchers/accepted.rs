//! `accepted`: the message was taken (binding, section 1).

use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;

/// Holds if the message was taken, or with `false` if it was not, for any reason.
pub(in super::super) struct Accepted;

impl Matcher for Accepted {
    fn name(&self) -> &'static str {
        "accepted"
    }

    fn summary(&self) -> &'static str {
        "The message was taken: an ACK, PROC_OK, PROC_FAIL, RESPONSE, PONG or HELLO_ACK answers it, and no ERROR does; for types that \
         need no answer, nothing refuses it. `false`: it was not taken, in any way."
    }

    fn example(&self) -> &'static str {
        "{ accepted: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            Value::Bool(wanted) => Ok(Box::new(Taken { wanted: *wanted })),
            other => Err(ArgumentError::new(format!("is true or false, not {}", show(other)))),
        }
    }
}

struct Taken {
    wanted: bool,
}

impl Check for Taken {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        let outcome = seen.member("outcome").and_then(Value::as_text);
        if matches!(outcome, Some("accepted" | "cached" | "quiet")) == self.wanted {
            return Outcome::HOLDS;
        }
        let wanted = if self.wanted { "the message accepted" } else { "the message not accepted" };
        Outcome::mismatch(wanted, Some(&Value::text(summary(seen))))
    }
}

/// The outcome of a message, as a sentence.
pub(super) fn summary(seen: &Value) -> String {
    let outcome = seen.member("outcome").and_then(Value::as_text).unwrap_or("no answer to a message");
    let mut words = outcome.to_owned();
    if let Some(how) = seen.member("refusal").and_then(Value::as_text) {
        words.push_str(match how {
            "error" => " by an ERROR",
            "frame" => " by a transport ERROR frame",
            "http" => " by the status of HTTP alone",
            "reset" => ", the connection was lost",
            _ => ", the connection was closed",
        });
    }
    if let Some(code) = seen.member("code") {
        words.push_str(&format!(" with code {}", show(code)));
    }
    if let Some(status) = seen.member("status") {
        words.push_str(&format!(" (status {})", show(status)));
    }
    let text = seen.member("error").and_then(|error| error.member("body")?.member("message")?.as_text());
    if let Some(text) = text {
        words.push_str(&format!(": {}", text.chars().take(200).collect::<String>()));
    }
    words
}
