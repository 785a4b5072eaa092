//! The operations of the binding: its HTTP calls (sections 3 and 7), its files (section 4) and its adapter methods
//! (section 11).

use crate::exchange::{RepositoryAction, TreeAction};
use crate::protocol::{BodyPlan, ChannelPlan, Input, Method, Operation, Param, Route, TreePlan};

/// The input with the acting role: the party of the step.
const ROLE: Input = Input { name: "role", required: false, default: Some("actor") };
/// The task of the case.
const TASK: Input = Input { name: "task_id", required: false, default: Some("task") };
const MSG_ID: Input = required("msg_id");
/// The name of a file without its suffix.
const NAME: Input = optional("name");
const AFTER: Input = optional("after");
const REPOSITORY: &[Input] = &[required("repository")];
const ENGINE: Input = required("engine");

const fn optional(name: &'static str) -> Input {
    Input { name, required: false, default: None }
}

const fn required(name: &'static str) -> Input {
    Input { name, required: true, default: None }
}

/// The header field with the acting role.
const ACTING: &[(&str, &str)] = &[("x-amp-role", "{role}")];

const OK: &[(u16, u16)] = &[(200, 200)];
const ANY_SUCCESS: &[(u16, u16)] = &[(200, 299)];

const fn get(path: &'static str, query: &'static [(&'static str, &'static str)]) -> Option<Route> {
    Some(Route { base: None, method: "GET", path, query, headers: ACTING, body: BodyPlan::None, summons: false })
}

const fn post(path: &'static str, body: BodyPlan) -> Option<Route> {
    Some(Route { base: None, method: "POST", path, query: &[], headers: ACTING, body, summons: false })
}

const fn read(path: &'static str) -> Option<TreePlan> {
    Some(TreePlan { action: TreeAction::Read, path, content: None, author: None })
}

const fn write(path: &'static str, content: &'static str) -> Option<TreePlan> {
    Some(TreePlan { action: TreeAction::Write, path, content: Some(content), author: Some("role") })
}

const fn call(name: &'static str, params: &'static [(&'static str, Param)]) -> Option<Method> {
    Some(Method { name, params })
}

/// An operation of an endpoint or a tree.
const fn shared(
    name: &'static str,
    summary: &'static str,
    inputs: &'static [Input],
    route: Option<Route>,
    tree: Option<TreePlan>,
) -> Operation {
    Operation { name, summary, level: "", inputs, route, channel: None, tree, method: None, accepted: ANY_SUCCESS }
}

/// An operation of a library.
const fn library(
    name: &'static str,
    summary: &'static str,
    inputs: &'static [Input],
    method: Option<Method>,
) -> Operation {
    Operation { name, summary, level: "", inputs, route: None, channel: None, tree: None, method, accepted: OK }
}

/// An operation on a repository of the run.
const fn repository(name: &'static str, summary: &'static str, action: RepositoryAction) -> Operation {
    Operation {
        name,
        summary,
        level: "",
        inputs: REPOSITORY,
        route: None,
        channel: Some(ChannelPlan::Repository(action, "repository")),
        tree: None,
        method: None,
        accepted: OK,
    }
}

/// Every operation.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation {
        name: "submit",
        summary: "Hands a message to the bus, or to the validator of a library (binding, sections 3, 4 and 11).",
        level: "",
        inputs: &[required("message"), ROLE, TASK, NAME, optional("receiver"), optional("dispatch")],
        route: post("/api/amp/v1/messages", BodyPlan::Input("message")),
        channel: None,
        tree: write("ssot/messages/{task_id}/{name}.json", "message"),
        method: call(
            "task-amp/validate",
            &[
                ("raw_hex", Param::JsonHex("message")),
                ("receiver", Param::Input("receiver")),
                ("dispatch", Param::Input("dispatch")),
            ],
        ),
        accepted: ANY_SUCCESS,
    },
    shared(
        "drop-file",
        "Leaves a body that need not be a message in the inbox of a role (binding, section 4).",
        &[required("message"), ROLE, required("to"), required("name")],
        None,
        write("inbox/{to}/{name}.json", "message"),
    ),
    shared(
        "get-message",
        "Reads a message by its id (binding, section 3).",
        &[MSG_ID, ROLE],
        get("/api/amp/v1/messages/{msg_id}", &[]),
        read("ssot/messages/*/{msg_id}.json"),
    ),
    shared(
        "list-messages",
        "Lists the messages of a task (binding, section 3).",
        &[TASK, ROLE],
        get("/api/amp/v1/messages", &[("task_id", "{task_id}")]),
        read("ssot/messages/{task_id}/*.json"),
    ),
    shared(
        "list-inbox",
        "Lists the messages to a role, of the type and sender that are given (binding, section 3).",
        &[required("to"), optional("type"), optional("from"), AFTER, optional("of_task"), optional("limit"), ROLE],
        get(
            "/api/amp/v1/messages",
            &[
                ("task_id", "{of_task}"),
                ("to", "{to}"),
                ("type", "{type}"),
                ("from", "{from}"),
                ("after", "{after}"),
                ("limit", "{limit}"),
            ],
        ),
        None,
    ),
    shared(
        "ack",
        "Acknowledges a message (binding, section 6).",
        &[MSG_ID, required("ack"), TASK, ROLE],
        post("/api/amp/v1/messages/{msg_id}/acks", BodyPlan::Input("ack")),
        write("ssot/acks/{task_id}/{msg_id}.{role}.json", "ack"),
    ),
    shared(
        "list-acks",
        "Lists the acknowledgements of a message (binding, section 3).",
        &[MSG_ID, ROLE],
        get("/api/amp/v1/messages/{msg_id}/acks", &[]),
        read("ssot/acks/*/{msg_id}.*.json"),
    ),
    shared(
        "acks-of-task",
        "Lists the acknowledgements of a task (binding, section 3).",
        &[TASK, ROLE],
        get("/api/amp/v1/acks", &[("task_id", "{task_id}")]),
        read("ssot/acks/{task_id}/*.json"),
    ),
    shared(
        "list-errors",
        "Reads the error log (binding, section 5).",
        &[AFTER, ROLE],
        get("/api/amp/v1/errors", &[("after", "{after}")]),
        read("ssot/errors/errors.jsonl"),
    ),
    shared(
        "get-task",
        "Reads the record of a task (binding, section 6).",
        &[TASK, ROLE],
        get("/api/amp/v1/tasks/{task_id}", &[]),
        read("ssot/tasks/{task_id}.json"),
    ),
    shared("list-tasks", "Lists the tasks (binding, section 3).", &[ROLE], get("/api/amp/v1/tasks", &[]), None),
    shared(
        "meta",
        "Reads what the target says about itself (binding, section 3).",
        &[ROLE],
        get("/api/amp/v1/meta", &[]),
        None,
    ),
    shared(
        "plan",
        "Hands a plan to the Coordinator, as the Admin (binding, section 7).",
        &[TASK, required("plan"), ROLE],
        post("/api/amp/v1/tasks", BodyPlan::Object(&[("task_id", "task_id"), ("plan", "plan")])),
        None,
    ),
    shared(
        "approve",
        "Approves the plan of a task, as the Admin (binding, section 7).",
        &[TASK, ROLE],
        post("/api/amp/v1/tasks/{task_id}/approve", BodyPlan::None),
        None,
    ),
    shared(
        "control",
        "Gives a control instruction, as the Admin (binding, section 7).",
        &[TASK, required("control"), ROLE],
        post("/api/amp/v1/tasks/{task_id}/controls", BodyPlan::Input("control")),
        None,
    ),
    shared(
        "ci",
        "Reports the status of the CI of a task, as the Admin (binding, section 7).",
        &[TASK, required("ci"), ROLE],
        post("/api/amp/v1/tasks/{task_id}/ci", BodyPlan::Input("ci")),
        None,
    ),
    shared(
        "read-clock",
        "Reads the test clock (binding, section 7).",
        &[ROLE],
        get("/api/amp/v1/_test/clock", &[]),
        None,
    ),
    shared(
        "move-clock",
        "Advances the test clock (binding, section 7).",
        &[required("advance_ms"), ROLE],
        post("/api/amp/v1/_test/clock", BodyPlan::Object(&[("advance_ms", "advance_ms")])),
        None,
    ),
    repository(
        "make-repository",
        "Makes the git repository that a dispatch names (binding, section 9).",
        RepositoryAction::Make,
    ),
    repository(
        "make-worked-repository",
        "Makes a repository with finished work on its branch, and the file .git/proofmark.diff (binding, section 9).",
        RepositoryAction::MakeWorked,
    ),
    repository(
        "make-defective-repository",
        "Makes a repository whose branch has ten wrong lines, and the file .git/proofmark.diff (binding, section 9).",
        RepositoryAction::MakeDefective,
    ),
    repository("make-folder", "Makes a folder that is not a git repository.", RepositoryAction::MakeFolder),
    repository("read-repository", "Reads branches, commits and files of the repository.", RepositoryAction::Read),
    library("info", "Asks a library for its operations (binding, section 11).", &[], call("task-amp/info", &[])),
    library(
        "validate-value",
        "Validates a message that is handed over as a value (binding, section 11).",
        &[required("message"), optional("receiver"), optional("dispatch")],
        call(
            "task-amp/validate",
            &[
                ("message", Param::Input("message")),
                ("receiver", Param::Input("receiver")),
                ("dispatch", Param::Input("dispatch")),
            ],
        ),
    ),
    library(
        "validate-payload",
        "Validates a payload alone (binding, section 11).",
        &[required("type"), required("payload")],
        call("task-amp/validate_payload", &[("type", Param::Input("type")), ("payload", Param::Input("payload"))]),
    ),
    library(
        "parse-msg-id",
        "Splits a msg_id into its parts (binding, section 11).",
        &[MSG_ID],
        call("task-amp/parse_msg_id", &[("msg_id", Param::Input("msg_id"))]),
    ),
    library(
        "make-msg-id",
        "Makes a msg_id of its parts (binding, section 11).",
        &[required("type"), required("of_task"), required("unix_ms")],
        call(
            "task-amp/make_msg_id",
            &[
                ("type", Param::Input("type")),
                ("task_id", Param::Input("of_task")),
                ("unix_ms", Param::Input("unix_ms")),
            ],
        ),
    ),
    library(
        "build",
        "Has a library build a message (binding, section 11).",
        &[
            required("type"),
            required("from"),
            required("to"),
            TASK,
            required("payload"),
            required("now_ms"),
            optional("requires_ack"),
            optional("ack_timeout_sec"),
            optional("context_ref"),
        ],
        call(
            "task-amp/build",
            &[
                ("type", Param::Input("type")),
                ("from", Param::Input("from")),
                ("to", Param::Input("to")),
                ("task_id", Param::Input("task_id")),
                ("payload", Param::Input("payload")),
                ("now_ms", Param::Input("now_ms")),
                ("requires_ack", Param::Input("requires_ack")),
                ("ack_timeout_sec", Param::Input("ack_timeout_sec")),
                ("context_ref", Param::Input("context_ref")),
            ],
        ),
    ),
    library(
        "check-route",
        "Asks a library whether a type may go from one role to another (binding, section 11).",
        &[required("type"), required("from"), required("to")],
        call(
            "task-amp/check_route",
            &[("type", Param::Input("type")), ("from", Param::Input("from")), ("to", Param::Input("to"))],
        ),
    ),
    library(
        "ack-required",
        "Asks a library whether a type must be acknowledged (binding, section 11).",
        &[required("type")],
        call("task-amp/ack_required", &[("type", Param::Input("type"))]),
    ),
    library(
        "ack-timeout",
        "Asks a library for the timeout of a message (binding, section 11).",
        &[required("message")],
        call("task-amp/ack_timeout", &[("message", Param::Input("message"))]),
    ),
    library(
        "make-ack",
        "Has a library acknowledge a message (binding, section 11).",
        &[required("message"), required("by"), required("now_ms")],
        call(
            "task-amp/ack",
            &[("message", Param::Input("message")), ("actor", Param::Input("by")), ("now_ms", Param::Input("now_ms"))],
        ),
    ),
    library(
        "engine-new",
        "Opens the engine of a role (binding, section 11).",
        &[required("plays"), required("now_ms"), optional("config")],
        call(
            "task-amp/engine_new",
            &[("role", Param::Input("plays")), ("now_ms", Param::Input("now_ms")), ("config", Param::Input("config"))],
        ),
    ),
    library(
        "engine-feed",
        "Feeds an event to an engine (binding, section 11).",
        &[ENGINE, required("event")],
        call("task-amp/engine_feed", &[("engine", Param::Input("engine")), ("event", Param::Input("event"))]),
    ),
    library(
        "engine-advance",
        "Advances the clock of an engine (binding, section 11).",
        &[ENGINE, required("ms")],
        call("task-amp/engine_advance", &[("engine", Param::Input("engine")), ("ms", Param::Input("ms"))]),
    ),
    library(
        "engine-state",
        "Reads the task record of an engine (binding, section 11).",
        &[ENGINE, TASK],
        call("task-amp/engine_state", &[("engine", Param::Input("engine")), ("task_id", Param::Input("task_id"))]),
    ),
    library(
        "engine-close",
        "Closes an engine (binding, section 11).",
        &[ENGINE],
        call("task-amp/engine_close", &[("engine", Param::Input("engine"))]),
    ),
];
