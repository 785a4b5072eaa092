//! Header blocks (sections 4.3 and 4.4; E01 for their place, E30 and E31 for absent members).

use super::failure::Failure;
use super::message::Message;
use super::node::Node;
use super::role::{self, ULTIMATE_RECEIVER};
use super::rules::Rules;
use super::{faults, pointer};
use crate::fault::planted;
use crate::json::{Object, Value};

/// One header block as the rules see it. Its members stay in the message.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Block {
    /// Its place in the array.
    pub(crate) index: usize,
    /// 4.4: the type identifier. `None` only where a block without type is tolerated.
    pub(crate) kind: Option<String>,
    /// 4.3: the role that it is targeted at; `None` if it states none.
    pub(crate) role: Option<String>,
    /// 4.4: whether it is mandatory.
    pub(crate) mandatory: bool,
    /// 4.8.1: whether it is relayable.
    pub(crate) relay: bool,
    /// Its parameters.
    pub(crate) content: Object,
}

impl Block {
    fn read(index: usize, object: &Object, rules: &Rules) -> Self {
        let flag = |name: &str| object.get(name) == Some(&Value::Bool(true)); // E31: absent means false; E33
        let mut block = Self {
            index,
            kind: object.text("type").map(str::to_owned),
            role: object.text("role").map(str::to_owned),
            mandatory: flag("mustUnderstand"),
            relay: flag("relay"),
            content: object.get("content").and_then(Value::as_object).cloned().unwrap_or_default(),
        };
        // 4.3: the members are called type, role and content, exactly so.
        planted!(rules.fault, "role-name-ignores-case", block.role = faults::blocks::any_case(object, "role"));
        planted!(rules.fault, "type-read-from-name", block.kind = faults::blocks::kind_or_name(object));
        planted!(rules.fault, "content-read-beside-block", block.content = object.clone());
        planted!(rules.fault, "parameter-names-ignore-case", faults::blocks::lower_case(&mut block.content));
        planted!(rules.fault, "block-without-content-optional", object.get("content").is_none() => block.mandatory = false);
        // E31: absent flags are false.
        planted!(rules.fault, "must-understand-by-default", block.mandatory |= object.get("mustUnderstand").is_none());
        planted!(rules.fault, "relay-true-by-default", block.relay |= object.get("relay").is_none());
        block
    }

    /// 4.3: whether it is targeted at a node in these roles. Without a role it is for the ultimate receiver (E30).
    #[must_use]
    pub(crate) fn is_targeted(&self, roles: &[String], rules: &Rules) -> bool {
        match &self.role {
            Some(role) => role::acts_in(roles, role, rules),
            None if rules.is_other() => false, // Other, E30: it targets no node.
            None => role::acts_in(roles, ULTIMATE_RECEIVER, rules),
        }
    }
}

/// Where the blocks of a message are.
#[must_use]
pub(crate) fn place<'n>(node: &'n Node, rules: &Rules) -> &'n str {
    // 4.8.2.1, rules 3 and 4: the headers array.
    planted!(rules.fault, "blocks-under-other-name", return super::node::HEADER_BLOCKS);
    &node.blocks_at
}

/// Every header block of a message, in order.
///
/// # Errors
///
/// `amp:Sender` if the place holds no array, or a block is not an object with a string `type`.
pub(crate) fn all(message: &Message, node: &Node, rules: &Rules) -> Result<Vec<Block>, Failure> {
    let items = match pointer::get(&message.0, place(node, rules)) {
        None => return Ok(Vec::new()),
        Some(Value::List(items)) => items,
        Some(_) if rules.is_other() => return Ok(Vec::new()), // Other, E01: then it is not the place of blocks.
        Some(_) => return Err(Failure::sender("the header blocks are not an array")),
    };
    let mut blocks = Vec::new();
    for (index, item) in items.iter().enumerate() {
        let Some(object) = item.as_object() else {
            return Err(Failure::sender(format!("header block {index} is not an object")));
        };
        let block = Block::read(index, object, rules);
        if block.kind.is_none() && !rules.is_other() {
            return Err(Failure::sender(format!("header block {index} has no type")));
        }
        faults::blocks::refuse(object, node, rules)?;
        blocks.push(block);
    }
    Ok(blocks)
}
