//! The settings of a target file (binding, section 10).

use std::net::{Ipv4Addr, SocketAddr};

use crate::exchange::TargetClass;
use crate::protocol::Setting;
use crate::target::{HostAddress, Target};
use crate::value::Value;

const fn any(name: &'static str, summary: &'static str, example: &'static str) -> Setting {
    Setting { name, summary, words: &[], example }
}

const fn one_of(
    name: &'static str,
    summary: &'static str,
    words: &'static [&'static str],
    example: &'static str,
) -> Setting {
    Setting { name, summary, words, example }
}

/// Where proofmark listens as the next hop if the target file does not say (binding, section 5.3).
pub(super) const NEXT_HOP: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 8931);

/// Every setting.
pub(super) const SETTINGS: &[Setting] = &[
    one_of(
        "intermediary",
        "What kind of intermediary it is: one that only forwards, or an active one, which is judged on ttl, messageId, \
        traceId and header blocks alone [default: forwarding].",
        &["forwarding", "active"],
        "active",
    ),
    any(
        "content_type",
        "The media type of the messages sent to it [default: application/amp+json, or application/json if that is \
        refused].",
        "application/json",
    ),
    any("fault_code_at", "The place of the code in its faults, before all others.", "/error/code"),
    any(
        "header_blocks_at",
        "The place of header blocks, or `none` for a target without them [default: found by calibration].",
        "/Envelope/Header/headers",
    ),
    any(
        "version",
        "How it detects the version: `detect` is `field` or `structure`, `at` the place, `unsupported` a version that it \
        does not support.",
        "{ detect: field, at: /Envelope/Header/version, unsupported: \"99.0\" }",
    ),
    any("augmentation_marks", "Further names of members that identify an added node or edge (E17).", "[via]"),
    any("memorygram_filter", "Whether it removes nodes and edges by a policy of its own [default: false].", "true"),
    any("nonce_at", "The place at which each message carries a random word.", "/Envelope/Body/context/proofmark"),
    any("node_uri", "The URI of the node.", "urn:proofmark:mesh:node:target"),
    any(
        "roles",
        "A user-defined role that it acts in, and one that it does not act in; null if it has none.",
        "{ assumed: \"urn:proofmark:mesh:role:assumed\", not_assumed: \"urn:proofmark:mesh:role:assumed:not\" }",
    ),
    any(
        "blocks",
        "Types of header blocks that it understands, each null if it has none: `known`, `reinserting` and `failing`.",
        "{ known: { type: \"urn:example:noop\", content: {} }, reinserting: null, failing: null }",
    ),
    any(
        "base",
        "Members that every message has, for a target that accepts certain tasks, intents or roles only: `header`, `body` \
        and `memorygram`, merged over the message of binding 1.1.",
        "{ header: { routingIntent: delegate }, body: { task: summarise } }",
    ),
    any(
        "accepted",
        "A body that it processes, and a part of its reply.",
        "{ body: { task: echo, expectedOutput: [echo], context: {} }, reply: { Envelope: { Body: { task: echo } } } }",
    ),
    any(
        "refused",
        "A well-formed body that it answers with a fault; `body: null` if it has none.",
        "{ body: { task: proofmark-refuse, expectedOutput: [none], context: {} } }",
    ),
];

/// The value at a place in a setting: `setting` is its name, `member` a name below it.
pub(super) fn member<'t>(target: &'t Target, setting: &str, member: &str) -> Option<&'t Value> {
    target.setting(setting)?.member(member)
}

/// The text at a place in a setting, or a default.
pub(super) fn text<'t>(target: &'t Target, setting: &str, name: &str, default: &'t str) -> &'t str {
    member(target, setting, name).and_then(Value::as_text).unwrap_or(default)
}

/// The text of a setting.
pub(super) fn word<'t>(target: &'t Target, setting: &str) -> Option<&'t str> {
    target.setting(setting).and_then(Value::as_text)
}

/// Whether it is configured as an active intermediary (binding, section 7).
pub(super) fn is_active(target: &Target) -> bool {
    word(target, "intermediary") == Some("active") || target.options.get("active") == Some(&true)
}

/// Whether the target has been told its next hop: by proofmark, which starts it, or by its owner, who says where proofmark listens.
/// The address that proofmark takes where nobody gave one says nothing of the target.
pub(super) fn knows_next_hop(target: &Target) -> bool {
    let is_given = |host: &HostAddress| host.announce.is_some() || host.listen != Some(SocketAddr::from(NEXT_HOP));
    let given = target.hosts.get("next-hop").is_some_and(is_given);
    given || target.launch.is_some() || target.class == TargetClass::Reference
}
