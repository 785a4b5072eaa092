//! The methods of a library behind an adapter, with their types (binding, section 11).

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
    conventions: "`raw` is a message as UTF-8 text in hex, so that malformed JSON reaches your library as it is. Envelopes, agents, capabilities and \
        contexts are JSON objects, as the specification writes them. A library keeps its state between calls; each case uses names of its own.\n\n\
        `meshai/handle` may answer a message that is refused with an error envelope in `raw` or with the error -32001.",
    types: &[
        NamedShape { name: "Checked", shape: "{ valid: boolean, problems: { path: string, reason: string }[] }", about: "The result of a check: each problem with its place." },
        NamedShape { name: "Outcome", shape: "{ status: string, result?: any, error?: any }", about: "What a call of a capability came to." },
        NamedShape { name: "Behaviour", shape: "{ kind: \"fixed\" | \"echo\" | \"sleep\" | \"fail\" | \"exhaust\", result?: any, ms?: integer }", about: "What a capability does: answers `result`, answers its parameters, answers after `ms`, fails, or is out of resources." },
        NamedShape { name: "Fields", shape: "object", about: "Members of a message by their names in the specification, and for replies `request_raw`, `status`, `result`, `code`, `message` and `details`. The library fills in `protocol`, `id` and `timestamp`." },
    ],
    methods: &[
        method("meshai/info", "{}", "{ name: string, version: string, roles: string[], protocols: string[], transports: string[], auth: string[], canonical?: string | null, encoding?: string | null, features: string[], operations: string[] }", ""),
        method("meshai/set_clock", "{ now: string }", "{}", ""),
        method("meshai/define_capability", "{ capability: object, behaviour: Behaviour }", "{}", ""),
        method("meshai/parse", "{ raw: hex }", "{ envelope: object }", ""),
        method("meshai/encode", "{ envelope: object }", "{ raw: hex }", ""),
        varies("meshai/build", "{ kind: \"request\" | \"response\" | \"error\" | \"event\" | \"context_update\" | \"registration\" | \"discovery\" | \"negotiation\" | \"delegation\", fields: Fields }", "{ raw: hex }", ""),
        varies("meshai/handle", "{ raw: hex, transport?: string, authorization?: string }", "{ raw: hex | null, http_status?: integer }", "`raw` is the reply, null if there is none."),
        method("meshai/outbox", "{}", "{ sent: { to: string, raw: hex }[] }", "What the library sent since the last call: callbacks and forwarded messages."),
        method("meshai/validate_identity", "{ agent: object }", "Checked", ""),
        method("meshai/validate_capability", "{ capability: object, strict?: boolean }", "Checked", ""),
        method("meshai/validate_context", "{ context: object }", "Checked", ""),
        method("meshai/taxonomy", "{}", "{ groups: object }", "A list of capability ids for each name of a group."),
        method("meshai/error_codes", "{}", "{ codes: string[] }", ""),
        method("meshai/match", "{ query: object, agents: { agent: object, capabilities: object[] }[] }", "{ ids: string[] }", "In any order."),
        varies("meshai/context", "{ op: \"create\" | \"get\" | \"update\" | \"merge\" | \"fork\", agent_id: string, parameters: object }", "{ context: object }", ""),
        method("meshai/canonical", "{ envelope: object }", "{ bytes: hex }", "The bytes that a signature is over."),
        method("meshai/sign", "{ raw: hex, key: hex }", "{ raw: hex }", ""),
        method("meshai/verify", "{ raw: hex, key: hex }", "{ valid: boolean, reason?: string }", ""),
        method("meshai/make_jwt", "{ claims: object, key: hex }", "{ token: string }", ""),
        method("meshai/check_jwt", "{ token: string, key: hex, now?: string }", "{ valid: boolean, claims?: object, reason?: string }", ""),
        method("meshai/negotiate_version", "{ offered: string[] }", "{ agreed: string | null }", ""),
        varies("meshai/participate", "{ registry_answer: \"success\" | \"error\", requests: Fields[] }", "{ sent: hex[] }", "In the order of sending."),
        method("meshai/invoke", "{ mode: \"sync\" | \"async\", fields: Fields, peer_reply: hex, delay_ms?: integer }", "{ outcome: Outcome } | { handle: string }", "`peer_reply` arrives after `delay_ms` [default: 0]. With `async` the result is a handle for `meshai/poll`."),
        varies("meshai/poll", "{ handle: string }", "{ done: boolean, outcome?: Outcome }", ""),
    ],
    errors: &[
        (-32001, "the message is rejected; `data` holds `code`, `message` and `details` of section 6"),
        (-32002, "a credential or signature is refused"),
        (-32003, "access is denied"),
        (-32004, "the operation timed out"),
        (-32099, "the library failed; counts as a crash"),
    ],
    minimal: &["meshai/info", "meshai/handle", "meshai/parse", "meshai/build"],
    minimal_because: "`meshai/handle` shows whatever an endpoint shows; the other two show how messages are read and written.",
    conversation: include_str!("examples.jsonl"),
};
