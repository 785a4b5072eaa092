//! Mandatory header blocks (section 4.4; steps 5 and 6 of section 4.7).

use super::block::Block;
use super::code::Code;
use super::failure::Failure;
use super::node::Node;
use super::role::NEXT;
use super::rules::Rules;
use crate::fault::planted;

/// 4.7, step 5: the mandatory blocks that are targeted at the node.
#[must_use]
pub(crate) fn mandatory<'b>(blocks: &'b [Block], roles: &[String], node: &Node, rules: &Rules) -> Vec<&'b Block> {
    // 4.4: only blocks that are targeted at the node.
    let any = rules.fault.is("must-understand-any-role");
    let mut found: Vec<&Block> =
        blocks.iter().filter(|block| block.mandatory && (any || block.is_targeted(roles, rules))).collect();
    // 4.4: all of them, wherever they stand.
    planted!(rules.fault, "must-understand-first-block-only", found.retain(|block| block.index == 0));
    planted!(rules.fault, "mandatory-beyond-ten-missed", found.retain(|block| block.index < 10));
    planted!(rules.fault, "must-understand-next-only", found.retain(|block| block.role.as_deref() == Some(NEXT)));
    // 4.8.1: relay has no effect on mandatory blocks, and none at all at the ultimate receiver.
    planted!(rules.fault, "must-understand-excused-by-relay", !node.is_receiver() => found.retain(|block| !block.relay));
    planted!(rules.fault, "receiver-relay-excuse", node.is_receiver() => found.retain(|block| !block.relay));
    found
}

/// Those of them that the node does not understand.
#[must_use]
pub(crate) fn not_understood<'b>(blocks: &'b [Block], roles: &[String], node: &Node, rules: &Rules) -> Vec<&'b Block> {
    // 4.4: ignoring mandatory blocks is not permitted.
    planted!(rules.fault, "must-understand-ignored", return Vec::new());
    let unknown = |block: &&Block| block.kind.as_deref().is_none_or(|kind| node.behaviour(kind).is_none());
    let mandatory = mandatory(blocks, roles, node, rules);
    planted!(rules.fault, "mandatory-always-faults", return mandatory);
    // 4.4: a block that is not mandatory may be of any type.
    let targeted = || blocks.iter().filter(|block| block.is_targeted(roles, rules));
    planted!(rules.fault, "unknown-block-always-faults", return targeted().filter(unknown).collect());
    mandatory.into_iter().filter(unknown).collect()
}

/// 4.7, step 6: one single fault, however many blocks are not understood.
///
/// # Errors
///
/// `amp:MustUnderstand` with the types.
pub(crate) fn check(blocks: &[Block], roles: &[String], node: &Node, rules: &Rules) -> Result<(), Failure> {
    let unknown = not_understood(blocks, roles, node, rules);
    if unknown.is_empty() {
        return Ok(());
    }
    let kinds: Vec<String> = unknown.iter().map(|block| block.kind.clone().unwrap_or_default()).collect();
    // 4.10: this code and no other.
    let code = if rules.fault.is("must-understand-wrong-code") { Code::Sender } else { Code::MustUnderstand };
    let reason = format!("mandatory header blocks that are not understood: {}", kinds.join(", "));
    Err(Failure { blocks: kinds, ..Failure::new(code, reason) })
}
