//! `fault`: one fault, with the right code, and nothing forwarded (binding, section 1.2).

use super::processed::codes;
use super::words::{nothing_forwarded, summary};
use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, Reading, show};
use crate::value::Value;

/// Holds for exactly one fault with one of the codes.
pub(in super::super) struct Fault;

impl Matcher for Fault {
    fn name(&self) -> &'static str {
        "fault"
    }

    fn summary(&self) -> &'static str {
        "Exactly one fault with this code, or one of a list, and nothing at the next hop. As a map: `code`, `tolerated` \
         (codes that a ruling tolerates), `tolerated-but` (it tolerates all other codes), `any: true`, `or-refused: true` (a \
         refusal without a fault is sufficient)."
    }

    fn example(&self) -> &'static str {
        "{ fault: { code: Sender, tolerated: [VersionMismatch] } }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        let mut check = OneFault { codes: Vec::new(), tolerated: Vec::new(), but: None, any: false, or_refused: false };
        let Value::Map(members) = argument else {
            check.codes = codes(argument)?;
            return Ok(Box::new(check));
        };
        for (key, value) in members {
            match key.as_text() {
                Some("code") => check.codes = codes(value)?,
                Some("tolerated") => check.tolerated = codes(value)?,
                Some("tolerated-but") => check.but = Some(codes(value)?),
                Some("any") => check.any = *value == Value::Bool(true),
                Some("or-refused") => check.or_refused = *value == Value::Bool(true),
                _ => {
                    let known = "takes code, tolerated, tolerated-but, any and or-refused";
                    return Err(ArgumentError::new(format!("{known}, not {}", show(key))));
                }
            }
        }
        if check.codes.is_empty() && !check.any {
            return Err(ArgumentError::new("needs `code` or `any: true`"));
        }
        Ok(Box::new(check))
    }
}

struct OneFault {
    codes: Vec<String>,
    tolerated: Vec<String>,
    /// All codes but these are tolerated.
    but: Option<Vec<String>>,
    any: bool,
    or_refused: bool,
}

impl Check for OneFault {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let seen = observed.unwrap_or(&Value::Null);
        let text = |name: &str| seen.member(name).and_then(Value::as_text);
        let mismatch = || Outcome::mismatch(self.words(), Some(&Value::text(summary(seen))));
        if !nothing_forwarded(seen) {
            return mismatch();
        }
        if self.or_refused && text("outcome") == Some("refused") {
            return Outcome::HOLDS;
        }
        let one = seen.member("faults").and_then(Value::as_integer) == Some(1);
        let Some(code) = text("code").filter(|_| text("outcome") == Some("fault") && one) else { return mismatch() };
        let is_in = |list: &[String]| list.iter().any(|known| known == code);
        if is_in(&self.codes) || self.any && self.codes.is_empty() {
            return Outcome::HOLDS;
        }
        let tolerated = is_in(&self.tolerated) || self.but.as_ref().is_some_and(|but| !is_in(but));
        if tolerated || self.any {
            let reading = format!("a fault {code}");
            return Outcome::Holds(vec![Reading { reading, tolerated: !self.any }]);
        }
        mismatch()
    }
}

impl OneFault {
    fn words(&self) -> String {
        let codes: Vec<&str> = self.codes.iter().chain(&self.tolerated).map(String::as_str).collect();
        let code = match codes.join(" or ") {
            codes if codes.is_empty() || self.any => "one fault, and nothing forwarded".to_owned(),
            codes => format!("one fault {codes}, and nothing forwarded"),
        };
        if self.or_refused { format!("{code}; or a refusal") } else { code }
    }
}
