//! Header blocks: what an intermediary does with each (section 4.8.1), by the roles and types of the target.

use super::settings;
use crate::target::Target;
use crate::value::Value;

const NEXT: &str = "urn:agentic:mesh:role:next";
const NONE: &str = "urn:agentic:mesh:role:none";
#[cfg(test)]
const ULTIMATE: &str = "urn:agentic:mesh:role:ultimateReceiver";
const ASSUMED: &str = "urn:proofmark:mesh:role:assumed";
const NOT_ASSUMED: &str = "urn:proofmark:mesh:role:assumed:not";
/// The types of binding, section 6, which all begin in this way; the harness makes unknown types below `unknown:`.
const TYPES: &str = "urn:proofmark:mesh:block:";

/// What the target is configured to understand.
pub(super) struct Vocabulary {
    /// The user-defined role that it acts in.
    pub(super) assumed: Option<String>,
    /// A role that it does not act in.
    pub(super) not_assumed: Option<String>,
    /// A type that it understands and does not reinsert.
    pub(super) known: Declared,
    /// A type that it understands and reinserts.
    pub(super) reinserting: Declared,
    /// A type that fails on demand.
    pub(super) failing: Declared,
}

/// A type of header block that a target understands.
pub(super) struct Declared {
    /// Its identifier; `None` if the target has none.
    pub(super) kind: Option<String>,
    /// The usual content.
    pub(super) content: Value,
    /// The content with which its processing fails.
    pub(super) failing: Value,
    /// Whether the target file names it.
    pub(super) is_configured: bool,
}

/// What a forwarding intermediary must do with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It stays in the message.
    Stays,
    /// It is removed.
    Goes,
    /// Both are permitted: the node may process a block that is not mandatory, or ignore it (E27).
    Open,
}

impl Vocabulary {
    pub(super) fn of(target: &Target) -> Self {
        let role = |name: &str, default: &str| match settings::member(target, "roles", name) {
            Some(Value::Null) => None,
            Some(value) => value.as_text().map(str::to_owned),
            None => Some(default.to_owned()),
        };
        let block = |name: &str, default: &str| {
            let given = settings::member(target, "blocks", name);
            let empty = || Value::Map(Vec::new().into());
            let flag = |fail: bool| Value::map([("fail", Value::Bool(fail))]);
            let part = |key: &str| given.and_then(|given| given.member(key)).cloned();
            let kind = match given {
                Some(Value::Null) => None,
                Some(given) => given.member("type").and_then(Value::as_text).map(str::to_owned),
                None => Some(format!("{TYPES}{default}")),
            };
            let usual = part("content").or_else(|| part("content_ok"));
            Declared {
                kind,
                content: usual.unwrap_or_else(|| if default == "fail" { flag(false) } else { empty() }),
                failing: part("content_fail").unwrap_or_else(|| flag(true)),
                is_configured: given.is_some(),
            }
        };
        Self {
            assumed: role("assumed", ASSUMED),
            not_assumed: role("not_assumed", NOT_ASSUMED),
            known: block("known", "noop"),
            reinserting: block("reinserting", "reinsert"),
            failing: block("failing", "fail"),
        }
    }

    /// Whether a block is targeted at an intermediary: a block without role is not (E30).
    fn is_targeted(&self, block: &Value) -> bool {
        let role = block.member("role").and_then(Value::as_text);
        role.is_some_and(|role| role == NEXT || self.assumed.as_deref() == Some(role))
    }

    /// Whether the target may understand a type.
    fn may_understand(&self, kind: &str) -> bool {
        let declared = [&self.known, &self.reinserting, &self.failing];
        let is_ours = kind.strip_prefix(TYPES).is_some_and(|rest| !rest.starts_with("unknown:"));
        is_ours || declared.iter().any(|declared| declared.kind.as_deref() == Some(kind))
    }

    /// What must happen to a block at the intermediary.
    pub(super) fn fate(&self, block: &Value) -> Fate {
        let is = |name: &str| block.member(name) == Some(&Value::Bool(true));
        let kind = block.member("type").and_then(Value::as_text).unwrap_or_default();
        if !self.is_targeted(block) {
            return Fate::Stays;
        }
        if !self.may_understand(kind) {
            return if is("relay") { Fate::Stays } else { Fate::Goes };
        }
        let reinserts = self.reinserting.kind.as_deref() == Some(kind);
        match (reinserts, is("mustUnderstand"), is("relay")) {
            (true, true, _) => Fate::Stays,
            (false, true, _) | (false, false, false) => Fate::Goes,
            (true, false, true) => Fate::Stays,
            (true, false, false) | (false, false, true) => Fate::Open,
        }
    }

    /// Whether a fault for a block that was not understood may be due because of a block: it may be mandatory, and targeted at
    /// a node of any kind. `actors` are the roles that the Header names.
    pub(super) fn may_be_due(&self, block: &Value, actors: &[Value]) -> bool {
        // E49: nothing is understood of a block without a type.
        if block.member("type").is_none_or(|kind| kind.as_text().is_none()) {
            return true;
        }
        let mandatory = !matches!(block.member("mustUnderstand"), None | Some(Value::Bool(false)));
        let role = block.member("role").and_then(Value::as_text);
        let not_assumed = |role: &str| self.not_assumed.as_deref() == Some(role);
        // E05: a node may act in the roles that the Header names.
        let named = |role: &str| actors.iter().any(|actor| actor.as_text() == Some(role));
        mandatory && !role.is_some_and(|role| role == NONE || not_assumed(role) && !named(role))
    }
}

/// The mark by which a block of proofmark is found again: a member of its content.
pub(super) fn mark(block: &Value) -> Option<&str> {
    block.member("content")?.member("mark")?.as_text()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::TargetClass;
    use crate::wire::json;

    fn fate(text: &str) -> Fate {
        let target = Target::new(TargetClass::Endpoint, "t");
        Vocabulary::of(&target).fate(&json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn blocks_follow_the_forwarding_table() {
        let block = |kind: &str, role: &str, flags: &str| {
            fate(&format!(r#"{{"type":"urn:proofmark:mesh:block:{kind}","role":"{role}"{flags}}}"#))
        };
        const MANDATORY: &str = r#","mustUnderstand":true"#;
        const RELAYABLE: &str = r#","relay":true"#;
        for role in [NEXT, ASSUMED] {
            assert_eq!(block("noop", role, MANDATORY), Fate::Goes);
            assert_eq!(block("reinsert", role, MANDATORY), Fate::Stays);
            assert_eq!(block("noop", role, RELAYABLE), Fate::Open);
            assert_eq!(block("unknown:1", role, RELAYABLE), Fate::Stays);
            assert_eq!(block("unknown:1", role, ""), Fate::Goes);
        }
        for role in [NONE, ULTIMATE, NOT_ASSUMED] {
            assert_eq!(block("noop", role, MANDATORY), Fate::Stays);
        }
    }
}
