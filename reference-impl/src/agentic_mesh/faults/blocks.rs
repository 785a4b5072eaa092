//! Faults of header blocks.

use crate::agentic_mesh::failure::Failure;
use crate::agentic_mesh::node::Node;
use crate::agentic_mesh::role::{NEXT, NONE, ULTIMATE_RECEIVER};
use crate::agentic_mesh::rules::Rules;
use crate::json::{Object, Value};

const KNOWN: [&str; 5] = ["type", "role", "mustUnderstand", "relay", "content"];

/// `role-name-ignores-case`: the member of this name in any case.
pub(in crate::agentic_mesh) fn any_case(object: &Object, name: &str) -> Option<String> {
    let found = object.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.and_then(|(_, value)| value.as_text().map(str::to_owned))
}

/// `parameter-names-ignore-case`: the members under their names in lower case, of which the last one counts.
pub(in crate::agentic_mesh) fn lower_case(content: &mut Object) {
    let mut found = Object::new();
    content.iter().for_each(|(name, value)| found.set(&name.to_lowercase(), value.clone()));
    *content = found;
}

/// `type-read-from-name`: the type, or a name in its place.
pub(in crate::agentic_mesh) fn kind_or_name(object: &Object) -> Option<String> {
    object.text("type").or_else(|| object.text("name")).map(str::to_owned)
}

/// What an implementation refuses in a block.
type Refusal = (&'static str, &'static [fn(&Object, &Node) -> bool]);

#[rustfmt::skip]
const REFUSALS: &[Refusal] = &[
    // 4.2: other role names may be defined.
    ("closed-role-list", &[|block, node| block.text("role").is_some_and(|role| {
        ![NEXT, NONE, ULTIMATE_RECEIVER].contains(&role) && !node.roles.iter().any(|known| known == role)
    })]),
    // 4.8.1: a block may carry relay.
    ("relay-member-refused", &[|block, _| block.get("relay").is_some()]),
    // 4.8.2.1, rule 11: and further members.
    ("extra-block-members-refused", &[|block, node| {
        block.text("type").is_some_and(|kind| node.behaviour(kind).is_some())
            && block.iter().any(|(name, _)| !KNOWN.contains(&name))
    }]),
];

/// Refuses a block, if a fault that does so is planted.
pub(in crate::agentic_mesh) fn refuse(block: &Object, node: &Node, rules: &Rules) -> Result<(), Failure> {
    let planted = REFUSALS.iter().filter(|(name, _)| rules.fault.is(name)).flat_map(|(_, refused)| *refused);
    let refused = planted.into_iter().any(|refused| refused(block, node));
    if refused { Err(Failure::sender("invalid header block")) } else { Ok(()) }
}

/// `removal-skips-neighbour`: of blocks in a row every other one.
pub(in crate::agentic_mesh) fn every_other(gone: &[usize]) -> Vec<usize> {
    let mut taken: Vec<usize> = Vec::new();
    for index in gone {
        if taken.last().is_none_or(|last| last + 1 < *index) {
            taken.push(*index);
        }
    }
    taken
}

/// `reinserted-block-rebuilt`: the known members of a block, and of its content what proofmark finds it by.
pub(in crate::agentic_mesh) fn rebuild(block: &mut Value) {
    let Some(block) = block.as_object_mut() else { return };
    block.retain(|name, _| KNOWN.contains(&name));
    if let Some(content) = block.get_mut("content").and_then(Value::as_object_mut) {
        content.retain(|name, _| name == "mark");
    }
}

/// `equal-blocks-merged`: of blocks that are equal the first.
pub(in crate::agentic_mesh) fn merge(blocks: &mut Vec<Value>) {
    let mut seen: Vec<String> = Vec::new();
    blocks.retain(|block| {
        let text = block.write();
        let is_new = !seen.contains(&text);
        seen.push(text);
        is_new
    });
}

/// What is done to a block that is forwarded.
type Change = (&'static str, &'static [fn(&mut Object)]);

#[rustfmt::skip]
const CHANGES: &[Change] = &[
    ("block-members-rebuilt", &[|block| block.retain(|name, _| KNOWN.contains(&name))]),
    ("must-understand-cleared", &[|block| block.set("mustUnderstand", false)]),
    ("relay-cleared", &[|block| block.set("relay", false)]),
    ("role-dropped-from-kept-blocks", &[|block| drop(block.remove("role"))]),
    ("flags-written-as-strings", &[|block| for name in ["mustUnderstand", "relay"] {
        if let Some(Value::Bool(flag)) = block.get(name) {
            block.set(name, flag.to_string());
        }
    }]),
];

/// Changes the blocks that are forwarded, if a fault that does so is planted.
pub(in crate::agentic_mesh) fn spoil(blocks: &mut [Value], rules: &Rules) {
    for (_, changes) in CHANGES.iter().filter(|(name, _)| rules.fault.is(name)) {
        for block in blocks.iter_mut().filter_map(Value::as_object_mut) {
            changes.iter().for_each(|change| change(block));
        }
    }
}
