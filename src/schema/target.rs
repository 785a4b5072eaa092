//! Target files.

use std::collections::BTreeMap;

use schemars::JsonSchema;

use super::Texts;

/// The implementation under test: how to reach it, and what its owner says of it.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(extend("anyOf" = [
    { "required": ["url"] }, { "required": ["ws"] }, { "required": ["tcp"] }, { "required": ["adapter"] },
]))]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
pub(super) struct Target {
    /// Slug of the protocol that it speaks.
    protocol: Option<String>,
    /// How it is called in reports; its URL or command if left out.
    name: Option<String>,
    /// Where its HTTP endpoint is.
    #[schemars(regex(pattern = "^https?://"))]
    url: Option<String>,
    /// Where its WebSocket endpoint is, if not at the protocol's path below `url`.
    #[schemars(regex(pattern = "^wss?://"))]
    ws: Option<String>,
    /// Where it takes frames over TCP: `HOST:PORT`, or `amps://HOST:PORT` with TLS.
    tcp: Option<String>,
    /// The transports that are tried, of `http`, `ws`, `tcp` and `adapter`; each that has an address if left out.
    transports: Option<Texts>,
    /// What its owner says about it in the words of the protocol (`proofmark list --what settings`). `{ file: PATH }` stands
    /// for the JSON in a file.
    settings: Option<BTreeMap<String, serde_json::Value>>,
    /// Where another instance of it is, with a state of its own: what is exported here is imported there.
    #[serde(rename = "second-instance")]
    #[schemars(regex(pattern = "^https?://"))]
    second_instance: Option<String>,
    /// The program that wraps it as a library: JSON-RPC 2.0 on stdin and stdout, one object a line.
    adapter: Option<Texts>,
    /// The level that its owner claims; what it says itself if left out.
    level: Option<String>,
    /// Features that it has or lacks, whatever a probe would find (`proofmark list --what features`).
    options: Option<BTreeMap<String, bool>>,
    /// What each party (`a`, `b`) sends as credentials.
    credentials: Option<BTreeMap<String, Credential>>,
    /// Routes that differ from the protocol's own, by operation (`proofmark list --what operations`).
    routes: Option<BTreeMap<String, Route>>,
    /// Places in answers that are tried before the protocol's own: JSON Pointers, or `header:NAME`.
    places: Option<BTreeMap<String, Texts>>,
    /// Status codes that stand for the one that the protocol names.
    statuses: Option<BTreeMap<String, Vec<u16>>>,
    /// Bounds on time, size and number.
    limits: Option<Limits>,
    /// What its owner sets aside. A waiver that is no longer needed is reported.
    waivers: Option<Vec<Waiver>>,
}

/// A header field whose value comes from the environment or from a file, and is never printed.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["env"] }, { "required": ["file"] }]))]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Credential {
    /// Name of the header field; `Authorization` if left out.
    header: Option<String>,
    /// The variable of the environment that holds the secret.
    env: Option<String>,
    /// The file that holds the secret.
    file: Option<String>,
    /// What stands before the secret, such as `Bearer `.
    prefix: Option<String>,
}

/// A route of the target's own; what is left out is as in the protocol.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Route {
    /// HTTP method.
    method: Option<String>,
    /// Path with `{input}` places.
    path: Option<String>,
    /// Query parameters with `{input}` places.
    query: Option<BTreeMap<String, String>>,
}

/// Bounds on time, size and number.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "kebab-case")]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Limits {
    /// From the first byte sent to the last byte read of one answer.
    #[schemars(regex(pattern = DURATION))]
    request: Option<String>,
    /// How long a first answer is waited for where it does not come as the response to a request.
    #[schemars(regex(pattern = DURATION))]
    reply: Option<String>,
    /// How long further answers are waited for after one that is not what was wanted.
    #[schemars(regex(pattern = DURATION))]
    settle: Option<String>,
    /// From the first step of a case to its last.
    #[schemars(regex(pattern = DURATION))]
    case: Option<String>,
    /// The whole run.
    #[schemars(regex(pattern = DURATION))]
    run: Option<String>,
    /// Added to both ends of every span of time that an answer is held against.
    #[schemars(regex(pattern = DURATION))]
    clock_skew: Option<String>,
    /// Bytes of a body that are read.
    body: Option<u64>,
    /// Cases side by side.
    jobs: Option<u64>,
}

/// A time such as `250ms`, `5s` or `2m`.
const DURATION: &str = "^[0-9]+(ms|s|m)$";

/// A case or requirement that is set aside, and why.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields)]
#[schemars(extend("oneOf" = [{ "required": ["case"] }, { "required": ["requirement"] }]))]
#[expect(dead_code, reason = "a schema is made of it, never a value")]
struct Waiver {
    /// A pattern of case ids, with * and ?.
    case: Option<String>,
    /// The id of a requirement.
    requirement: Option<String>,
    /// Why.
    reason: String,
}
