//! The version of the envelope (section 4.9; E06, reading a: `Header.version`, absent means 1.0).

use super::code::Code;
use super::failure::Failure;
use super::faults;
use super::message::Message;
use super::node::Node;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::Value;

/// Decides, message by message, whether the version is supported.
///
/// # Errors
///
/// `amp:VersionMismatch` for an unsupported version, `amp:Sender` for a version that is not a string.
pub(crate) fn check(message: &Message, node: &Node, rules: &Rules) -> Result<(), Failure> {
    let decided = decide(message, node, rules);
    // 4.9: support is determined per message.
    planted!(rules.fault, "version-sticky", return faults::state::stick(decided, node, rules));
    decided
}

fn decide(message: &Message, node: &Node, rules: &Rules) -> Result<(), Failure> {
    let mismatch = |reason: String| Err(Failure::new(Code::VersionMismatch, reason));
    planted!(rules.fault, "version-ignored", return Ok(()));
    let mut stated = message.header().and_then(|header| header.get("version"));
    // 4.9: the version concerns the envelope, not what is in it.
    planted!(rules.fault, "version-found-anywhere", stated = faults::structure::any_version(message).or(stated));
    planted!(rules.fault, "version-required", stated.is_none() => return mismatch("version is missing".to_owned()));
    let there = stated.is_some();
    planted!(rules.fault, "version-member-refused", there => return Err(Failure::sender("unknown member version")));
    match stated {
        None => Ok(()),
        Some(Value::Text(version)) if node.versions.contains(version) => Ok(()),
        Some(Value::Text(version)) => mismatch(format!("version {version} is not supported")),
        Some(Value::Number(_)) if rules.fault.is("version-number-taken") => Ok(()),
        Some(_) if rules.is_other() => Ok(()), // Other, E06: a version of another type is not looked at.
        Some(_) => Err(Failure::sender("version is not a string")),
    }
}
