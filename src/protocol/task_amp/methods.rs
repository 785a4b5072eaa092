//! The methods of a library behind an adapter, with their types (binding, section 11).

use crate::protocol::{Library, NamedShape, Signature};

const fn method(method: &'static str, params: &'static str, result: &'static str, note: &'static str) -> Signature {
    Signature { method, params, result, varies: false, note }
}

/// Everything that an author of an adapter has to know.
#[rustfmt::skip]
pub(super) const LIBRARY: Library = Library {
    conventions: "`raw_hex` is a message as UTF-8 text in hex, so that malformed JSON reaches your library as it is; `message` is a JSON object. Invalid \
        input of `task-amp/validate` is a result, not an error.\n\n\
        An engine is one role without network and clock: events go in, outputs come out, and time passes only by \
        `task-amp/engine_advance`. proofmark plays the other roles, and does the work and the reviews that an engine asks for.",
    types: &[
        NamedShape { name: "Checked", shape: "{ valid: boolean, errors: { code: string, path: string, message?: string }[] }", about: "The result of a check: each error with its place." },
        NamedShape { name: "Type", shape: "string", about: "A message type of the specification, such as `task_dispatch`." },
        NamedShape { name: "Role", shape: "\"coordinator\" | \"executor\" | \"reviewer\" | \"system\"", about: "The role that an engine plays." },
        NamedShape { name: "Event", shape: "{ kind: \"message\", message: object } | { kind: \"ack\", ack: object } | { kind: \"plan\", task_id: string, plan: object } | { kind: \"approve\", task_id: string } | { kind: \"control\", actor: string, task_id: string, control_type: string, payload?: object } | { kind: \"ci\", task_id: string, status: string } | { kind: \"ssot_write\", actor: string, task_id: string } | { kind: \"work_done\", task_id?: string, subtask_id: string, outcome: any, detail?: any } | { kind: \"review_done\", task_id?: string, decision: string, confidence: number, issues: any[] }", about: "What happens to an engine. `work_done` and `review_done` answer the outputs `work` and `review`, and may have more members." },
        NamedShape { name: "Output", shape: "{ kind: \"message\", message: object } | { kind: \"ack\", ack: object } | { kind: \"error_log\", entry: object } | { kind: \"work\", task_id: string, subtask_id: string } | { kind: \"review\", task_id: string }", about: "What an engine does: sends a message, acknowledges one, logs an error, or asks for work or a review." },
    ],
    methods: &[
        method("task-amp/info", "{}", "{ name: string, version: string, ops: string[], roles: string[], ack_timeouts_sec?: object }", ""),
        method("task-amp/validate", "{ raw_hex: hex, receiver?: string, dispatch?: object } | { message: any, receiver?: string, dispatch?: object }", "Checked", "`dispatch` is the task_dispatch that the message has to match."),
        method("task-amp/validate_payload", "{ type: Type, payload: any }", "Checked", ""),
        method("task-amp/parse_msg_id", "{ msg_id: string }", "{ type: Type, task_id: string, unix_ms: integer }", ""),
        method("task-amp/make_msg_id", "{ type: Type, task_id: string, unix_ms: integer }", "{ msg_id: string }", ""),
        method("task-amp/build", "{ type: Type, from: string, to: string, task_id: string, payload: object, now_ms: integer, requires_ack?: boolean, ack_timeout_sec?: integer, context_ref?: any[] }", "{ message: object, raw_hex: hex }", ""),
        method("task-amp/check_route", "{ type: Type, from: string, to: string }", "{ allowed: boolean }", ""),
        method("task-amp/ack_required", "{ type: Type }", "{ required: boolean }", ""),
        method("task-amp/ack_timeout", "{ message: object }", "{ ack_timeout_sec: integer | null }", ""),
        method("task-amp/ack", "{ message: object, actor: string, now_ms: integer }", "{ ack: object }", ""),
        method("task-amp/engine_new", "{ role: Role, now_ms: integer, config: object }", "{ engine: string }", "`config` may hold `heartbeat_timeout_sec`."),
        method("task-amp/engine_feed", "{ engine: string, event: Event }", "{ outputs: Output[] }", "With everything that follows from the event at once. After an answer without outputs the engine is advanced by 0 ms, for those that it hands out at its next turn."),
        method("task-amp/engine_advance", "{ engine: string, ms: integer }", "{ outputs: Output[] }", "In the order in which they are due."),
        method("task-amp/engine_state", "{ engine: string, task_id: string }", "object", "The record of the task."),
        method("task-amp/engine_close", "{ engine: string }", "{}", ""),
    ],
    errors: &[
        (-32000, "the library failed; `data.kind` says how"),
        (-32001, "the action is not supported; the case is not exercised"),
        (-32010, "malformed message id"),
        (-32011, "the message would not be valid"),
        (-32012, "only the addressee may acknowledge"),
    ],
    minimal: &["task-amp/info", "task-amp/validate", "task-amp/build", "task-amp/check_route", "task-amp/ack"],
    minimal_because: "These decide the requirements about messages; the engines decide those about the behaviour of a role.",
    conversation: include_str!("examples.jsonl"),
};
