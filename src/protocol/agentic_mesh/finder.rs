//! The fault finder (binding, section 4): the code of a fault, wherever a target puts it.

use crate::value::Value;

/// The prefix of the standard codes (section 4.10).
const PREFIX: &str = "amp:";

/// The standard codes (section 4.10), without their prefix.
pub(super) const CODES: [&str; 6] =
    ["MustUnderstand", "VersionMismatch", "Sender", "Receiver", "TTLExpired", "InvalidMemoryGram"];

/// The places in which a code is looked for, in this order.
const PLACES: &[&str] = &[
    "/Envelope/Body/fault/code/value",
    "/Envelope/Body/fault/code",
    "/Envelope/Body/Fault/code/value",
    "/Envelope/Body/Fault/code",
    "/Envelope/Body/Fault/Code/Value",
    "/Envelope/Body/Fault/Code",
    "/Envelope/Fault/code/value",
    "/Envelope/Fault/code",
    "/Envelope/fault/code/value",
    "/Envelope/fault/code",
    "/Body/fault/code/value",
    "/Body/fault/code",
    "/fault/code/value",
    "/fault/code",
    "/Fault/code/value",
    "/Fault/code",
    "/error/code",
    "/faultCode",
    "/code",
];

/// Depth below which nothing is looked for.
const DEPTH: usize = 32;

/// The faults that were found in a reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// The codes as they are spelled; one for each fault.
    pub(super) codes: Vec<String>,
    /// Where the first was found.
    pub(super) at: String,
}

/// The faults in a reply, if there are any. `first` is the place that the target file names.
pub(super) fn find(reply: &Value, first: Option<&str>) -> Option<Found> {
    for place in first.into_iter().chain(PLACES.iter().copied()) {
        let tokens: Vec<&str> = place.split('/').skip(1).collect();
        let mut codes = Vec::new();
        collect(reply, &tokens, &mut codes);
        if !codes.is_empty() {
            return Some(Found { codes, at: place.to_owned() });
        }
    }
    anywhere(reply, "", 0).map(|(code, at)| Found { codes: vec![code], at })
}

/// A code without its prefix.
pub(super) fn bare(code: &str) -> &str {
    code.strip_prefix(PREFIX).unwrap_or(code)
}

/// The standard code that a spelling means, whatever its case, prefix and word separators.
pub(super) fn standard(spelled: &str) -> Option<&'static str> {
    let plain = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    let spelled = plain(spelled.rsplit(':').next().unwrap_or(spelled));
    CODES.into_iter().find(|code| plain(code) == spelled)
}

/// Whether a spelling is that of the specification.
pub(super) fn is_exact(spelled: &str) -> bool {
    spelled.strip_prefix(PREFIX).is_some_and(|bare| CODES.contains(&bare))
}

fn collect(value: &Value, tokens: &[&str], codes: &mut Vec<String>) {
    match (value, tokens.split_first()) {
        (Value::Array(items), _) => items.iter().for_each(|item| collect(item, tokens, codes)),
        (Value::Text(text), None) => codes.push(text.to_string()),
        (Value::Map(_), Some((token, rest))) => {
            if let Some(inner) = value.member(token) {
                collect(inner, rest, codes);
            }
        }
        _ => {}
    }
}

/// A member whose name speaks of a code, and whose value is one of the six.
fn anywhere(value: &Value, at: &str, depth: usize) -> Option<(String, String)> {
    if depth > DEPTH {
        return None;
    }
    match value {
        Value::Map(members) => members.iter().find_map(|(key, value)| {
            let name = key.as_text()?;
            let place = format!("{at}/{name}");
            let lower = name.to_lowercase();
            let speaks = lower.contains("code") || lower == "error";
            match value.as_text() {
                Some(text) if speaks && is_exact(text) => Some((text.to_owned(), place)),
                _ => anywhere(value, &place, depth + 1),
            }
        }),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| anywhere(item, &format!("{at}/{index}"), depth + 1))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::json;

    fn found(text: &str) -> Option<(Vec<String>, String)> {
        find(&json::parse(text.as_bytes()).unwrap(), None).map(|found| (found.codes, found.at))
    }

    #[test]
    fn codes_are_found_wherever_a_target_puts_them() {
        let one = |code: &str, at: &str| Some((vec![code.to_owned()], at.to_owned()));
        assert_eq!(
            found(r#"{"Envelope":{"Body":{"fault":{"code":{"value":"amp:Sender"}}}}}"#),
            one("amp:Sender", "/Envelope/Body/fault/code/value")
        );
        assert_eq!(found(r#"{"error":{"code":"Sender"}}"#), one("Sender", "/error/code"));
        assert_eq!(found(r#"{"x":[{"errorCode":"amp:Receiver"}]}"#), one("amp:Receiver", "/x/0/errorCode"));
        assert_eq!(found(r#"{"Envelope":{"Body":{"task":"echo"}}}"#), None);
    }

    #[test]
    fn each_fault_of_a_list_counts() {
        let list = r#"{"Envelope":{"Body":{"fault":[{"code":"amp:Sender"},{"code":"amp:Sender"}]}}}"#;
        assert_eq!(found(list).unwrap().0.len(), 2);
    }

    #[test]
    fn spellings_of_a_standard_code_are_recognised() {
        for spelled in ["amp:TTLExpired", "TTLExpired", "amp:TtlExpired", "amp:ttl_expired"] {
            assert_eq!(standard(spelled), Some("TTLExpired"), "{spelled}");
        }
        assert_eq!(standard("amp:Busy"), None);
        assert!(is_exact("amp:Sender") && !is_exact("Sender") && !is_exact("amp:sender"));
    }
}
