//! The modules of header blocks (section 4.7, step 8; binding.md, 6): what each type that a node understands does.

use super::block::Block;
use super::code::Code;
use super::failure::Failure;
use super::memorygram;
use super::message::{MEMORYGRAM, Message};
use super::node::{Behaviour, Node};
use super::role::ULTIMATE_RECEIVER;
use super::rules::Rules;
use super::{block, faults, pointer};
use crate::fault::planted;
use crate::json::Value;

/// What became of the blocks of a message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Done {
    /// The places of the processed blocks.
    pub(crate) processed: Vec<usize>,
    /// The blocks that their module puts back, each with its place (4.8.1).
    pub(crate) reinserted: Vec<(usize, Value)>,
}

/// Processes the blocks that are targeted at the node and understood, in order (E25). All of them, mandatory or not (E27).
///
/// # Errors
///
/// The fault of the first block that fails.
pub(crate) fn process(
    message: &mut Message,
    blocks: &[Block],
    roles: &[String],
    node: &Node,
    rules: &Rules,
) -> Result<Done, Failure> {
    let mut done = Done::default();
    let mut seen: Vec<&str> = Vec::new();
    let mut outcome = Ok(());
    for block in blocks {
        let targeted = block.is_targeted(roles, rules);
        let Some(kind) = block.kind.as_deref().filter(|_| targeted) else { continue };
        // 4.7: a node processes only what it understands.
        let ours = |behaviour: Option<Behaviour>| behaviour.is_none() && block.relay;
        planted!(rules.fault, "unknown-block-called-processed", ours(node.behaviour(kind)) => done.processed.push(block.index));
        let Some(behaviour) = node.behaviour(kind) else { continue };
        // Other, E27: blocks that are not mandatory are ignored.
        if rules.is_other() && !block.mandatory {
            continue;
        }
        // 4.7: that one block succeeded says nothing about another one of its type.
        let repeated = seen.contains(&kind);
        planted!(rules.fault, "same-type-once", repeated => continue);
        seen.push(kind);
        // 4.8.1, table, row 6.
        let final_block = block.role.as_deref() == Some(ULTIMATE_RECEIVER);
        planted!(rules.fault, "receiver-skips-own-blocks", final_block && node.is_receiver() => continue);
        outcome = run(behaviour, block, message, node, rules);
        // 4.7: failure is indicated by a fault.
        planted!(rules.fault, "failing-block-swallowed", outcome = Ok(()));
        if !rules.fault.is("last-block-decides") {
            outcome.clone()?;
        }
        done.processed.push(block.index);
        if behaviour.reinserts()
            && let Some(found) = whole(message, block.index, node, rules)
        {
            done.reinserted.push((block.index, found));
        }
    }
    outcome.map(|()| done)
}

/// A block as it stands in the message.
fn whole(message: &Message, index: usize, node: &Node, rules: &Rules) -> Option<Value> {
    pointer::get(&message.0, block::place(node, rules))?.as_list()?.get(index).cloned()
}

fn run(behaviour: Behaviour, block: &Block, message: &mut Message, node: &Node, rules: &Rules) -> Result<(), Failure> {
    let relay = !node.is_receiver();
    match behaviour {
        Behaviour::Noop | Behaviour::Reinsert => {}
        Behaviour::Fail if block.content.get("fail") == Some(&Value::Bool(true)) => {
            // Other, E63: a code of its own.
            let mut code = if rules.is_other() { Code::BlockFailed } else { Code::Receiver };
            planted!(rules.fault, "internal-failure-as-sender", code = Code::Sender);
            return Err(Failure::new(code, "a header block failed"));
        }
        Behaviour::Fail => {}
        // E40: an encrypted MemoryGram is passed on unread.
        Behaviour::Annotate | Behaviour::AnnotateReinsert | Behaviour::Augment if message.is_encrypted() => {}
        Behaviour::Annotate | Behaviour::AnnotateReinsert if relay => {
            if let Some(graph) = message.component_mut(MEMORYGRAM) {
                memorygram::annotate(graph, &node.uri, None, rules);
            }
        }
        Behaviour::Augment if relay => {
            if let Some(graph) = message.component_mut(MEMORYGRAM) {
                let (added, edge) = memorygram::addition(graph, &node.uri, node.short_name());
                memorygram::augment(graph, &node.uri, vec![added], vec![edge], rules);
            }
        }
        Behaviour::Redact if relay => {
            let context = message.body_mut().and_then(|body| body.get_mut("context")).and_then(Value::as_object_mut);
            if let (Some(context), Some(name)) = (context, block.content.text("member")) {
                context.remove(name);
                planted!(rules.fault, "redacts-at-any-depth", faults::preservation::redact(context, name));
            }
        }
        _ => {} // at the receiver there is no next hop
    }
    Ok(())
}
