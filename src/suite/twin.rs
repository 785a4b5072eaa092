//! What the twin of a case sends, as a number by which cases with the same twin are found.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::source::{Node, Yaml};

/// Keys of a case that change nothing that its twin sends.
const OF_CASE: &[&str] = &[
    "case",
    "about",
    "covers",
    "needs",
    "roles",
    "strict-only",
    "for-each",
    "counts-without-twin",
    "twin-first",
    "steps",
];

/// The same of a step. Its expectations decide how often it is repeated if it has `until`.
const OF_STEP: &[&str] = &["edit", "about"];
const EXPECTATIONS: &[&str] = &["expect", "expect-all"];

/// The key of the twin of a case as written, with its rows filled in. `steps` are the steps that the twin takes.
pub(super) fn key(case: &Node, steps: &[Node]) -> u64 {
    let mut hasher = DefaultHasher::new();
    if let Yaml::Map(members) = &case.value {
        for (name, value) in members.iter().filter(|(name, _)| !OF_CASE.contains(&name.name.as_str())) {
            name.name.hash(&mut hasher);
            hash(value, &mut hasher);
        }
    }
    steps.iter().for_each(|step| hash_step(step, &mut hasher));
    hasher.finish()
}

fn hash_step(step: &Node, hasher: &mut DefaultHasher) {
    let Yaml::Map(members) = &step.value else { return hash(step, hasher) };
    let is_repeated = step.member("until").is_some();
    for (name, value) in members {
        let name = name.name.as_str();
        if OF_STEP.contains(&name) || EXPECTATIONS.contains(&name) && !is_repeated {
            continue;
        }
        name.hash(hasher);
        match &value.value {
            Yaml::Sequence(steps) if name == "parallel" => steps.iter().for_each(|step| hash_step(step, hasher)),
            _ => hash(value, hasher),
        }
    }
    hasher.write_u8(0xff);
}

fn hash(node: &Node, hasher: &mut DefaultHasher) {
    std::mem::discriminant(&node.value).hash(hasher);
    match &node.value {
        Yaml::Null => {}
        Yaml::Bool(flag) => flag.hash(hasher),
        Yaml::Number(number) => crate::wire::json::compact(number).hash(hasher),
        Yaml::Text(text) => text.hash(hasher),
        Yaml::Sequence(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash(item, hasher));
        }
        Yaml::Map(members) => {
            members.len().hash(hasher);
            for (name, value) in members {
                name.name.hash(hasher);
                hash(value, hasher);
            }
        }
    }
}
