//! The forwarded message (sections 4.8.1 to 4.8.4): the inbound tree with the changes that the rules name, and no other.

use super::block::{self, Block};
use super::message::Message;
use super::modules::Done;
use super::node::Node;
use super::role::{NEXT, NONE, ULTIMATE_RECEIVER};
use super::rules::Rules;
use super::{faults, ids, memorygram, pointer};
use crate::fault::planted;
use crate::json::{Number, Object, Value};

/// Builds the message that an intermediary sends on: the inbound message after its blocks were processed, with `ttl` lowered.
#[must_use]
pub(crate) fn construct(
    mut message: Message,
    blocks: &[Block],
    done: &Done,
    roles: &[String],
    ttl: Option<i128>,
    node: &Node,
    rules: &Rules,
) -> Message {
    // 4.8.4: an active intermediary does all that a forwarding one does.
    let skips = node.active && rules.fault.is("active-relay-skips-rules");
    if !skips {
        remove_blocks(&mut message, blocks, done, roles, node, rules);
    }
    if let Some(header) = message.header_mut().filter(|_| !skips) {
        change_header(header, ttl, node, rules);
    }
    if node.active {
        intervene(&mut message, node, rules);
    }
    // Other, E35: additions where the rules allow them, and another order where none is demanded.
    if rules.is_other() {
        decorate(&mut message, node, rules);
    }
    // 4.8.2.1, rule 1: everything else is preserved.
    faults::preservation::spoil(&mut message, node, rules);
    message
}

/// Whether a block is in the forwarded message: the table of section 4.8.1.
fn is_kept(block: &Block, done: &Done, roles: &[String], node: &Node, rules: &Rules) -> bool {
    let processed = done.processed.contains(&block.index);
    let reinserted = done.reinserted.iter().any(|(index, _)| *index == block.index);
    let targeted = block.is_targeted(roles, rules);
    let role = block.role.as_deref();
    planted!(rules.fault, "processed-block-kept", processed => return true);
    planted!(rules.fault, "processed-block-kept-if-relay", processed && block.relay => return true);
    planted!(rules.fault, "optional-known-block-kept", processed && !block.mandatory => return true);
    if processed {
        // Rows 1, 3 and 6: not forwarded, unless reinserted (E32).
        return reinserted && !rules.fault.is("reinsert-forgotten");
    }
    planted!(rules.fault, "ignored-block-kept", return true);
    // 4.2: the roles remain constant.
    let given_up = done.processed.first().is_some_and(|first| *first < block.index) && role != Some(NEXT);
    planted!(rules.fault, "roles-change-while-processing", given_up => return true);
    planted!(rules.fault, "relayable-block-dropped", targeted => return false);
    planted!(rules.fault, "relay-honoured-for-next-only", targeted && role != Some(NEXT) => return false);
    planted!(rules.fault, "relay-needed-for-others", return block.relay);
    planted!(rules.fault, "none-blocks-stripped", role == Some(NONE) => return false);
    planted!(rules.fault, "ultimate-blocks-stripped", role == Some(ULTIMATE_RECEIVER) => return false);
    planted!(rules.fault, "roleless-block-dropped", role.is_none() => return false);
    // An active intermediary may take blocks for none out (E66).
    if node.active && role == Some(NONE) {
        return false;
    }
    // Rows 2 and 4: forwarded if relay is true. Rows 5, 7 and 8: forwarded (E28).
    !targeted || block.relay
}

/// 4.8.2: takes out processed blocks and those that were ignored and are not relayable.
fn remove_blocks(message: &mut Message, blocks: &[Block], done: &Done, roles: &[String], node: &Node, rules: &Rules) {
    let mut gone: Vec<usize> =
        blocks.iter().filter(|block| !is_kept(block, done, roles, node, rules)).map(|block| block.index).collect();
    // All of them, adjacent ones too.
    planted!(rules.fault, "removal-skips-neighbour", gone = faults::blocks::every_other(&gone));
    let Some(Value::List(items)) = pointer::get_mut(&mut message.0, block::place(node, rules)) else { return };
    for (index, block) in &done.reinserted {
        // 4.8.1: reinserted as its processing says.
        planted!(rules.fault, "old-block-reinserted", continue);
        if let Some(place) = items.get_mut(*index) {
            place.clone_from(block); // in its old place
            planted!(rules.fault, "reinserted-block-rebuilt", faults::blocks::rebuild(place));
        }
    }
    let mut index = 0;
    items.retain(|_| {
        index += 1;
        !gone.contains(&(index - 1))
    });
    // 4.8.2: all that stay, however many, and each of a type (E67).
    planted!(rules.fault, "sixteen-blocks-kept", items.truncate(16));
    planted!(rules.fault, "equal-blocks-merged", faults::blocks::merge(items));
    // 4.8.2.1, rules 1 and 7 to 9: blocks that stay are not changed.
    faults::blocks::spoil(items, rules);
}

/// 4.8.2, 4.8.2.1 rule 2: ttl is lowered, traceId shows the hop, messageId stays.
fn change_header(header: &mut Object, ttl: Option<i128>, node: &Node, rules: &Rules) {
    let mut ttl = ttl.and_then(|ttl| Number::spelled(&ttl.to_string()));
    planted!(rules.fault, "ttl-not-decremented", ttl = faults::hints::inbound(header));
    planted!(rules.fault, "ttl-decremented-twice", ttl = faults::hints::lowered(ttl));
    planted!(rules.fault, "ttl-written-as-float", ttl = faults::hints::as_float(ttl));
    if let Some(ttl) = ttl {
        header.set("ttl", ttl);
    }
    planted!(rules.fault, "message-id-renewed", header.set("messageId", ids::fresh()));
    let Some(inbound) = header.text("traceId").map(str::to_owned) else { return };
    // Other, E23, reading c: a new value, and the old ones in another member.
    if rules.is_other() {
        let history = header.text("traceHistory").map_or_else(|| inbound.clone(), |old| format!("{old} {inbound}"));
        header.set("traceHistory", history);
        header.set("traceId", ids::fresh());
        return;
    }
    // E23, reading a: the value grows by a mark of the hop.
    let mut trace = format!("{inbound};hop={}", node.short_name());
    planted!(rules.fault, "trace-id-replaced", trace = ids::fresh());
    planted!(rules.fault, "trace-id-untouched", trace = inbound);
    header.set("traceId", trace);
}

/// 4.8.4: what an active intermediary does besides, described in a block so that other nodes can detect it.
fn intervene(message: &mut Message, node: &Node, rules: &Rules) {
    if let Some(body) = message.body_mut() {
        body.set("servedBy", node.uri.as_str());
    }
    let description = Object::from([
        ("type", "urn:proofmark:mesh:block:active-processing".into()),
        ("role", NONE.into()),
        (
            "content",
            Object::from([("node", node.uri.as_str().into()), ("added", "/Envelope/Body/servedBy".into())]).into(),
        ),
    ]);
    add_block(message, description, node, rules);
}

/// 4.8.2.1, rule 4: adds a block at the end of the array.
fn add_block(message: &mut Message, added: Object, node: &Node, rules: &Rules) {
    let place = block::place(node, rules);
    if let Some(Value::List(items)) = pointer::get_mut(&mut message.0, place) {
        items.push(added.into());
        return;
    }
    let Some((parent, name)) = pointer::split(place) else { return };
    if let Some(parent) = pointer::get_mut(&mut message.0, parent).and_then(Value::as_object_mut) {
        parent.set(&name, Value::List(vec![added.into()]));
    }
}

/// The changes that the rules allow and no ruling asks for.
fn decorate(message: &mut Message, node: &Node, rules: &Rules) {
    if let Some(Value::List(items)) = pointer::get_mut(&mut message.0, block::place(node, rules)) {
        items.reverse();
        for block in items.iter_mut().filter_map(Value::as_object_mut) {
            // Other, E34: a flag that is false says nothing.
            let default =
                |name: &str, value: &Value| matches!(name, "mustUnderstand" | "relay") && *value == Value::Bool(false);
            block.retain(|name, value| !default(name, value));
            block.set("relayedBy", node.uri.as_str());
        }
    }
    if let Some(header) = message.header_mut() {
        header.set("lastHop", node.uri.as_str());
    }
    // Other, E36: a member is added to the body.
    if let Some(body) = message.body_mut() {
        body.set("servedBy", node.uri.as_str());
    }
    if !message.is_encrypted()
        && let Some(graph) = message.component_mut(super::message::MEMORYGRAM)
    {
        memorygram::annotate(graph, &node.uri, None, rules);
        for list in ["nodes", "edges"] {
            if let Some(Value::List(items)) = graph.as_object_mut().and_then(|graph| graph.get_mut(list)) {
                items.reverse();
            }
        }
    }
}
