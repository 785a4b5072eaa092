//! The methods of a library behind an adapter, with their types (binding, section 9).

use crate::protocol::{Library, NamedShape, Signature};

const fn method(method: &'static str, params: &'static str, result: &'static str, note: &'static str) -> Signature {
    Signature { method, params, result, varies: false, note }
}

const fn varies(method: &'static str, params: &'static str, result: &'static str, note: &'static str) -> Signature {
    Signature { method, params, result, varies: true, note }
}

/// Everything that an author of an adapter has to know.
#[rustfmt::skip]
pub(super) const LIBRARY: Library = Library {
    conventions: "Messages, parts of messages and MemoryGrams are UTF-8 text in hex, so that malformed input, spellings of numbers and duplicate \
        members reach your library as they are. Processing keeps nothing from call to call: each call has the node that it is about.\n\n\
        A fault is a result, not an error of JSON-RPC.",
    types: &[
        NamedShape { name: "Node", shape: "{ uri: string, kind: \"ultimateReceiver\" | \"intermediary\", roles: string[], understands: Block[], versions: string[], memorygram: \"validates\" | \"ignores\", header_blocks_at: string, tasks: object }", about: "The node that the call is about. `header_blocks_at` is a JSON Pointer; `tasks` says for each task whether the node accepts or refuses it (`accept`, `refuse`)." },
        NamedShape { name: "Block", shape: "{ type: string, behaviour: \"noop\" | \"reinsert\" | \"fail\" | \"annotate\" | \"augment\" | \"redact\" }", about: "A type of header block that the node understands, and what it does with one." },
        NamedShape { name: "Fault", shape: "{ code: string, reason: string, message_hex?: hex | null }", about: "A fault; `message_hex` is the fault as a message." },
        NamedShape { name: "HeaderBlock", shape: "{ index: integer, type: string | null, role?: string | null, must_understand: boolean, relay: boolean }", about: "A header block, by its position in the message." },
    ],
    methods: &[
        method("agentic-mesh/describe", "{ node?: Node }", "{ name: string, version: string, node_uri: string | null, envelope_versions: string[], header_blocks_at: string | null, fault_code_at: string | null, memorygram: \"validates\" | \"ignores\", methods: string[] }", ""),
        method("agentic-mesh/parse", "{ message_hex: hex, node: Node }", "{ ok: true, version: string, header_hex: hex, body_hex: hex | null, memorygram_hex: hex | null, blocks: HeaderBlock[] } | { ok: false, fault: Fault }", ""),
        varies("agentic-mesh/process", "{ message_hex: hex, node: Node }", "{ outcome: \"delivered\" | \"forwarded\" | \"fault\", faults: Fault[], forwarded_hex: hex[], reply_hex: hex | null, roles: string[], processed_blocks: integer[], body_processed: boolean, memorygram_used: boolean, ttl_after: integer | null }", "`forwarded_hex` are the messages that the node sends on, `reply_hex` is the one that it sends back."),
        method("agentic-mesh/target", "{ message_hex: hex, node: Node }", "{ targeted: integer[], mandatory: integer[], not_understood: integer[] }", "Positions of header blocks."),
        method("agentic-mesh/forward", "{ message_hex: hex, node: Node, processed: integer[], reinserted: { index: integer, block_hex: hex }[] }", "{ message_hex: hex }", "Only the construction of the message that is sent on."),
        varies("agentic-mesh/build", "{ header?: object, body?: any, memorygram?: object, blocks?: object[], node: Node }", "{ message_hex: hex }", "The library makes up a missing messageId and traceId."),
        varies("agentic-mesh/fault", "{ code: string, reason: string, inbound_hex?: hex | null, node: Node }", "{ message_hex: hex }", ""),
        method("agentic-mesh/read_fault", "{ message_hex: hex }", "{ is_fault: boolean, code: string | null }", ""),
        method("agentic-mesh/memorygram_check", "{ memorygram_hex: hex }", "{ valid: boolean, code: string | null }", ""),
        varies("agentic-mesh/memorygram_annotate", "{ memorygram_hex: hex, node_uri: string, ids: string[] }", "{ memorygram_hex: hex }", ""),
        method("agentic-mesh/memorygram_augment", "{ memorygram_hex: hex, node_uri: string, nodes: object[], edges: object[] }", "{ memorygram_hex: hex }", ""),
        method("agentic-mesh/memorygram_filter", "{ memorygram_hex: hex, drop: string[] }", "{ memorygram_hex: hex }", ""),
        varies("agentic-mesh/encrypt_field", "{ message_hex: hex, pointer: string, encrypted_for: string }", "{ message_hex: hex }", "`pointer` is a JSON Pointer into the message."),
        varies("agentic-mesh/encrypt_section", "{ message_hex: hex, encrypted_for: string }", "{ message_hex: hex }", ""),
    ],
    errors: &[
        (-32000, "the adapter itself failed; the case fails"),
        (-32001, "the library cannot be this node; the case is skipped, and the message is the reason"),
    ],
    minimal: &["agentic-mesh/process"],
    minimal_because: "It is enough for every requirement that binds libraries and endpoints alike.",
    conversation: include_str!("examples.jsonl"),
};
