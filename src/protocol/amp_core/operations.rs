//! The operations of AMP: a message over any transport, the other requests of RFC 002, the actions on a connection, and
//! the methods of a library (binding, section 10).

use crate::protocol::{BodyPlan, ChannelPlan, Input, Method, Operation, Param, Route};

/// The media type of messages (RFC 002 section 6.1).
pub(super) const CBOR: &str = "application/cbor";

/// Where messages are submitted and polled (RFC 002 section 6.1).
pub(super) const MESSAGES: &str = "/amp/v1/messages";

/// Where WebSocket connections are taken, and their subprotocol (RFC 002 section 5.1).
pub(super) const WEBSOCKET: &str = "/amp/v1/ws";
pub(super) const SUBPROTOCOL: &str = "amp.v1";

/// Header fields of a message that is submitted (RFC 002 section 6.1).
const SUBMIT_HEADERS: &[(&str, &str)] =
    &[("accept", CBOR), ("content-type", CBOR), ("x-amp-transport-version", "1"), ("x-principal-did", "{principal}")];

/// Header fields of a poll (RFC 002 section 6.2, E74).
const POLL_HEADERS: &[(&str, &str)] =
    &[("accept", CBOR), ("x-amp-transport-version", "1"), ("x-principal-did", "{principal}")];

const OK: &[(u16, u16)] = &[(200, 299)];

const fn optional(name: &'static str) -> Input {
    Input { name, required: false, default: None }
}

const fn required(name: &'static str) -> Input {
    Input { name, required: true, default: None }
}

const fn default(name: &'static str, binding: &'static str) -> Input {
    Input { name, required: false, default: Some(binding) }
}

/// The party whose token a handshake carries.
pub(super) const WHO: Input = default("who", "actor");

/// The inputs that control how a message is signed and sealed.
const KEY: Input = default("key", "actor");
const SEAL: Input = optional("seal");
const SIGN: Input = optional("sign");
const PRINCIPAL: Input = optional("principal");
const NOW: Input = default("now", "now");
const NODE: Input = default("node", "node");
const SELF: Input = default("self", "self_keys");
const DOCUMENTS: Input = default("documents", "documents");
const RELAYS: Input = default("trusted_relays", "trusted_relays");

/// A method that only a library has.
const fn library(
    name: &'static str,
    summary: &'static str,
    inputs: &'static [Input],
    method: &'static str,
    params: &'static [(&'static str, Param)],
) -> Operation {
    Operation {
        name,
        summary,
        level: "",
        inputs,
        route: None,
        channel: None,
        tree: None,
        method: Some(Method { name: method, params }),
        accepted: OK,
    }
}

/// A move of a connection that stays open.
const fn channel(name: &'static str, summary: &'static str, inputs: &'static [Input], plan: ChannelPlan) -> Operation {
    Operation {
        name,
        summary,
        level: "",
        inputs,
        route: None,
        channel: Some(plan),
        tree: None,
        method: None,
        accepted: OK,
    }
}

/// A request that is not a message.
const fn request(name: &'static str, summary: &'static str, inputs: &'static [Input], route: Route) -> Operation {
    Operation {
        name,
        summary,
        level: "",
        inputs,
        route: Some(route),
        channel: None,
        tree: None,
        method: None,
        accepted: OK,
    }
}

const SUBMIT: Route = Route {
    base: None,
    method: "POST",
    path: MESSAGES,
    query: &[],
    headers: SUBMIT_HEADERS,
    body: BodyPlan::Input("message"),
    summons: false,
};

/// Every operation.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "submit",
        summary: "Sends a message; a library only reports whether it would accept it (sections 4 and 8).",
        level: "",
        inputs: &[required("message"), KEY, SEAL, SIGN, PRINCIPAL, NOW, SELF, DOCUMENTS, RELAYS, optional("original")],
        route: Some(SUBMIT),
        channel: Some(ChannelPlan::Message("message")),
        tree: None,
        method: Some(Method {
            name: "amp-core/receive",
            params: &[
                ("self", Param::Input("self")),
                ("message", Param::JsonHex("message")),
                ("now", Param::Input("now")),
                ("documents", Param::Input("documents")),
                ("trusted_relays", Param::Input("trusted_relays")),
                ("original", Param::Encoded("original")),
            ],
        }),
        accepted: OK,
    },
    Operation {
        name: "deliver",
        summary: "Sends a message to a node, which answers it and remembers it (sections 15 and 16).",
        level: "",
        inputs: &[required("message"), KEY, SEAL, SIGN, PRINCIPAL, NOW, NODE, optional("peer")],
        route: Some(SUBMIT),
        channel: Some(ChannelPlan::Message("message")),
        tree: None,
        method: Some(Method {
            name: "amp-core/node_receive",
            params: &[
                ("node", Param::Input("node")),
                ("message", Param::JsonHex("message")),
                ("now", Param::Input("now")),
                ("peer", Param::Input("peer")),
            ],
        }),
        accepted: OK,
    },
    request(
        "document",
        "Reads the DID document that the target publishes about itself (did:web).",
        &[],
        Route {
            base: None,
            method: "GET",
            path: "/.well-known/did.json",
            query: &[],
            headers: &[("accept", "application/did+json, application/json")],
            body: BodyPlan::None,
            summons: false,
        },
    ),
    request(
        "poll",
        "Fetches the messages that a relay stores for a recipient (RFC 002 section 6.2).",
        &[optional("cursor"), optional("limit"), default("principal", "own_did")],
        Route {
            base: None,
            method: "GET",
            path: MESSAGES,
            query: &[("cursor", "{cursor}"), ("limit", "{limit}")],
            headers: POLL_HEADERS,
            body: BodyPlan::None,
            summons: false,
        },
    ),
    request(
        "forward",
        "Hands a message from one relay to another (RFC 002 section 6.5).",
        &[required("wrapper")],
        Route {
            base: None,
            method: "POST",
            path: "/amp/v1/relay/forward",
            query: &[],
            headers: &[("accept", CBOR), ("content-type", CBOR), ("x-amp-transport-version", "1")],
            body: BodyPlan::Input("wrapper"),
            summons: false,
        },
    ),
    request(
        "commit",
        "Commits a message forwarded from one relay to another (RFC 002 section 6.6).",
        &[required("wrapper")],
        Route {
            base: None,
            method: "POST",
            path: "/amp/v1/relay/commit",
            query: &[],
            headers: &[("accept", CBOR), ("content-type", CBOR), ("x-amp-transport-version", "1")],
            body: BodyPlan::Input("wrapper"),
            summons: false,
        },
    ),
    request(
        "control",
        "Controls a test target: makes it send, sets its clock or adds documents (binding, section 11).",
        &[required("command")],
        Route {
            base: None,
            method: "POST",
            path: "/amp/v1/control",
            query: &[],
            headers: &[("accept", "application/json")],
            body: BodyPlan::Text("command", "application/json"),
            summons: false,
        },
    ),
    request(
        "summon",
        "Makes the target send a message to proofmark, and receives it (binding, section 9).",
        &[required("command"), default("via", "via_http"), default("peer", "peer_accept"), optional("held")],
        Route {
            base: None,
            method: "POST",
            path: "/amp/v1/control",
            query: &[],
            headers: &[("accept", "application/json")],
            body: BodyPlan::Text("command", "application/json"),
            summons: true,
        },
    ),
    channel(
        "open",
        "Opens a connection, replacing an existing one.",
        &[optional("path"), optional("protocols")],
        ChannelPlan::Open,
    ),
    channel(
        "frame",
        "Sends a frame: with this type over TCP, with this opcode over WebSocket.",
        &[required("kind"), optional("payload")],
        ChannelPlan::Frame("kind", "payload"),
    ),
    channel("raw", "Sends bytes as they are.", &[required("data")], ChannelPlan::Raw("data")),
    channel("listen", "Waits for messages.", &[], ChannelPlan::Listen),
    channel(
        "hang-up",
        "Closes the connection: with a code, or `half`, or `reset`.",
        &[optional("how")],
        ChannelPlan::Close,
    ),
    channel(
        "handshake",
        "Opens a TCP connection with the transport handshake (RFC 002 section 4.4).",
        &[default("body", "handshake_body"), default("kind", "handshake_kind"), WHO],
        ChannelPlan::Frame("kind", "body"),
    ),
    library("describe", "Returns the identity and the capabilities of a library.", &[], "amp-core/describe", &[]),
    library(
        "public-key",
        "The Ed25519 public key of a seed.",
        &[required("seed")],
        "amp-core/public_key",
        &[("seed", Param::Input("seed"))],
    ),
    library(
        "x25519-public",
        "The X25519 public key of a private key.",
        &[required("private_key")],
        "amp-core/x25519_public",
        &[("private_key", Param::Input("private_key"))],
    ),
    library(
        "x25519-derive",
        "The X25519 key pair that belongs to an Ed25519 seed.",
        &[required("ed25519_seed")],
        "amp-core/x25519_derive",
        &[("ed25519_seed", Param::Input("ed25519_seed"))],
    ),
    library(
        "encode-deterministic",
        "Writes CBOR in deterministic encoding (section 8.1).",
        &[required("cbor")],
        "amp-core/encode_deterministic",
        &[("cbor", Param::Encoded("cbor"))],
    ),
    library(
        "sig-input",
        "The bytes that the signature of a message is over (section 8.1).",
        &[optional("message"), optional("headers"), optional("body"), KEY, SEAL, SIGN],
        "amp-core/sig_input",
        &[
            ("message", Param::JsonHex("message")),
            ("headers", Param::Input("headers")),
            ("body", Param::Encoded("body")),
        ],
    ),
    library(
        "sign",
        "Signs bytes.",
        &[required("seed"), required("data")],
        "amp-core/sign",
        &[("seed", Param::Input("seed")), ("data", Param::Input("data"))],
    ),
    library(
        "verify",
        "Verifies a signature over bytes.",
        &[required("public_key"), required("data"), required("sig")],
        "amp-core/verify",
        &[("public_key", Param::Input("public_key")), ("data", Param::Input("data")), ("sig", Param::Input("sig"))],
    ),
    library(
        "make-id",
        "Makes message ids (section 4.2).",
        &[required("ts"), optional("random"), optional("count")],
        "amp-core/make_id",
        &[("ts", Param::Input("ts")), ("random", Param::Input("random")), ("count", Param::Input("count"))],
    ),
    library(
        "build-plain",
        "Builds a message with a plain body.",
        &[default("sender", "self_keys"), required("headers"), optional("body"), optional("ext")],
        "amp-core/build_plain",
        &[
            ("sender", Param::Input("sender")),
            ("headers", Param::Input("headers")),
            ("body", Param::Encoded("body")),
            ("ext", Param::Encoded("ext")),
        ],
    ),
    library(
        "build-encrypted",
        "Builds a message with an encrypted body (section 8.5).",
        &[
            default("sender", "self_keys"),
            required("recipient_document"),
            required("headers"),
            optional("body"),
            optional("nonce"),
        ],
        "amp-core/build_encrypted",
        &[
            ("sender", Param::Input("sender")),
            ("recipient_document", Param::Input("recipient_document")),
            ("headers", Param::Input("headers")),
            ("body", Param::Encoded("body")),
            ("nonce", Param::Input("nonce")),
        ],
    ),
    library(
        "box-open",
        "Opens a NaCl box (section 8.5.1).",
        &[required("private_key"), required("public_key"), required("nonce"), required("ciphertext")],
        "amp-core/box_open",
        &[
            ("private_key", Param::Input("private_key")),
            ("public_key", Param::Input("public_key")),
            ("nonce", Param::Input("nonce")),
            ("ciphertext", Param::Input("ciphertext")),
        ],
    ),
    library(
        "receive",
        "Decides whether a message, given as bytes, is acceptable; used by vectors.",
        &[required("message"), SELF, NOW, DOCUMENTS, RELAYS, optional("original")],
        "amp-core/receive",
        &[
            ("self", Param::Input("self")),
            ("message", Param::Encoded("message")),
            ("now", Param::Input("now")),
            ("documents", Param::Input("documents")),
            ("trusted_relays", Param::Input("trusted_relays")),
            ("original", Param::Encoded("original")),
        ],
    ),
    library(
        "select-key",
        "Selects a key of a DID document (section 8.9).",
        &[required("document"), required("did"), required("purpose")],
        "amp-core/select_key",
        &[("document", Param::Input("document")), ("did", Param::Input("did")), ("purpose", Param::Input("purpose"))],
    ),
    library(
        "node-open",
        "Opens a node with an empty state.",
        &[SELF, DOCUMENTS, RELAYS, NOW, default("supported_versions", "versions"), optional("options")],
        "amp-core/node_open",
        &[
            ("self", Param::Input("self")),
            ("documents", Param::Input("documents")),
            ("trusted_relays", Param::Input("trusted_relays")),
            ("now", Param::Input("now")),
            ("supported_versions", Param::Input("supported_versions")),
            ("options", Param::Input("options")),
        ],
    ),
    library(
        "node-send",
        "Has a node send a message.",
        &[NODE, required("to"), required("typ"), optional("body"), required("ttl"), NOW, optional("encrypt")],
        "amp-core/node_send",
        &[
            ("node", Param::Input("node")),
            ("to", Param::Input("to")),
            ("typ", Param::Input("typ")),
            ("body", Param::Encoded("body")),
            ("ttl", Param::Input("ttl")),
            ("now", Param::Input("now")),
            ("encrypt", Param::Input("encrypt")),
        ],
    ),
    library(
        "node-tick",
        "Passes the current time to a node, so that it runs what is due.",
        &[NODE, NOW],
        "amp-core/node_tick",
        &[("node", Param::Input("node")), ("now", Param::Input("now"))],
    ),
    library("node-close", "Closes a node.", &[NODE], "amp-core/node_close", &[("node", Param::Input("node"))]),
    library(
        "validate-ack",
        "Evaluates an ACK for the sender of a message (section 16.1).",
        &[required("ack"), required("original"), KEY, DOCUMENTS, RELAYS, NOW],
        "amp-core/validate_ack",
        &[
            ("ack", Param::JsonHex("ack")),
            ("original", Param::Encoded("original")),
            ("documents", Param::Input("documents")),
            ("trusted_relays", Param::Input("trusted_relays")),
            ("now", Param::Input("now")),
        ],
    ),
    library(
        "retry-delay",
        "Returns the delay before a message is sent again (section 16.3).",
        &[required("attempt"), optional("random"), optional("last"), optional("ttl_left_ms")],
        "amp-core/retry_delay",
        &[
            ("attempt", Param::Input("attempt")),
            ("random", Param::Input("random")),
            ("last", Param::Input("last")),
            ("ttl_left_ms", Param::Input("ttl_left_ms")),
        ],
    ),
    library(
        "error-info",
        "Name, category and advice of an error code (section 15.3).",
        &[required("code")],
        "amp-core/error_info",
        &[("code", Param::Input("code"))],
    ),
    library(
        "error-build",
        "Builds an ERROR message (section 15.1).",
        &[
            default("sender", "self_keys"),
            required("reply_to"),
            required("to"),
            required("code"),
            NOW,
            optional("details"),
        ],
        "amp-core/error_build",
        &[
            ("sender", Param::Input("sender")),
            ("reply_to", Param::Input("reply_to")),
            ("to", Param::Input("to")),
            ("code", Param::Input("code")),
            ("now", Param::Input("now")),
            ("details", Param::Encoded("details")),
        ],
    ),
    library(
        "type-info",
        "The name of a type code (section 4.3).",
        &[required("typ")],
        "amp-core/type_info",
        &[("typ", Param::Input("typ"))],
    ),
    library(
        "type-code",
        "The code of a type (section 4.3).",
        &[required("name")],
        "amp-core/type_code",
        &[("name", Param::Input("name"))],
    ),
    library(
        "major",
        "The major of a version (section 13.1).",
        &[required("version")],
        "amp-core/major",
        &[("version", Param::Input("version"))],
    ),
    library(
        "select-version",
        "Selects one of the offered versions (section 13.5).",
        &[required("supported"), required("offered")],
        "amp-core/select_version",
        &[("supported", Param::Input("supported")), ("offered", Param::Input("offered"))],
    ),
    library(
        "negotiation-open",
        "Opens a negotiation (section 13.5).",
        &[required("role"), required("supported")],
        "amp-core/negotiation_open",
        &[("role", Param::Input("role")), ("supported", Param::Input("supported"))],
    ),
    library(
        "negotiation-event",
        "Takes a step of a negotiation (section 13.5).",
        &[required("negotiation"), required("event"), optional("data")],
        "amp-core/negotiation_event",
        &[
            ("negotiation", Param::Input("negotiation")),
            ("event", Param::Input("event")),
            ("data", Param::Encoded("data")),
        ],
    ),
    library(
        "stream-open",
        "Opens a stream that is received (section 6.2).",
        &[required("sender"), required("start")],
        "amp-core/stream_open",
        &[("sender", Param::Input("sender")), ("start", Param::Encoded("start"))],
    ),
    library(
        "stream-chunk",
        "Takes a chunk of a stream.",
        &[required("stream"), required("index"), required("data")],
        "amp-core/stream_chunk",
        &[("stream", Param::Input("stream")), ("index", Param::Input("index")), ("data", Param::Input("data"))],
    ),
    library(
        "stream-end",
        "Ends a stream that is received.",
        &[required("stream"), required("hash")],
        "amp-core/stream_end",
        &[("stream", Param::Input("stream")), ("hash", Param::Input("hash"))],
    ),
    library(
        "stream-sender-open",
        "Opens a stream that is sent (section 6.3).",
        &[
            required("stream_id"),
            required("data"),
            required("chunk_size"),
            required("filename"),
            required("content_type"),
        ],
        "amp-core/stream_sender_open",
        &[
            ("stream_id", Param::Input("stream_id")),
            ("data", Param::Input("data")),
            ("chunk_size", Param::Input("chunk_size")),
            ("filename", Param::Input("filename")),
            ("content_type", Param::Input("content_type")),
        ],
    ),
    library(
        "stream-sender-event",
        "Takes a step of a stream that is sent.",
        &[required("stream"), required("event"), optional("data")],
        "amp-core/stream_sender_event",
        &[("stream", Param::Input("stream")), ("event", Param::Input("event")), ("data", Param::Encoded("data"))],
    ),
    library(
        "batch-split",
        "Splits the body of a BATCH (section 4.5).",
        &[required("body")],
        "amp-core/batch_split",
        &[("body", Param::Encoded("body"))],
    ),
    library(
        "frame-encode",
        "Writes a frame (RFC 002 section 4.2).",
        &[required("type"), required("payload")],
        "amp-core/frame_encode",
        &[("type", Param::Input("type")), ("payload", Param::Encoded("payload"))],
    ),
    library(
        "frame-decode",
        "Reads frames (RFC 002 section 4.2).",
        &[required("data"), optional("max_size")],
        "amp-core/frame_decode",
        &[("data", Param::Input("data")), ("max_size", Param::Input("max_size"))],
    ),
    library(
        "wrapper-decode",
        "Reads what messages are wrapped in (RFC 002 sections 6.2 to 6.6).",
        &[required("kind"), required("cbor")],
        "amp-core/wrapper_decode",
        &[("kind", Param::Input("kind")), ("cbor", Param::Encoded("cbor"))],
    ),
];
