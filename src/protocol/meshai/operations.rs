//! The operations: messages to agent, registry and context service, the health endpoint, the control call of a target built
//! for tests, and the methods of a library (binding, sections 4, 5 and 11).

use crate::protocol::{BodyPlan, ChannelPlan, Input, Method, Operation, Param, Route};

/// Where messages are posted (section 8.2).
pub(super) const INVOKE: &str = "/aip/v1/invoke";

/// The operation that opens a WebSocket.
pub(super) const OPEN: &str = "open";

const OK: &[(u16, u16)] = &[(200, 299)];

const fn optional(name: &'static str) -> Input {
    Input { name, required: false, default: None }
}

const fn required(name: &'static str) -> Input {
    Input { name, required: true, default: None }
}

/// The inputs of a message: the envelope; `auth: false` for no credentials, or what differs in them; `sign: false` for no
/// signature, or what differs in it; the transport that a library is told of.
const MESSAGE: &[Input] =
    &[required("message"), optional("auth"), optional("sign"), optional("transport"), optional("authorization")];

const fn post(base: Option<&'static str>) -> Route {
    Route {
        base,
        method: "POST",
        path: INVOKE,
        query: &[],
        headers: &[],
        body: BodyPlan::Input("message"),
        summons: false,
    }
}

const HANDLE: Method = Method {
    name: "meshai/handle",
    params: &[
        ("raw", Param::JsonHex("message")),
        ("transport", Param::Input("transport")),
        ("authorization", Param::Input("authorization")),
    ],
};

/// An operation that is one message.
const fn message(name: &'static str, summary: &'static str, base: Option<&'static str>) -> Operation {
    Operation {
        name,
        summary,
        level: "",
        inputs: MESSAGE,
        route: Some(post(base)),
        channel: Some(ChannelPlan::Message("message")),
        tree: None,
        method: Some(HANDLE),
        accepted: OK,
    }
}

/// An HTTP request that is not a message.
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

/// An action on a WebSocket.
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

/// Whether the operation sends a message, which carries credentials and a signature.
pub(super) fn carries_message(operation: &Operation) -> bool {
    operation.method.as_ref().is_some_and(|method| method.name == HANDLE.name)
}

/// Every operation.
pub(super) const OPERATIONS: &[Operation] = &[
    message("invoke", "Sends a capability request to an agent (section 3.1).", None),
    message("register", "Registers an agent at the registry (section 4.1).", Some("registry")),
    message("discover", "Requests the agents that have capabilities (section 3.3).", Some("registry")),
    message("notify", "Sends an event (section 3.4).", None),
    message("negotiate", "Requests whether a task can be executed (section 4.2).", None),
    message("delegate", "Delegates a subtask (section 4.3).", None),
    message("context", "Requests an operation on a context (section 5.2, E47).", Some("context")),
    message("context-event", "Sends a context update to the context service (section 3.4).", Some("context")),
    request(
        "get-invoke",
        "Sends a message to the invoke path by GET, in the query parameter `message`.",
        &[optional("text")],
        Route {
            base: None,
            method: "GET",
            path: INVOKE,
            query: &[("message", "{text}")],
            headers: &[],
            body: BodyPlan::None,
            summons: false,
        },
    ),
    request(
        "put-invoke",
        "Sends a message to the invoke path by PUT.",
        &[required("body")],
        Route {
            base: None,
            method: "PUT",
            path: INVOKE,
            query: &[],
            headers: &[],
            body: BodyPlan::Input("body"),
            summons: false,
        },
    ),
    request(
        "health",
        "Reads the health endpoint (sections 4.1 and 10.1).",
        &[],
        Route {
            base: None,
            method: "GET",
            path: "/health",
            query: &[],
            headers: &[],
            body: BodyPlan::None,
            summons: false,
        },
    ),
    request(
        "control",
        "Makes a target built for tests act as a client (binding, section 12).",
        &[required("command")],
        Route {
            base: None,
            method: "POST",
            path: "/aip/v1/control",
            query: &[],
            headers: &[],
            body: BodyPlan::Input("command"),
            summons: false,
        },
    ),
    channel(
        OPEN,
        "Opens a WebSocket connection, replacing an existing one, with a token for the `sender` where the target uses tokens.",
        &[optional("sender")],
        ChannelPlan::Open,
    ),
    channel(
        "frame",
        "Sends a WebSocket frame with this opcode: 1 for text, 2 for binary.",
        &[required("kind"), optional("payload")],
        ChannelPlan::Frame("kind", "payload"),
    ),
    channel("listen", "Waits for messages on a WebSocket.", &[], ChannelPlan::Listen),
    library("info", "The description that a library gives of itself.", &[], "meshai/info", &[]),
    library(
        "set-clock",
        "Sets the clock of a library.",
        &[required("now")],
        "meshai/set_clock",
        &[("now", Param::Input("now"))],
    ),
    library(
        "define-capability",
        "Gives a library a capability with a simple behaviour.",
        &[required("capability"), required("behaviour")],
        "meshai/define_capability",
        &[("capability", Param::Input("capability")), ("behaviour", Param::Input("behaviour"))],
    ),
    library(
        "parse",
        "Reads a message into the library's own type.",
        &[required("message")],
        "meshai/parse",
        &[("raw", Param::JsonHex("message"))],
    ),
    library(
        "encode",
        "Writes a message that was read.",
        &[required("envelope")],
        "meshai/encode",
        &[("envelope", Param::Input("envelope"))],
    ),
    library(
        "build",
        "Builds a message of a kind.",
        &[required("kind"), required("fields")],
        "meshai/build",
        &[("kind", Param::Input("kind")), ("fields", Param::Input("fields"))],
    ),
    library("outbox", "The messages that a library has sent since the last call.", &[], "meshai/outbox", &[]),
    library(
        "validate-identity",
        "Checks the identity of an agent (section 2.1).",
        &[required("agent")],
        "meshai/validate_identity",
        &[("agent", Param::Input("agent"))],
    ),
    library(
        "validate-capability",
        "Checks the declaration of a capability (section 2.2).",
        &[required("capability"), optional("strict")],
        "meshai/validate_capability",
        &[("capability", Param::Input("capability")), ("strict", Param::Input("strict"))],
    ),
    library(
        "validate-context",
        "Checks a context (section 5.1).",
        &[required("context")],
        "meshai/validate_context",
        &[("context", Param::Input("context"))],
    ),
    library("taxonomy", "The standard capability identifiers (section 9).", &[], "meshai/taxonomy", &[]),
    library("error-codes", "The standard error codes (section 6.2).", &[], "meshai/error_codes", &[]),
    library(
        "match",
        "Selects the agents that a discovery query finds.",
        &[required("query"), required("agents")],
        "meshai/match",
        &[("query", Param::Input("query")), ("agents", Param::Input("agents"))],
    ),
    library(
        "context-call",
        "An operation on a context, without a message.",
        &[required("op"), required("agent_id"), required("parameters")],
        "meshai/context",
        &[
            ("op", Param::Input("op")),
            ("agent_id", Param::Input("agent_id")),
            ("parameters", Param::Input("parameters")),
        ],
    ),
    library(
        "canonical",
        "The bytes that the signature of a message is over (E71).",
        &[required("envelope")],
        "meshai/canonical",
        &[("envelope", Param::Input("envelope"))],
    ),
    library(
        "sign",
        "Signs a message (section 7.2).",
        &[required("raw"), required("key")],
        "meshai/sign",
        &[("raw", Param::TextHex("raw")), ("key", Param::TextHex("key"))],
    ),
    library(
        "verify",
        "Verifies the signature of a message (section 7.2).",
        &[required("raw"), required("key")],
        "meshai/verify",
        &[("raw", Param::TextHex("raw")), ("key", Param::TextHex("key"))],
    ),
    library(
        "make-jwt",
        "Makes a token (section 7.1).",
        &[required("claims"), required("key")],
        "meshai/make_jwt",
        &[("claims", Param::Input("claims")), ("key", Param::TextHex("key"))],
    ),
    library(
        "check-jwt",
        "Checks a token (section 7.1).",
        &[required("token"), required("key"), optional("now")],
        "meshai/check_jwt",
        &[("token", Param::Input("token")), ("key", Param::TextHex("key")), ("now", Param::Input("now"))],
    ),
    library(
        "negotiate-version",
        "Agrees on a version of the protocol (section 10.2).",
        &[required("offered")],
        "meshai/negotiate_version",
        &[("offered", Param::Input("offered"))],
    ),
    library(
        "participate",
        "Runs the start of a client: it registers and then sends requests.",
        &[required("registry_answer"), required("requests")],
        "meshai/participate",
        &[("registry_answer", Param::Input("registry_answer")), ("requests", Param::Input("requests"))],
    ),
    library(
        "call",
        "Calls a capability of a peer, whose reply is given.",
        &[required("mode"), required("fields"), required("peer_reply"), optional("delay_ms")],
        "meshai/invoke",
        &[
            ("mode", Param::Input("mode")),
            ("fields", Param::Input("fields")),
            ("peer_reply", Param::TextHex("peer_reply")),
            ("delay_ms", Param::Input("delay_ms")),
        ],
    ),
    library(
        "poll",
        "Asks for the outcome of an asynchronous call.",
        &[required("handle")],
        "meshai/poll",
        &[("handle", Param::Input("handle"))],
    ),
];
