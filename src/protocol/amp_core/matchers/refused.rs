//! `refused`: the message was rejected, and the target gives a reason (sections 8.8 and 15, binding, section 4).

use super::accepted::summary;
use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, Reading, show};
use crate::value::Value;

/// Holds if the message was refused for the right reason.
pub(in super::super) struct Refused;

impl Matcher for Refused {
    fn name(&self) -> &'static str {
        "refused"
    }

    fn needs_refusal(&self) -> bool {
        true
    }

    fn summary(&self) -> &'static str {
        "The message was rejected with `code`, or one of `codes`, or a code that an erratum tolerates; with `bare` a \
         rejection by the transport alone is sufficient. A connection closed without a message shows a rejection \
         without a code, which is undecided."
    }

    fn example(&self) -> &'static str {
        "{ refused: { code: 1001, tolerated: { E20: [1002] }, bare: true } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let Value::Map(members) = argument else {
            return Err(ArgumentError::new(format!("is a map with `code` or `codes`, not {}", show(argument))));
        };
        let mut check = WithCode { codes: Vec::new(), tolerated: Vec::new(), bare: false, any: false };
        for (key, value) in members {
            match key.as_text() {
                Some("code") => check.codes.push(code(value)?),
                Some("codes") => check.codes.extend(codes(value)?),
                Some("tolerated") => {
                    let Value::Map(readings) = value else {
                        return Err(ArgumentError::new("has `tolerated`, a map from errata to codes"));
                    };
                    for (erratum, list) in readings {
                        let erratum = erratum.as_text().unwrap_or_default();
                        check.tolerated.extend(codes(list)?.into_iter().map(|code| (code, erratum.to_owned())));
                    }
                }
                Some("bare") => check.bare = *value == Value::Bool(true),
                Some("any") => check.any = *value == Value::Bool(true),
                _ => {
                    let known = "takes code, codes, tolerated, bare and any";
                    return Err(ArgumentError::new(format!("{known}, not {}", show(key))));
                }
            }
        }
        if check.codes.is_empty() && !check.any {
            return Err(ArgumentError::new("needs `code`, `codes` or `any: true`"));
        }
        Ok(Box::new(check))
    }
}

fn code(value: &Value) -> Result<i128, ArgumentError> {
    match value {
        Value::Integer(code) => Ok(*code),
        other => Err(ArgumentError::new(format!("has codes that are numbers, not {}", show(other)))),
    }
}

fn codes(value: &Value) -> Result<Vec<i128>, ArgumentError> {
    match value {
        Value::Array(list) => list.iter().map(code).collect(),
        one => Ok(vec![code(one)?]),
    }
}

struct WithCode {
    codes: Vec<i128>,
    /// Codes that an erratum tolerates, and the erratum.
    tolerated: Vec<(i128, String)>,
    bare: bool,
    any: bool,
}

impl Check for WithCode {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        let mismatch = || Outcome::mismatch(self.words(), Some(&Value::text(summary(seen))));
        if seen.member("outcome").and_then(Value::as_text) != Some("refused") {
            return mismatch();
        }
        let how = seen.member("refusal").and_then(Value::as_text).unwrap_or_default();
        match seen.member("code").and_then(Value::as_integer) {
            Some(_) if self.any => Outcome::HOLDS,
            Some(code) if self.codes.contains(&code) => Outcome::HOLDS,
            Some(code) => match self.tolerated.iter().find(|(tolerated, _)| *tolerated == code) {
                Some((_, erratum)) => {
                    let reading = format!("refused with {code} ({erratum})");
                    Outcome::Holds(vec![Reading { reading, tolerated: true }])
                }
                None => mismatch(),
            },
            None if self.bare => Outcome::HOLDS,
            // An answer over HTTP was there to be given.
            None if how == "http" || how == "error" => mismatch(),
            None => Outcome::Undecided(format!("{}; the target did not report the reason", summary(seen))),
        }
    }
}

impl WithCode {
    fn words(&self) -> String {
        let list: Vec<String> = self.codes.iter().map(ToString::to_string).collect();
        let codes = if self.any { "any code".to_owned() } else { format!("code {}", list.join(" or ")) };
        if self.bare {
            format!("a refusal, by ERROR with {codes} or by the transport")
        } else {
            format!("an ERROR with {codes}")
        }
    }
}
