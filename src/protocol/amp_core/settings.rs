//! The settings of a target file for AMP (binding, section 2).

use crate::protocol::Setting;

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

/// Every setting.
pub(super) const SETTINGS: &[Setting] = &[
    any(
        "did",
        "Its DID; that of the document which it publishes under /.well-known/did.json if left out. A did:web with a path has its document below that path.",
        "did:web:agent.example.com",
    ),
    any(
        "did_document",
        "Its DID document, or `{ file: PATH }` relative to the target file [default: the published document, or that \
        of its did:key].",
        "{ file: did.json }",
    ),
    one_of(
        "identities",
        "How it can resolve proofmark: by did:key, which needs no setup, or by did:web below `did_web_base`.",
        &["did:key", "did:web"],
        "did:key",
    ),
    any(
        "did_web_base",
        "Host and port under which the documents of proofmark's identities are published.",
        "\"fixtures.example.com:8443\"",
    ),
    any(
        "trusted_relays",
        "The DIDs of relays that it trusts (E44).",
        "[did:key:z6MkuvE4Yjdes9VPdRABSofzormCDtvQpPhLuwoozwz7wzVc]",
    ),
    any("hello_versions", "The versions that HELLO offers it (E50).", "[\"1.0\", \"1.0.0\"]"),
    any("versions", "The majors that it supports.", "[1]"),
    one_of(
        "reply",
        "Where its answers over HTTP arrive: in the response, by polling, or either.",
        &["auto", "response", "poll"],
        "auto",
    ),
    one_of(
        "ack",
        "How it acknowledges a message: by ACK, by the answer itself, or only by the HTTP status (E42).",
        &["explicit", "implicit", "transport"],
        "explicit",
    ),
    one_of(
        "errors",
        "How it reports errors: by ERROR messages, or only by the HTTP status (E32).",
        &["message", "transport"],
        "message",
    ),
    any("max_clock_skew_ms", "How far ahead of its clock a message may be, in milliseconds (section 8.3).", "30000"),
    any(
        "max_message",
        "The bytes of the longest message that it takes; cases about that need the option `maximum`.",
        "1048576",
    ),
    any("probe_request", "The body of a REQUEST that it answers (E40).", "{ op: echo, data: proofmark }"),
    any(
        "slow_request",
        "The body of a REQUEST on which it works longer than it may; cases about that need the option `slow-requests` or \
        `limited-requests`.",
        "{ op: slow, ms: 60000 }",
    ),
    any(
        "unavailable_request",
        "The body of a REQUEST for an operation that is out of service; cases about that need the option \
        `unavailable-requests`.",
        "{ op: archive }",
    ),
    any("capability", "The name of a capability that it offers to every party (RFC 004).", "org.agentries.echo"),
    one_of("frames", "Whether frames over TCP have a type byte (RFC 002 section 4.2).", &["typed", "bare"], "typed"),
    any("ws_path", "The path of its WebSocket endpoint below the URL.", "/amp/v1/ws"),
];
