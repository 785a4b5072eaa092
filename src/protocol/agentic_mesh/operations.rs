//! The operations: messages to a receiver and through a relay (binding, sections 2 and 5), and the methods of a library
//! (binding, section 9).

use crate::protocol::{BodyPlan, Input, Method, Operation, Param, Route};

/// The operation that sends a message to the ultimate receiver.
pub(super) const DELIVER: &str = "deliver";
/// The operation that sends a message through the relay.
pub(super) const RELAY: &str = "relay";
/// The same, where every copy counts.
pub(super) const WATCH: &str = "relay-watched";
/// The operation that sends a message to a hop of a chain.
pub(super) const CHAIN: &str = "chain";

/// Whether the body of an operation is a message to a node.
pub(super) fn carries_message(operation: &str) -> bool {
    [DELIVER, RELAY, WATCH, CHAIN].contains(&operation)
}

/// Whether an operation addresses an intermediary.
pub(super) fn goes_through_relay(operation: &str) -> bool {
    [RELAY, WATCH, CHAIN].contains(&operation)
}

/// The operation of a name.
pub(super) fn find(name: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.name == name)
}

const fn required(name: &'static str) -> Input {
    Input { name, required: true, default: None }
}

const fn optional(name: &'static str) -> Input {
    Input { name, required: false, default: None }
}

const fn bound(name: &'static str, binding: &'static str) -> Input {
    Input { name, required: false, default: Some(binding) }
}

const fn post(path: &'static str) -> Option<Route> {
    Some(Route {
        base: None,
        method: "POST",
        path,
        query: &[],
        headers: &[("content-type", "{media_type}"), ("accept", "application/amp+json, application/json")],
        body: BodyPlan::Input("message"),
        summons: false,
    })
}

const SUCCESS: &[(u16, u16)] = &[(200, 299)];

/// The method that processes a message.
const PROCESS: Method = Method {
    name: "agentic-mesh/process",
    params: &[("message_hex", Param::JsonHex("message")), ("node", Param::Input("node"))],
};

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
        accepted: SUCCESS,
    }
}

/// Every operation.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: DELIVER,
        summary: "Sends a message to the node as ultimate receiver.",
        level: "",
        inputs: &[
            required("message"),
            bound("media_type", "media_type"),
            bound("node", "receiver_node"),
            optional("pace_ms"),
        ],
        route: post("/amp"),
        channel: None,
        tree: None,
        method: Some(PROCESS),
        accepted: SUCCESS,
    },
    Operation {
        name: RELAY,
        summary: "Sends a message through the node as intermediary; the first copy at the next hop belongs to its exchange.",
        level: "",
        inputs: &[
            required("message"),
            bound("media_type", "media_type"),
            bound("node", "relay_node"),
            optional("pace_ms"),
        ],
        route: post("/amp/relay"),
        channel: None,
        tree: None,
        method: Some(PROCESS),
        accepted: SUCCESS,
    },
    Operation {
        name: WATCH,
        summary: "As `relay`, and waits for a later message of proofmark at the next hop, so that every copy is seen.",
        level: "",
        inputs: &[required("message"), bound("media_type", "media_type"), bound("node", "relay_node")],
        route: post("/amp/relay"),
        channel: None,
        tree: None,
        method: Some(PROCESS),
        accepted: SUCCESS,
    },
    Operation {
        name: CHAIN,
        summary: "Sends a message to a hop of a chain of relays (binding, section 8).",
        level: "",
        inputs: &[required("message"), required("hop"), bound("media_type", "media_type")],
        route: post("/amp/chain/{hop}"),
        channel: None,
        tree: None,
        method: None,
        accepted: SUCCESS,
    },
    Operation {
        name: "deliveries",
        summary: "Reads the delivery log of the node (binding, section 5.4).",
        level: "",
        inputs: &[],
        route: Some(Route {
            base: Some("control"),
            method: "GET",
            path: "/control/deliveries",
            query: &[],
            headers: &[],
            body: BodyPlan::None,
            summons: false,
        }),
        channel: None,
        tree: None,
        method: None,
        accepted: SUCCESS,
    },
    library(
        "describe",
        "Asks a library for its name, its node URI and what it supports.",
        &[],
        "agentic-mesh/describe",
        &[],
    ),
    library(
        "parse",
        "Reads a message into its components and header blocks.",
        &[required("message"), bound("node", "receiver_node")],
        "agentic-mesh/parse",
        &[("message_hex", Param::JsonHex("message")), ("node", Param::Input("node"))],
    ),
    library(
        "target",
        "Says which header blocks are targeted at a node, mandatory, and not understood.",
        &[required("message"), bound("node", "relay_node")],
        "agentic-mesh/target",
        &[("message_hex", Param::JsonHex("message")), ("node", Param::Input("node"))],
    ),
    library(
        "forward",
        "Builds the forwarded message, given which blocks were processed and which are reinserted.",
        &[required("message"), bound("node", "relay_node"), required("processed"), required("reinserted")],
        "agentic-mesh/forward",
        &[
            ("message_hex", Param::JsonHex("message")),
            ("node", Param::Input("node")),
            ("processed", Param::Input("processed")),
            ("reinserted", Param::Input("reinserted")),
        ],
    ),
    library(
        "build",
        "Builds a message; missing ids are made up.",
        &[
            optional("header"),
            optional("body"),
            optional("memorygram"),
            optional("blocks"),
            bound("node", "receiver_node"),
        ],
        "agentic-mesh/build",
        &[
            ("header", Param::Input("header")),
            ("body", Param::Input("body")),
            ("memorygram", Param::Input("memorygram")),
            ("blocks", Param::Input("blocks")),
            ("node", Param::Input("node")),
        ],
    ),
    library(
        "fault",
        "Builds a fault, as the answer to a message or alone.",
        &[required("code"), required("reason"), optional("inbound_hex"), bound("node", "receiver_node")],
        "agentic-mesh/fault",
        &[
            ("code", Param::Input("code")),
            ("reason", Param::Input("reason")),
            ("inbound_hex", Param::Input("inbound_hex")),
            ("node", Param::Input("node")),
        ],
    ),
    library(
        "read-fault",
        "Says whether a message is a fault, and its code.",
        &[required("message")],
        "agentic-mesh/read_fault",
        &[("message_hex", Param::JsonHex("message"))],
    ),
    library(
        "memorygram-check",
        "Checks the content of a MemoryGram.",
        &[required("memorygram")],
        "agentic-mesh/memorygram_check",
        &[("memorygram_hex", Param::JsonHex("memorygram"))],
    ),
    library(
        "memorygram-annotate",
        "Adds the processing history of a node to nodes of a MemoryGram.",
        &[required("memorygram"), required("node_uri"), required("ids")],
        "agentic-mesh/memorygram_annotate",
        &[
            ("memorygram_hex", Param::JsonHex("memorygram")),
            ("node_uri", Param::Input("node_uri")),
            ("ids", Param::Input("ids")),
        ],
    ),
    library(
        "memorygram-augment",
        "Adds nodes and edges to a MemoryGram.",
        &[required("memorygram"), required("node_uri"), required("nodes"), required("edges")],
        "agentic-mesh/memorygram_augment",
        &[
            ("memorygram_hex", Param::JsonHex("memorygram")),
            ("node_uri", Param::Input("node_uri")),
            ("nodes", Param::Input("nodes")),
            ("edges", Param::Input("edges")),
        ],
    ),
    library(
        "memorygram-filter",
        "Removes nodes from a MemoryGram.",
        &[required("memorygram"), required("drop")],
        "agentic-mesh/memorygram_filter",
        &[("memorygram_hex", Param::JsonHex("memorygram")), ("drop", Param::Input("drop"))],
    ),
    library(
        "encrypt-field",
        "Encrypts one member of a message for a party.",
        &[required("message"), required("pointer"), required("encrypted_for")],
        "agentic-mesh/encrypt_field",
        &[
            ("message_hex", Param::JsonHex("message")),
            ("pointer", Param::Input("pointer")),
            ("encrypted_for", Param::Input("encrypted_for")),
        ],
    ),
    library(
        "encrypt-section",
        "Encrypts the MemoryGram of a message for a party.",
        &[required("message"), required("encrypted_for")],
        "agentic-mesh/encrypt_section",
        &[("message_hex", Param::JsonHex("message")), ("encrypted_for", Param::Input("encrypted_for"))],
    ),
];
