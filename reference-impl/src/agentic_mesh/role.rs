//! Roles (sections 4.2 and 4.3, step 2 of section 4.7).

use super::message::Message;
use super::node::Node;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::Value;

/// Assumed by every intermediary and every ultimate receiver.
pub(crate) const NEXT: &str = "urn:agentic:mesh:role:next";
/// Assumed by no node.
pub(crate) const NONE: &str = "urn:agentic:mesh:role:none";
/// Assumed by the ultimate receiver.
pub(crate) const ULTIMATE_RECEIVER: &str = "urn:agentic:mesh:role:ultimateReceiver";

/// 4.7, step 2: the roles in which the node acts, the same for the whole processing of a message (4.2). The message is not
/// inspected for them: `Header.roles` names actors, not roles of header blocks (E05).
#[must_use]
pub(crate) fn assumed(message: &Message, node: &Node, rules: &Rules) -> Vec<String> {
    let receiver = node.is_receiver();
    let mut roles = Vec::new();
    // 4.2: every intermediary and ultimate receiver assumes next.
    let next = if rules.fault.is("next-as-short-word") { "next" } else { NEXT };
    roles.push(next.to_owned());
    planted!(rules.fault, "next-not-assumed-at-receiver", receiver => roles.clear());
    planted!(rules.fault, "next-not-assumed-at-relay", !receiver => roles.clear());
    // 4.2: the final recipient, and no other node, assumes ultimateReceiver.
    planted!(rules.fault, "ultimate-role-at-relay", !receiver => roles.push(ULTIMATE_RECEIVER.to_owned()));
    if receiver && !rules.fault.is("ultimate-role-missing") {
        roles.push(ULTIMATE_RECEIVER.to_owned());
    }
    // 4.2: nodes must not act in none.
    planted!(rules.fault, "none-role-assumed", roles.push(NONE.to_owned()));
    planted!(rules.fault, "header-roles-as-block-roles", roles.extend(actors(message)));
    roles.extend(node.roles.iter().filter(|role| *role != NONE).cloned());
    roles
}

/// The words of `Header.roles`.
fn actors(message: &Message) -> Vec<String> {
    let words = message.header().and_then(|header| header.get("roles")).and_then(Value::as_list);
    words.into_iter().flatten().filter_map(|word| word.as_text().map(str::to_owned)).collect()
}

/// 4.3: whether one of the roles is this one. URIs are compared by code points (E60).
#[must_use]
pub(crate) fn acts_in(roles: &[String], mut role: &str, rules: &Rules) -> bool {
    planted!(rules.fault, "role-prefix-match", return roles.iter().any(|assumed| role.starts_with(assumed.as_str())));
    planted!(rules.fault, "role-fragment-ignored", role = role.split('#').next().unwrap_or(role));
    roles.iter().any(|assumed| assumed == role)
}
