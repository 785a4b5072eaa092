//! `signed`: a message carries a signature that verifies (sections 2.2 and 8.2).

use crate::matcher::{ArgumentError, Check, Compiler, Matcher, Outcome, show};
use crate::value::Value;

/// Holds if the signature of a message verifies.
pub(in super::super) struct Signed;

impl Matcher for Signed {
    fn name(&self) -> &'static str {
        "signed"
    }

    fn summary(&self) -> &'static str {
        "The message at the place has a signature that verifies over its Sig_Input under the key of its `from`. Where it does not, the \
         finding shows the expected Sig_Input in diagnostic notation, and the input that was signed, if found."
    }

    fn example(&self) -> &'static str {
        "{ at: /ack, signed: true }"
    }

    fn compile(&self, argument: &Value, _: &Compiler<'_>) -> Result<Box<dyn Check>, ArgumentError> {
        match argument {
            Value::Bool(true) => Ok(Box::new(Verifies)),
            other => Err(ArgumentError::new(format!("is true, not {}", show(other)))),
        }
    }
}

struct Verifies;

impl Check for Verifies {
    fn check(&self, observed: Option<&Value>) -> Outcome {
        let Some(signed) = observed.and_then(|seen| seen.member("signed")) else {
            return Outcome::mismatch("a signed message", observed);
        };
        let because = || signed.member("because").and_then(Value::as_text).unwrap_or_default().to_owned();
        match signed.member("state").and_then(Value::as_text) {
            Some("valid") => Outcome::HOLDS,
            Some("sealed" | "requested") => Outcome::Vacuous(because()),
            // Without the document of the sender the signature cannot be verified; other cases check resolution.
            Some("unresolved") => Outcome::Undecided(because()),
            _ => {
                let mut outcome =
                    Outcome::mismatch("a signature that verifies over the Sig_Input of section 8.1", None);
                if let Outcome::Mismatch(mismatch) = &mut outcome {
                    mismatch.observed = because();
                }
                outcome
            }
        }
    }
}
