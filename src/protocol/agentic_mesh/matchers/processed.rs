//! `processed`: the node took the message (binding, section 1.2).

use super::words::summary;
use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, Reading, show};
use crate::value::Value;

/// Holds if the message was accepted by the receiver, or forwarded by the relay.
pub(in super::super) struct Processed;

impl Matcher for Processed {
    fn name(&self) -> &'static str {
        "processed"
    }

    fn summary(&self) -> &'static str {
        "With true: the receiver accepted the message, or a copy reached the next hop of the relay. With `or-fault` faults \
         with these codes are permitted as well, with `or-any-fault-but` all others; with `tolerated` only by a ruling."
    }

    fn example(&self) -> &'static str {
        "{ processed: { or-any-fault-but: [MustUnderstand], tolerated: true } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let mut check = Taken { faults: Faults::None, tolerated: false };
        match argument {
            Value::Bool(true) => {}
            Value::Map(members) => {
                for (key, value) in members {
                    match key.as_text() {
                        Some("or-fault") => check.faults = Faults::These(codes(value)?),
                        Some("or-any-fault-but") => check.faults = Faults::AllBut(codes(value)?),
                        Some("tolerated") => check.tolerated = *value == Value::Bool(true),
                        _ => {
                            let known = "takes or-fault, or-any-fault-but and tolerated";
                            return Err(ArgumentError::new(format!("{known}, not {}", show(key))));
                        }
                    }
                }
            }
            other => return Err(ArgumentError::new(format!("is true or a map, not {}", show(other)))),
        }
        Ok(Box::new(check))
    }
}

/// A list of codes, or one.
pub(super) fn codes(value: &Value) -> Result<Vec<String>, ArgumentError> {
    let one = |value: &Value| {
        value
            .as_text()
            .map(str::to_owned)
            .ok_or_else(|| ArgumentError::new(format!("has codes that are words such as Sender, not {}", show(value))))
    };
    match value {
        Value::Array(list) => list.iter().map(one).collect(),
        value => Ok(vec![one(value)?]),
    }
}

/// The faults that are permitted besides.
enum Faults {
    None,
    These(Vec<String>),
    AllBut(Vec<String>),
}

struct Taken {
    faults: Faults,
    tolerated: bool,
}

impl Check for Taken {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        let text = |name: &str| seen.member(name).and_then(Value::as_text);
        if matches!(text("outcome"), Some("accepted" | "forwarded")) {
            return Outcome::HOLDS;
        }
        let code = text("code").filter(|_| text("outcome") == Some("fault"));
        let permitted = code.filter(|code| match &self.faults {
            Faults::None => false,
            Faults::These(codes) => codes.iter().any(|known| known == code),
            Faults::AllBut(codes) => !codes.iter().any(|known| known == code),
        });
        match permitted {
            Some(code) => {
                Outcome::Holds(vec![Reading { reading: format!("a fault {code}"), tolerated: self.tolerated }])
            }
            None => Outcome::mismatch(self.words(), Some(&Value::text(summary(seen)))),
        }
    }
}

impl Taken {
    fn words(&self) -> String {
        match &self.faults {
            Faults::None => "the message accepted or forwarded".to_owned(),
            Faults::These(codes) => format!("the message accepted or forwarded, or a fault {}", codes.join(" or ")),
            Faults::AllBut(codes) => {
                format!("the message accepted or forwarded, or a fault other than {}", codes.join(" and "))
            }
        }
    }
}
