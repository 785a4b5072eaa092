//! ERROR messages (15): their content and construction.

use super::bodies::ErrorBody;
use super::build::{self, Built};
use super::codes::{Code, category, typ};
use super::did;
use super::faults::map as faults;
use super::keys::Identity;
use super::message::{Headers, To};
use super::rules::Rules;
use crate::cbor::Cbor;
use crate::fault::planted;

/// The lifetime of an ERROR, in milliseconds.
const ERROR_TTL_MS: u64 = 86_400_000;

/// The body of an ERROR with this code (15.1).
#[must_use]
pub(crate) fn body(code: Code, details: Option<Cbor>, rules: Rules) -> ErrorBody {
    let number = code.number();
    let mut category = category(number).unwrap_or_default().to_owned();
    // 15.2: the first digit decides.
    planted!(rules.fault, "error-category-swapped", number < 2000 => "client".clone_into(&mut category));
    let mut retry = code.retry();
    // 15.3: whether a retry helps is a matter of the code.
    planted!(rules.fault, "error-retry-inverted", code == Code::InvalidSignature => retry = true);
    planted!(rules.fault, "error-retry-never", retry = false);
    planted!(rules.fault, "error-retry-always", retry = true);
    if rules.is_other() {
        // Other, E33: the category as spelled in the table of 15.2, no retry, no text.
        let category = category[..1].to_ascii_uppercase() + &category[1..];
        return ErrorBody { code: number, category, message: String::new(), details, retry: None, batch_index: None };
    }
    let message = code.name().to_owned();
    ErrorBody { code: number, category, message, details, retry: Some(retry), batch_index: None }
}

/// An ERROR to `to` about the message `reply_to` (15.1, E32): signed, and addressed without a fragment.
#[must_use]
pub(crate) fn build(
    sender: &Identity,
    to: &str,
    reply_to: Option<&[u8]>,
    body: &ErrorBody,
    now: u64,
    rules: Rules,
) -> Built {
    let to = To::One(did::without_fragment(to).to_owned());
    // 4.3: an ERROR has a type of its own.
    let kind = if rules.fault.is("error-as-proc-fail") { typ::PROC_FAIL } else { typ::ERROR };
    let mut headers = Headers::new(sender, to, kind, now, ERROR_TTL_MS, rules);
    // 15.1: an ERROR references its message.
    if !rules.fault.is("error-without-reply-to") {
        headers.reply_to = reply_to.map(<[u8]>::to_vec);
    }
    let mut body = body.cbor();
    // 4.4: code, category and message are always there.
    planted!(rules.fault, "error-without-category", faults::remove(&mut body, "category"));
    // 4.4: message is a text, code a number.
    planted!(rules.fault, "error-message-as-number", body.set("message", Cbor::Unsigned(0)));
    planted!(rules.fault, "error-code-as-text", faults::code_as_text(&mut body));
    build::plain(sender, headers, body, None, rules)
}
