//! What is known of a target beyond its file: calibration (binding, section 5.3), and what a launched target is told
//! (section 5.2).

use std::net::SocketAddr;

use super::block::{Declared, Vocabulary};
use super::{hosting, message, settings};
use crate::exchange::{TargetClass, Transport};
use crate::protocol::{Known, TargetKnowledge};
use crate::target::{HostAddress, RouteOverride, Target};
use crate::value::Value;

/// The URI that the node is told to have.
pub(super) const NODE_URI: &str = "urn:proofmark:mesh:node:target";

/// The media types that calibration tries, in this order (E03).
const MEDIA_TYPES: [&str; 2] = ["application/amp+json", "application/json"];

/// The places of header blocks that calibration tries, with the captures that show what the target answered there (E01).
const PLACES: [(&str, &str); 3] = [
    ("/Envelope/Header/headers", "code_in_headers"),
    ("/Envelope/Header/headerBlocks", "code_in_header_blocks"),
    ("/Envelope/headers", "code_in_envelope"),
];

/// The places of header blocks that calibration tries.
pub(super) fn block_places() -> impl Iterator<Item = &'static str> {
    PLACES.iter().map(|(place, _)| *place)
}

/// Features that a target file declares at once with `declared-blocks`.
const DECLARED: &[&str] = &[
    "assumed-role",
    "relay-assumed-role",
    "known-block",
    "relay-known-block",
    "reinserting-block",
    "relay-reinserting-block",
    "failing-block",
    "relay-failing-block",
    "annotating-block",
    "augmenting-block",
    "redacting-block",
];

/// Facts about a node.
pub(super) struct Knowledge;

impl TargetKnowledge for Knowledge {
    fn complete(&self, target: &mut Target) {
        if target.options.get("declared-blocks") == Some(&true) {
            for feature in DECLARED {
                target.options.entry((*feature).to_owned()).or_insert(true);
            }
        }
        let vocabulary = Vocabulary::of(target);
        let mut declare = |feature: &str, configured: bool, has: bool| {
            if configured {
                target.options.entry(feature.to_owned()).or_insert(has);
                target.options.entry(format!("relay-{feature}")).or_insert(has);
            }
        };
        for (feature, declared) in [
            ("known-block", &vocabulary.known),
            ("reinserting-block", &vocabulary.reinserting),
            ("failing-block", &vocabulary.failing),
        ] {
            declare(feature, declared.is_configured, declared.kind.is_some());
        }
        let roles = settings::member(target, "roles", "assumed").map(|role| *role != Value::Null);
        if let Some(has) = roles {
            for feature in ["assumed-role", "relay-assumed-role"] {
                target.options.entry(feature.to_owned()).or_insert(has);
            }
        }
        let is_receiver = target.kinds.iter().any(|kind| kind == "receiver");
        // A target that runs already was told the address of its next hop before the run.
        let runs = target.class == TargetClass::Endpoint && target.launch.is_none() && target.url.is_some();
        if runs && !is_receiver && !target.hosts.contains_key(hosting::NEXT_HOP) {
            let listen = Some(SocketAddr::from(settings::NEXT_HOP));
            target.hosts.insert(hosting::NEXT_HOP.to_owned(), HostAddress { listen, announce: None });
        }
    }

    fn known_names(&self) -> &'static [&'static str] {
        &[
            "base_message",
            "base_body",
            "refused_body",
            "media_type",
            "blocks_at",
            "describes_blocks_at",
            "known_type",
            "known_content",
            "reinserting_type",
            "reinserting_content",
            "failing_type",
            "content_ok",
            "content_fail",
            "assumed_role",
            "not_assumed_role",
            "node_uri",
            "unsupported_version",
            "accepted_reply",
            "receiver_node",
            "relay_node",
        ]
    }

    fn known(&self, target: &Target, transport: Transport, captured: &Known) -> Known {
        let text = |name: &str| captured.get(name).and_then(Value::as_text);
        let place = PLACES.iter().find(|(_, capture)| text(capture) == Some("MustUnderstand")).map(|(place, _)| *place);
        let described = text("described_blocks_at").filter(|place| place.starts_with('/'));
        let describes_blocks_at = described.is_some();
        let blocks_at = described.or(place).unwrap_or(message::BLOCKS).to_owned();
        let vocabulary = Vocabulary::of(target);
        let base = message::base(target);
        let optional = |text: &Option<String>| text.as_ref().map_or(Value::Null, Value::text);
        let words = |name: &str, default: &str| Value::text(settings::word(target, name).unwrap_or(default));
        let version = settings::text(target, "version", "unsupported", "99.0");
        let mut known = Known::new();
        let mut put = |name: &str, value: Value| {
            known.insert(name.to_owned(), value);
        };
        put("base_body", message::at(&base, "/Envelope/Body").cloned().unwrap_or(Value::Null));
        put("base_message", base);
        put("refused_body", message::refused_body(target).unwrap_or(Value::Null));
        put("media_type", media_type(target, captured));
        put("known_type", optional(&vocabulary.known.kind));
        put("known_content", vocabulary.known.content.clone());
        put("reinserting_type", optional(&vocabulary.reinserting.kind));
        put("reinserting_content", vocabulary.reinserting.content.clone());
        put("failing_type", optional(&vocabulary.failing.kind));
        put("content_ok", vocabulary.failing.content.clone());
        put("content_fail", vocabulary.failing.failing.clone());
        put("assumed_role", optional(&vocabulary.assumed));
        put("not_assumed_role", optional(&vocabulary.not_assumed));
        put("node_uri", words("node_uri", NODE_URI));
        put("unsupported_version", Value::text(version));
        put("accepted_reply", settings::member(target, "accepted", "reply").cloned().unwrap_or(Value::Null));
        let graph = text("described_memorygram").unwrap_or("validates");
        for (name, kind) in [("receiver_node", "ultimateReceiver"), ("relay_node", "intermediary")] {
            put(name, node(target, &vocabulary, kind, &blocks_at, graph));
        }
        put("blocks_at", Value::text(blocks_at));
        put("describes_blocks_at", Value::Bool(describes_blocks_at));
        let _ = transport;
        known
    }

    fn route(&self, operation: &str, target: &Target) -> Option<RouteOverride> {
        // A chain is one target; its control interface may have an address of its own.
        let has_control = target.urls.contains_key("control");
        (operation == "deliveries" && has_control)
            .then(|| RouteOverride { base: Some("control".to_owned()), ..RouteOverride::default() })
    }
}

/// The media type of messages: the configured one, or the first that the target does not refuse.
fn media_type(target: &Target, captured: &Known) -> Value {
    match settings::word(target, "content_type") {
        Some(configured) if configured != "auto" => return Value::text(configured),
        _ => {}
    }
    let outcome = |name: &str| captured.get(name).and_then(Value::as_text);
    let takes = |name: &str| matches!(outcome(name), Some("accepted" | "forwarded"));
    let amp = takes("outcome_of_amp_json") || takes("outcome_of_amp_json_relayed");
    let plain = takes("outcome_of_json") || takes("outcome_of_json_relayed");
    Value::text(MEDIA_TYPES[usize::from(!amp && plain)])
}

/// The node object that a library is given with each call (binding, section 9).
fn node(target: &Target, vocabulary: &Vocabulary, kind: &str, blocks_at: &str, graph: &str) -> Value {
    let type_of = |declared: &Declared, behaviour: &str| {
        let kind = declared.kind.as_ref()?;
        Some(Value::map([("type", Value::text(kind)), ("behaviour", Value::text(behaviour))]))
    };
    let mut understands: Vec<Value> = [
        type_of(&vocabulary.known, "noop"),
        type_of(&vocabulary.reinserting, "reinsert"),
        type_of(&vocabulary.failing, "fail"),
    ]
    .into_iter()
    .flatten()
    .collect();
    understands.extend(["annotate", "augment", "redact"].map(|behaviour| {
        let kind = format!("urn:proofmark:mesh:block:{behaviour}");
        Value::map([("type", Value::text(kind)), ("behaviour", Value::text(behaviour))])
    }));
    let roles = vocabulary.assumed.iter().map(Value::text).collect();
    let uri = settings::word(target, "node_uri").unwrap_or(NODE_URI);
    Value::map([
        ("uri", Value::text(uri)),
        ("kind", Value::text(kind)),
        ("roles", Value::Array(roles)),
        ("understands", Value::Array(understands.into())),
        ("versions", Value::array([Value::text("1.0")])),
        ("memorygram", Value::text(graph)),
        ("header_blocks_at", Value::text(blocks_at)),
        ("tasks", Value::map([("echo", Value::text("accept")), ("proofmark-refuse", Value::text("refuse"))])),
    ])
}
