//! The settings of a target file for this protocol (binding, section 10).

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
    one_of(
        "protocol_id",
        "The identifier that it serves [default: the one whose probe it serves, AMP/1.0 first] (E01).",
        &["AMP/1.0", "AIP/1.0"],
        "AMP/1.0",
    ),
    any("agent_id", "Its agent id [default: `agent_id` of its health body; left out without one].", "agent-a"),
    any("invoke_path", "Where it takes messages [default: /aip/v1/invoke] (E39).", "/amp/v1/messages"),
    any("health_path", "Its health endpoint [default: /health] (E88).", "/healthz"),
    any("registry_path", "Where its registry takes messages [default: `invoke_path`].", "/registry/invoke"),
    any("registry_id", "The agent id of its registry [default: registry].", "registry"),
    any("context_path", "Where its context service takes messages [default: `invoke_path`].", "/contexts/invoke"),
    any("context_agent_id", "The agent id of its context service [default: `agent_id`] (E47).", "agent-a"),
    any(
        "context_capabilities",
        "The capability ids of the context operations, as far as they differ (E47).",
        "{ create: context-new }",
    ),
    one_of(
        "discovery_match",
        "Whether discovery lists agents with all of several capabilities or with any of them [default: either] (E30).",
        &["all", "any", "either"],
        "any",
    ),
    any("ws_path", "The path of its WebSocket endpoint below the URL; without it `ws` is needed (E78).", "/aip/v1/ws"),
    one_of("auth_carrier", "Where credentials travel [default: both] (E69).", &["header", "message", "both"], "both"),
    any(
        "api_key",
        "The API key: `value`, and `header` and `scheme` where it is not Authorization: Bearer. Credentials of the target \
        file and of the command line do, too (E69).",
        "{ value: secret, header: X-API-Key }",
    ),
    any("jwt", "The `key` of its tokens, `alg` [default: HS256], and `claims` that differ (E70).", "{ key: secret }"),
    any(
        "hmac",
        "The `key` of signatures, `canonical` [default: jcs] or python-compact or python-default, `encoding` [default: \
        base64] or hex, and `required` where unsigned messages are refused (E71, E72).",
        "{ key: secret, canonical: jcs }",
    ),
    any(
        "fixture",
        "A request that it serves: `capability`, `parameters`, `agent_id`, and `expect`, members that the result has.",
        "{ capability: text-analysis, parameters: { text: proofmark } }",
    ),
    any(
        "second",
        "Another request with another result, in the same form.",
        "{ capability: web-search, parameters: {} }",
    ),
    any(
        "echo",
        "A request whose result contains its parameters: as `fixture`, with `marker_pointer` [default: /marker].",
        "{ capability: tool-use, parameters: { tool: echo }, marker_pointer: /marker }",
    ),
    any(
        "slow",
        "A request that takes a given time: as `fixture`, with `ms_pointer` [default: /ms], and `enforced: false` if requesters \
        alone watch `timeout_ms` (E17).",
        "{ capability: tool-use, parameters: { tool: sleep }, ms_pointer: /ms }",
    ),
    any(
        "exhaust",
        "A request that it lacks the resources for, as `fixture`.",
        "{ capability: tool-use, parameters: { tool: exhaust } }",
    ),
    any(
        "invalid_parameters",
        "Parameters that the schema of the fixture capability does not allow, as a list.",
        "[{}, { text: 5 }]",
    ),
    any("rate_limit", "How many requests of one source it serves in a window.", "{ requests: 5, window_ms: 1000 }"),
];

/// Every place.
pub(super) const PLACES: &[Setting] = &[
    Setting {
        name: "discovery",
        summary: "The list of agents in the answer to a discovery query (E29).",
        words: &[],
        example: "[/message/payload/result/matches]",
    },
    Setting {
        name: "negotiation",
        summary: "The outcome of a negotiation, a boolean (E43).",
        words: &[],
        example: "[/message/payload/result/feasible]",
    },
    Setting {
        name: "context",
        summary: "The context in the answer to a context operation (E47).",
        words: &[],
        example: "[/message/payload/result]",
    },
];
