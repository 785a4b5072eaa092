//! ttl (sections 1.6, 2.1 and 4.8.2; step 4 of section 4.7): a count of hops, lowered by one at each node.

use super::code::Code;
use super::failure::Failure;
use super::faults;
use super::integer::whole;
use super::message::Message;
use super::node::Node;
use super::rules::Rules;
use crate::fault::planted;
use crate::json::Value;

/// 4.7, step 4: lowers ttl; `after` is the lowered value, also of an expired message. A message without a readable ttl has
/// none: step 3 reports it.
///
/// # Errors
///
/// `amp:TTLExpired` if it reaches zero (E19, E20, E22).
pub(crate) fn lower(message: &Message, node: &Node, rules: &Rules, after: &mut Option<i128>) -> Result<(), Failure> {
    let stated = message.header().and_then(|header| header.get("ttl")).and_then(Value::as_number);
    let Some(ttl) = stated.and_then(whole) else { return Ok(()) };
    let mut lowered = ttl - 1;
    // 4.6: the MemoryGram does not override the rules.
    planted!(rules.fault, "memorygram-commands-obeyed", said in faults::hints::ttl(message) => lowered = said - 1);
    planted!(rules.fault, "ttl-wraps-at-32-bits", lowered = faults::hints::wrapped(lowered));
    // 4.7: at the receiver too.
    planted!(rules.fault, "ttl-not-lowered-at-receiver", node.is_receiver() => lowered = ttl);
    *after = Some(lowered);
    let expired = || {
        let mut code = Code::TtlExpired;
        // Other, E20: a ttl below 1 is an invalid value.
        code = if rules.is_other() && ttl < 1 { Code::Sender } else { code };
        planted!(rules.fault, "expired-as-sender", code = Code::Sender);
        Err(Failure::new(code, format!("ttl {ttl} has run out")))
    };
    // 1.6: hops, not seconds.
    let old = rules.held.as_secs() >= u64::try_from(ttl.max(0)).unwrap_or(u64::MAX);
    planted!(rules.fault, "ttl-as-seconds", return if old { expired() } else { Ok(()) });
    let mut last = 0;
    planted!(rules.fault, "ttl-checked-before-decrement", last = -1);
    planted!(rules.fault, "ttl-expires-at-two", last = 1);
    planted!(rules.fault, "ttl-equals-zero-only", lowered != 0 => return Ok(()));
    // E19: the text gives the same result at the receiver.
    planted!(rules.fault, "ttl-one-delivered", node.is_receiver() && ttl == 1 => return Ok(()));
    // Other, E19: the ultimate receiver consumes the last unit.
    let delivered = rules.is_other() && node.is_receiver() && ttl == 1;
    if lowered <= last && !delivered { expired() } else { Ok(()) }
}
