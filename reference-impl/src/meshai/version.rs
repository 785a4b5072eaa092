//! Protocol identifiers and versions (section 11, E01, E86).

use super::refusal::Refusal;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::{Object, Value};

/// The versions that are served, the best last.
pub(crate) const VERSIONS: &[&str] = &["1.0"];

/// The two names of the protocol (E01).
pub(crate) const FAMILIES: &[&str] = &["AMP", "AIP"];

/// The identifier of messages that answer nothing.
#[must_use]
pub(crate) fn own(rules: Rules) -> &'static str {
    // Other, E01: the name that the examples use.
    if rules.is_other() { "AIP/1.0" } else { "AMP/1.0" }
}

/// Reads `MAJOR.MINOR`: digits without leading zeros.
#[must_use]
pub(crate) fn parse(text: &str) -> Option<(u32, u32)> {
    let (major, minor) = text.split_once('.')?;
    Some((number(major)?, number(minor)?))
}

fn number(digits: &str) -> Option<u32> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit()) && (digits == "0" || !digits.starts_with('0'));
    digits.parse().ok().filter(|_| plain)
}

/// Checks the identifier of a message.
///
/// # Errors
///
/// A malformed identifier, another protocol, another MAJOR.
pub(crate) fn check(protocol: &str, rules: Rules) -> Result<(), Refusal> {
    // 11: other protocols and other versions are not processed.
    planted!(rules.fault, "any-protocol-accepted", return Ok(()));
    planted!(rules.fault, "protocol-optional", protocol.is_empty() => return Ok(()));
    let unsupported = |reason: String| {
        let versions = VERSIONS.iter().map(|version| Value::from(*version)).collect::<Vec<_>>();
        Refusal::envelope("/protocol", reason).with("supported_versions", versions)
    };
    let malformed = || unsupported("protocol must be AMP/MAJOR.MINOR".to_owned());
    let (family, version) = protocol.split_once('/').ok_or_else(malformed)?;
    // 2.3: exact case.
    let upper = family.to_uppercase();
    let family = if rules.fault.is("protocol-case-folded") { upper.as_str() } else { family };
    // Other, E01: only the name that the examples use.
    let known = if rules.is_other() { &FAMILIES[1..] } else { FAMILIES };
    // E01: both names are served.
    let known = if rules.fault.is("one-name-only") { &FAMILIES[..1] } else { known };
    // 2.3: the whole name.
    planted!(rules.fault, "protocol-suffix-match", family == "XAMP" => return Ok(()));
    if !known.contains(&family) {
        return Err(unsupported(format!("the protocol is {}", known.join(" or "))));
    }
    // 11: MAJOR.MINOR is the whole version.
    planted!(rules.fault, "protocol-prefix-match", return Ok(()));
    planted!(rules.fault, "third-part-ignored", version.starts_with("1.0.") => return Ok(()));
    planted!(rules.fault, "version-without-minor", version == "1" => return Ok(()));
    planted!(rules.fault, "version-with-line-break", version == "1.0\n" => return Ok(()));
    let (major, minor) = parse(version).ok_or_else(malformed)?;
    // 11: another MAJOR is a breaking change.
    planted!(rules.fault, "major-two-downgraded", major == 2 => return Ok(()));
    planted!(rules.fault, "older-major-accepted", major == 0 => return Ok(()));
    planted!(rules.fault, "major-as-byte", major & 0xff == 1 => return Ok(()));
    planted!(rules.fault, "major-by-first-digit", version.starts_with('1') => return Ok(()));
    planted!(rules.fault, "newer-minor-crashes", minor > 9 => return Err(Refusal::crash("no such version")));
    // Other, E86: only what is published is served.
    if major != 1 || minor > 0 && rules.is_other() {
        return Err(unsupported(format!("version {version} is not supported")));
    }
    // 11: new features are additive.
    planted!(rules.fault, "newer-minor-rejected", minor > 0 => return Err(unsupported("too new".to_owned())));
    Ok(())
}

/// The identifier of a reply: the family of the request, and the only version that is published.
#[must_use]
pub(crate) fn of_reply(request: Option<&str>, rules: Rules) -> String {
    // 11: a reply does not repeat a version that is not supported.
    planted!(rules.fault, "version-echoed", protocol in request => return protocol.to_owned());
    planted!(rules.fault, "reply-version-1-1", return "AMP/1.1".to_owned());
    planted!(rules.fault, "reply-version-short", return "AMP/1".to_owned());
    let family = request.and_then(|protocol| protocol.split_once('/')).map(|(family, _)| family);
    match family.filter(|family| FAMILIES.contains(family)) {
        Some(family) if !rules.is_other() && !rules.fault.is("alias-not-mirrored") => format!("{family}/1.0"),
        _ => own(rules).to_owned(),
    }
}

/// 10.2: the best version that both sides support: of MAJOR 1, and not above the offered MINOR.
#[must_use]
pub(crate) fn negotiate(offered: &[&str], rules: Rules) -> Option<&'static str> {
    // 10.2: never a version of another MAJOR.
    planted!(rules.fault, "negotiates-the-highest", return VERSIONS.last().copied());
    // 10.2: every offer counts.
    let offered = if rules.fault.is("negotiates-the-first") { &offered[..offered.len().min(1)] } else { offered };
    let theirs: Vec<(u32, u32)> = offered.iter().filter_map(|version| parse(version)).collect();
    let common = |version: &&&str| parse(version).is_some_and(|ours| theirs.contains(&ours));
    VERSIONS.iter().rev().find(common).copied()
}

/// The versions of `offered`.
#[must_use]
pub(crate) fn offers(params: &Object) -> Option<Vec<&str>> {
    params.get("offered")?.as_list()?.iter().map(Value::as_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fault::Planted;
    use crate::variant::Variant;

    #[test]
    fn versions_have_two_parts_without_leading_zeros() {
        assert_eq!(parse("1.0"), Some((1, 0)));
        assert_eq!(parse("10.23"), Some((10, 23)));
        for bad in ["1", "1.", ".0", "1.0.0", "one", "01.0", "1.00", "+1.0", "1.0 ", "", "١.٠"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn replies_keep_the_name_and_never_another_version() {
        let rules = Rules { fault: Planted::NONE, variant: Variant::Own };
        for (request, reply) in
            [("AIP/1.0", "AIP/1.0"), ("AMP/1.99", "AMP/1.0"), ("AMP/2.0", "AMP/1.0"), ("x", "AMP/1.0")]
        {
            assert_eq!(of_reply(Some(request), rules), reply);
        }
    }
}
