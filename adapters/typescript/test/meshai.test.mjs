// Tests of the meshai library. Expected values come from the specification, its errata and the vectors. Each operation has a
// check, and at least one planted bug that the check must catch.
import { deepEqual, equal, notEqual, ok, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";

import { methods as real } from "../meshai/methods.mjs";
import { provenTests } from "./planted.mjs";

/** @typedef {Record<string, any>} Json */
/** @import { Bug, Methods } from "./planted.mjs" */

const NOW = "2025-01-27T10:00:00Z";
const KEY = "proofmark-meshai-hmac-key-32byte";
const CODES = ["AGENT_NOT_FOUND", "AUTHENTICATION_FAILED", "CAPABILITY_NOT_FOUND", "CONTEXT_NOT_FOUND", "INSUFFICIENT_RESOURCES", "INVALID_SCHEMA", "RATE_LIMIT_EXCEEDED", "TIMEOUT"];
const DECLARATION = {
  id: "text-analysis",
  version: "1.0",
  description: "d",
  input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  output_schema: { type: "object" },
  constraints: { response_time_ms: 1000, max_input_length: 20 },
};
const IDENTITY = { id: "a-1", name: "n", version: "1.0.0", framework: "custom", protocol_version: "1.0" };
const REGISTRATION = {
  agent: IDENTITY,
  capabilities: [{ ...DECLARATION, id: "x" }],
  endpoints: { invoke: "http://127.0.0.1:9/i", health: "http://127.0.0.1:9/h" },
  authentication: { type: "bearer", credentials: "the-secret" },
};

/** @param {unknown} value */
const hex = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("hex");

/** @param {string} digits @returns {Json} */
const read = (digits) => JSON.parse(Buffer.from(digits, "hex").toString());

/** A library that is asked from outside, as the harness does it. */
class Asker {
  #count = 0;

  /** @param {Methods} methods @param {Json} [config] */
  constructor(methods, config = {}) {
    this.methods = methods;
    this.call("reset", { now: NOW, config });
  }

  /** @param {string} operation @param {Json} [params] @returns {Json} */
  call(operation, params = {}) {
    const method = this.methods.get(`meshai/${operation}`);
    ok(method);
    // As over the wire: no undefined members.
    return JSON.parse(JSON.stringify(method(JSON.parse(JSON.stringify(params)))));
  }

  /** @param {Json} payload @param {Json} [more] @returns {Json} */
  message(payload, { sender = "a", destination = {}, type = "request", protocol = "AMP/1.0", ...headers } = {}) {
    const id = `m-${(this.#count += 1)}`;
    const usual = { correlation_id: id, priority: 5, timeout_ms: 30000, routing_hints: {} };
    return { protocol, message: { id, type, timestamp: NOW, source: { agent_id: sender }, destination, headers: { ...usual, ...headers }, payload } };
  }

  /** @param {Json} [more] */
  asked({ capability = "text-analysis", parameters = { text: "hi" }, ...more } = {}) {
    return this.message({ capability, parameters }, more);
  }

  /** @param {unknown} message @param {string} [authorization] */
  handled(message, authorization) {
    const { raw, http_status: status } = this.call("handle", { raw: hex(message), authorization });
    return { status, reply: raw === null ? {} : read(raw) };
  }

  /** The code of the error reply, or the status of the response. @param {unknown} message @param {string} [authorization] */
  code(message, authorization) {
    const { payload } = this.handled(message, authorization).reply["message"];
    return payload.error?.code ?? payload.status;
  }

  /** @param {string} kind @param {Json} [more] */
  offer(kind, more = {}) {
    this.call("define_capability", { capability: DECLARATION, behaviour: { kind, ...more } });
  }

  /** @param {string} op @param {Json} parameters @param {string} [agent] @returns {Json} */
  context(op, parameters, agent = "a") {
    return this.call("context", { op, agent_id: agent, parameters })["context"];
  }
}

/** The vectors of a file. @param {string} name @returns {Json[]} */
function vectors(name) {
  const file = JSON.parse(readFileSync(new URL(`../../../vectors/meshai/${name}.json`, import.meta.url), "utf8"));
  return file.groups.flatMap((/** @type {Json} */ group) => group["tests"]);
}

/** @param {Json} value @param {string} place @param {unknown} to @returns {Json} */
function changed(value, place, to) {
  const copy = structuredClone(value);
  const path = place.split("/").slice(1);
  const last = path.pop() ?? "";
  let holder = copy;
  for (const step of path) holder = holder[step];
  holder[last] = to;
  return copy;
}

/** @type {Record<string, (methods: Methods) => void>} */
const CHECKS = {
  info(methods) {
    const told = new Asker(methods).call("info");
    deepEqual([told["transports"], told["protocols"]], [["http"], ["AMP/1.0", "AIP/1.0"]]);
    equal(told["operations"].length, methods.size);
  },

  reset(methods) {
    const asker = new Asker(methods);
    asker.offer("fixed");
    equal(asker.code(asker.asked()), "success");
    asker.call("reset", { config: { auth: { api_key: { value: "k" } }, rate_limit: { requests: 1, window_ms: 60000 } } });
    equal(asker.code(asker.asked()), "AUTHENTICATION_FAILED");
    equal(asker.code(asker.asked(), "Bearer kk"), "AUTHENTICATION_FAILED");
    equal(asker.code(asker.asked(), "Bearer k"), "CAPABILITY_NOT_FOUND");
    equal(asker.code(asker.asked(), "bearer k"), "RATE_LIMIT_EXCEEDED");
    asker.call("reset", { config: { enforce_registration: true } });
    equal(asker.code(asker.asked()), "AUTHENTICATION_FAILED");
  },

  set_clock(methods) {
    const asker = new Asker(methods);
    asker.call("set_clock", { now: "2030-05-06T07:08:09+02:00" });
    const built = read(asker.call("build", { kind: "request", fields: { capability: "x" } })["raw"]);
    equal(built["message"].timestamp.slice(0, 18), "2030-05-06T05:08:0");
    throws(() => asker.call("set_clock", { now: "2025-02-30T00:00:00Z" }), { code: -32602 });
  },

  define_capability(methods) {
    const asker = new Asker(methods);
    const answered = () => asker.handled(asker.asked()).reply["message"].payload;
    asker.offer("fixed", { result: { n: 1 } });
    deepEqual(answered(), { status: "success", result: { n: 1 } });
    asker.offer("echo");
    deepEqual(answered().result, { text: "hi" });
    asker.offer("fail");
    equal(answered().status, "failed");
    asker.offer("exhaust");
    equal(asker.code(asker.asked()), "INSUFFICIENT_RESOURCES");
    asker.offer("sleep", { ms: 30 });
    equal(asker.code(asker.asked({ timeout_ms: 20 })), "TIMEOUT");
    equal(asker.code(asker.asked({ timeout_ms: 30 })), "success");
    throws(() => asker.call("define_capability", { capability: {}, behaviour: { kind: "echo" } }), { code: -32001 });
    throws(() => asker.offer("dance"), { code: -32001 });
  },

  parse(methods) {
    const asker = new Asker(methods);
    const sent = asker.message({ status: "success", result: { "é": "😀" } }, { type: "response", execution_time_ms: 5, x_new: { a: [1.5, true, null] } });
    deepEqual(asker.call("parse", { raw: hex(sent) })["envelope"], sent);
    const named = JSON.stringify(sent).replace('"x_new"', '"__proto__"');
    equal(JSON.stringify(asker.call("parse", { raw: hex(named) })["envelope"].message.headers).includes("__proto__"), true);
    equal(asker.call("parse", { raw: hex({ ...sent, protocol: "AIP/1.7" }) })["envelope"].protocol, "AIP/1.7");
    const text = JSON.stringify(sent);
    const wrong = ["", "[]", "{", `${text}x`, text.replace("{", "{ // a comment\n"), text.replace('"message"', '"message":1,"message"'), text.replace("é", "\\ud800"), text.replace("1.5", "01"), text.replace("1.5", "1e999")];
    const versions = ["AMP/2.0", "AMP/0.9", "amp/1.0", "XYZ/1.0", "AMP/1", "AMP/1.0.0", "AMP/1.", "AMP1.0", "AMP/01.0", 1];
    wrong.push(...versions.map((protocol) => JSON.stringify({ ...sent, protocol })), `${text.slice(0, -1)},"x":${"[".repeat(3000)}${"]".repeat(3000)}}`);
    for (const raw of wrong) throws(() => asker.call("parse", { raw: hex(raw) }), { code: -32001 }, raw.slice(0, 60));
    throws(() => asker.call("parse", { raw: `${hex(text.slice(0, -2))}ff7d7d` }), { code: -32001 });
    for (const place of ["/message", "/message/type", "/message/payload"]) throws(() => asker.call("parse", { raw: hex(changed(sent, place, null)) }), { code: -32001 });
  },

  encode(methods) {
    const asker = new Asker(methods);
    const sent = asker.message({ "é": "😀", n: [1, 2.5, true, null], 2: 1, 1: 2 });
    deepEqual(read(asker.call("encode", { envelope: sent })["raw"]), sent);
  },

  build(methods) {
    const asker = new Asker(methods);
    const build = (/** @type {string} */ kind, /** @type {Json} */ fields) => read(asker.call("build", { kind, fields })["raw"]);
    const { protocol, message } = build("request", { source: { agent_id: "a" }, capability: "x", parameters: { p: 1 }, context: { c: 1 } });
    deepEqual([protocol, message.type, message.source, message.destination], ["AMP/1.0", "request", { agent_id: "a" }, { capability: "x" }]);
    deepEqual(message.payload, { capability: "x", parameters: { p: 1 }, context: { c: 1 } });
    deepEqual(message.headers, { correlation_id: message.id, priority: 5, timeout_ms: 30000, routing_hints: {} });
    ok(/^2025-01-27T10:00:\d\dZ$/.test(message.timestamp));
    notEqual(build("request", { capability: "x" })["message"].id, message.id);
    for (const kind of ["registration", "discovery"]) {
      const built = build(kind, { query: {}, agent: {} })["message"];
      deepEqual([built.type, built.destination], ["request", { agent_id: "registry", capability: kind }]);
    }
    const event = build("context_update", { context: { session_id: "s" } })["message"];
    deepEqual([event.type, event.payload], ["event", { context: { session_id: "s" }, event_type: "context_update" }]);
    const asked = asker.message({}, { sender: "asker", protocol: "AIP/1.3", correlation_id: "track" });
    const reply = build("response", { source: { agent_id: "me" }, request_raw: hex(asked), result: { r: 1 } });
    equal(reply["protocol"], "AIP/1.0");
    equal(reply["message"].headers.correlation_id, asked["message"].id);
    deepEqual([reply["message"].source, reply["message"].destination], [{ agent_id: "me" }, { agent_id: "asker" }]);
    deepEqual(reply["message"].payload, { status: "success", result: { r: 1 } });
    const error = build("error", { request_raw: hex(asked), code: "TIMEOUT", message: "late" })["message"];
    deepEqual([error.type, error.payload], ["error", { error: { code: "TIMEOUT", message: "late" } }]);
    deepEqual(build("negotiation", { requirements: { capabilities: ["x"] } })["message"].destination, { capability: "x" });
    deepEqual(build("delegation", { delegation: { subtask: { capability: "x" } } })["message"].destination, { capability: "x" });
    throws(() => build("command", {}), { code: -32602 });
  },

  handle(methods) {
    const asker = new Asker(methods);
    asker.offer("echo");
    const { status, reply } = asker.handled(asker.asked({ protocol: "AIP/1.4", sender: "asker", correlation_id: "t" }));
    const { message } = reply;
    deepEqual([status, reply["protocol"], message.type, message.destination], [200, "AIP/1.0", "response", { agent_id: "asker" }]);
    equal(message.headers.correlation_id, "m-1");
    ok(Number.isInteger(message.headers.execution_time_ms));
    notEqual(message.id, "m-1");
    notEqual(asker.handled(asker.asked()).reply["message"].id, message.id);
    const good = asker.asked();
    equal(asker.code(good), "success");
    for (const [place, ...values] of /** @type {[string, ...unknown[]][]} */ ([
      ["type", undefined, "request|response", "REQUEST", 1],
      ["payload", [], null, "text"],
      ["id", undefined, 7, ""],
      ["timestamp", undefined, "yesterday", "2025-01-27T10:00:00", 1737972000, "2025-02-30T10:00:00Z", "2025-01-27T24:00:00Z"],
      ["source", undefined, {}, { agent_id: "a", session_id: 5 }],
      ["destination", undefined, { agent_id: 5 }],
      ["headers", undefined, "none"],
      ["headers/priority", 0, 11, 2.5, "high", true],
      ["headers/timeout_ms", 0, -1, "fast"],
      ["payload/capability", 7],
      ["payload/parameters", [], "text", {}, { text: 5 }, { text: "x".repeat(21) }],
      ["payload/context", [], { session_id: 5 }, { conversation_history: "none" }],
    ])) {
      for (const value of values) equal(asker.code(changed(good, `/message/${place}`, value)), "INVALID_SCHEMA", `${place} ${JSON.stringify(value)}`);
    }
    equal(asker.code(asker.asked({ capability: "nothing" })), "CAPABILITY_NOT_FOUND");
    const { details } = asker.handled(asker.asked({ capability: "text" })).reply["message"].payload.error;
    ok(details.available_capabilities.includes("text-analysis"));
    equal(details.suggestion, "Try 'text-analysis' instead");
    equal(asker.code(asker.asked({ destination: { agent_id: "unknown" } })), "AGENT_NOT_FOUND");
    equal(asker.code(asker.asked({ destination: { capability: "other" } })), "success"); // the payload decides
    const refused = asker.handled({ ...asker.asked(), protocol: "AMP/2.0" }).reply;
    deepEqual([refused["protocol"], refused["message"].payload.error.details.supported_versions], ["AMP/1.0", ["1.0"]]);
    equal(asker.handled([good, good]).status, 400);
    checkRegistry(asker);
    checkEvents(asker);
    checkNegotiation(asker);
    checkCredentials(methods);
  },

  outbox(methods) {
    const asker = new Asker(methods);
    asker.offer("fixed", { result: { n: 1 } });
    const subtask = { capability: "text-analysis", parameters: { text: "hi" }, completion_callback: "http://127.0.0.1:9/c" };
    const sent = asker.message({ delegation: { parent_task_id: "t-1", subtask } }, { sender: "delegator" });
    equal(asker.code(sent), "success");
    const [entry, ...others] = asker.call("outbox")["sent"];
    const { message } = read(entry.raw);
    deepEqual([others, entry.to, message.destination], [[], "http://127.0.0.1:9/c", { agent_id: "delegator" }]);
    equal(message.headers.correlation_id, sent["message"].id);
    deepEqual(message.payload, { status: "success", result: { n: 1 }, metadata: { parent_task_id: "t-1" } });
    deepEqual(asker.call("outbox")["sent"], []);
    for (const [place, value, code] of [
      ["/delegation", "text", "INVALID_SCHEMA"],
      ["/delegation/parent_task_id", 5, "INVALID_SCHEMA"],
      ["/delegation/subtask/capability", "other", "CAPABILITY_NOT_FOUND"],
      ["/delegation/subtask/parameters", [], "INVALID_SCHEMA"],
      ["/delegation/subtask/completion_callback", "nowhere", "INVALID_SCHEMA"],
    ]) {
      equal(asker.code(changed(sent, `/message/payload${place}`, value)), code);
    }
    deepEqual(asker.call("outbox")["sent"], []);
  },

  validate_identity(methods) {
    const asker = new Asker(methods);
    deepEqual(asker.call("validate_identity", { agent: IDENTITY }), { valid: true, problems: [] });
    for (const change of [{ id: "" }, { id: 7 }, { id: "registry" }, { name: "" }, { version: 1 }, { version: "1.0" }, { framework: "x" }, { protocol_version: 1 }, { protocol_version: "1" }]) {
      equal(asker.call("validate_identity", { agent: { ...IDENTITY, ...change } })["valid"], false, JSON.stringify(change));
    }
    for (const name of Object.keys(IDENTITY)) {
      const { problems } = asker.call("validate_identity", { agent: changed(IDENTITY, `/${name}`, undefined) });
      deepEqual(problems.map((/** @type {Json} */ problem) => problem["path"]), [`/agent/${name}`]);
    }
  },

  validate_capability(methods) {
    const asker = new Asker(methods);
    const valid = (/** @type {Json} */ change, strict = false) => asker.call("validate_capability", { capability: { ...DECLARATION, ...change }, strict });
    equal(valid({}, true)["valid"], true);
    const reference = { id: "own", input_schema: { $ref: "#/definitions/T" } };
    equal(valid(reference)["valid"], true);
    deepEqual(valid(reference, true)["problems"].map((/** @type {Json} */ problem) => problem["path"]), ["/capability/input_schema", "/capability/id"]);
    equal(valid({ input_schema: { properties: { a: { $ref: "#/definitions/T" } } } }, true)["valid"], false);
    equal(valid({ input_schema: { $ref: "#/definitions/T", definitions: { T: {} } } }, true)["valid"], true);
    const limits = [{ max_input_length: -1 }, { max_input_length: 1.5 }, { supported_languages: "en" }, { response_time_ms: "fast" }];
    const schemas = [{ type: 5 }, { required: "a" }, { properties: [] }, { properties: { a: 5 } }, { pattern: "(" }, { minLength: -1 }];
    for (const change of [{ id: "" }, { version: 1 }, { version: "one" }, { description: 1 }, { input_schema: "text" }, { constraints: [] }, ...limits.map((constraints) => ({ constraints })), ...schemas.map((output_schema) => ({ output_schema }))]) {
      equal(valid(change)["valid"], false, JSON.stringify(change));
    }
    equal(valid({ constraints: { supported_languages: ["english"] } }, true)["valid"], false);
  },

  validate_context(methods) {
    const asker = new Asker(methods);
    const good = { id: "c", session_id: "s", created_at: NOW, expires_at: "2025-01-27T11:00:00Z", shared_memory: {}, agent_memory: {}, lineage: {} };
    const valid = (/** @type {Json} */ change) => asker.call("validate_context", { context: { ...good, ...change } })["valid"];
    equal(valid({}), true);
    const wrong = [{ id: "" }, { session_id: 5 }, { created_at: "now" }, { expires_at: "2025-01-27T09:00:00Z" }, { shared_memory: [] }, { agent_memory: { a: 1 } }];
    for (const change of [...wrong, { lineage: [] }, { lineage: { parent_context: 5 } }, { access_control: { read: "a" } }, { shared_memory: { task_history: {} } }]) equal(valid(change), false, JSON.stringify(change));
  },

  taxonomy(methods) {
    /** @type {string[][]} */
    const groups = Object.values(new Asker(methods).call("taxonomy")["groups"]);
    deepEqual(groups.map((ids) => ids.length), [5, 3, 3, 3, 3]);
    equal(new Set(groups.flat()).size, 17);
    ok(groups.flat().includes("memory-retrieval"));
  },

  error_codes(methods) {
    deepEqual(new Asker(methods).call("error_codes")["codes"].sort(), CODES);
  },

  match(methods) {
    const asker = new Asker(methods);
    const agents = [
      { agent: { id: "one" }, capabilities: [{ id: "x", constraints: { response_time_ms: 1000 } }, { id: "y" }] },
      { agent: { id: "two" }, capabilities: [{ id: "x", constraints: { response_time_ms: 9000 } }] },
      { agent: { id: "three" }, capabilities: [{ id: "x-long" }] },
    ];
    const ids = (/** @type {unknown} */ query) => asker.call("match", { query, agents })["ids"];
    deepEqual(ids({ capabilities: ["x"] }), ["one", "two"]);
    deepEqual(ids({ capabilities: ["x", "y"] }), ["one"]);
    deepEqual(ids({ capabilities: ["x"], constraints: { max_latency_ms: 1000 } }), ["one"]);
    deepEqual(ids({ capabilities: ["x"], constraints: { max_latency_ms: 999 } }), []);
    deepEqual(ids({ capabilities: ["y"], constraints: { max_latency_ms: 1 } }), ["one"]);
    deepEqual(ids({ capabilities: ["x"], constraints: { min_success_rate: 0.9 } }), ["one", "two"]);
    deepEqual(ids({ capabilities: ["z"] }), []);
    const bounds = [[], { min_success_rate: 95 }, { min_success_rate: -0.1 }, { max_latency_ms: -1 }, { max_latency_ms: "soon" }];
    for (const query of ["text", { capabilities: [1] }, { capabilities: "x" }, ...bounds.map((constraints) => ({ constraints }))]) throws(() => ids(query), { code: -32001 });
  },

  context(methods) {
    const asker = new Asker(methods);
    const end = "2025-01-27T11:00:00Z";
    const made = asker.context("create", { context: { session_id: "s", expires_at: end, shared_memory: { k: { n: 1 } }, agent_memory: { a: { p: 1 } } } });
    deepEqual([made["session_id"], made["expires_at"], made["shared_memory"], made["agent_memory"]], ["s", end, { k: { n: 1 } }, { a: { p: 1 } }]);
    equal(made["created_at"].slice(0, 18), NOW.slice(0, 18));
    const one = made["id"];
    equal(made["lineage"].root_context, one);
    equal(asker.context("get", { session_id: "s" })["id"], one);
    deepEqual(asker.context("get", { context_id: one }, "b")["agent_memory"], {});
    asker.context("update", { context_id: one, context: { shared_memory: { j: 2 }, agent_memory: { b: { q: 1 } } } }, "b");
    const seen = asker.context("get", { context_id: one });
    deepEqual([seen["shared_memory"], seen["agent_memory"]], [{ k: { n: 1 }, j: 2 }, { a: { p: 1 } }]);
    throws(() => asker.context("update", { context_id: one, context: { agent_memory: { a: { p: 2 } } } }, "b"), { code: -32003 });
    const child = asker.context("fork", { context_id: one }, "b");
    deepEqual([child["lineage"], child["agent_memory"]], [{ parent_context: one, root_context: one }, { b: { q: 1 } }]);
    asker.context("update", { context_id: child["id"], context: { shared_memory: { k: { n: 9 }, new: 1 } } });
    deepEqual(asker.context("get", { context_id: one })["shared_memory"], { k: { n: 1 }, j: 2 });
    deepEqual(asker.context("fork", { context_id: child["id"] })["lineage"], { parent_context: child["id"], root_context: one });
    const two = asker.context("create", { context: { shared_memory: { k: "two", m: 3 }, access_control: { read: ["a", "c"], write: ["a"] } } })["id"];
    const merged = asker.context("merge", { context_ids: [one, two] });
    deepEqual(merged["shared_memory"], { k: "two", j: 2, m: 3 });
    equal(merged["expires_at"], end);
    ok(![one, two].includes(merged["id"]));
    throws(() => asker.context("get", { context_id: merged["id"] }, "b"), { code: -32003 });
    equal(asker.context("get", { context_id: merged["id"] }, "c")["shared_memory"].k, "two");
    throws(() => asker.context("update", { context_id: two, context: {} }, "c"), { code: -32003 });
    for (const [op, parameters] of /** @type {[string, Json][]} */ ([
      ["get", { context_id: two }],
      ["update", { context_id: two, context: {} }],
      ["fork", { context_id: two }],
      ["merge", { context_ids: [one, two] }],
    ])) {
      throws(() => asker.context(op, parameters, "b"), { code: -32003 });
      const missing = op === "merge" ? { context_ids: [one, "none"] } : { ...parameters, context_id: "none" };
      throws(() => asker.context(op, missing), { code: -32001 });
    }
    for (const content of [{ expires_at: "tomorrow" }, { shared_memory: [] }, { access_control: { read: "a" } }]) throws(() => asker.context("create", { context: content }), { code: -32001 });
    asker.call("set_clock", { now: end });
    throws(() => asker.context("get", { context_id: one }), { code: -32001 });
  },

  canonical(methods) {
    const given = { message: { type: "t", id: "é\u2028\u0007", headers: { signature: 1 }, payload: { "ﬀ": 1, "😀": 2, signature: [1e21, 1e-7, 0.1, -0, 5, 1e20] } } };
    const expected = '{"headers":{},"id":"é\u2028\\u0007","payload":{"signature":[1e+21,1e-7,0.1,0,5,100000000000000000000],"😀":2,"ﬀ":1},"type":"t"}';
    equal(Buffer.from(new Asker(methods).call("canonical", { envelope: given })["bytes"], "hex").toString(), expected);
  },

  sign(methods) {
    const asker = new Asker(methods);
    for (const vector of vectors("signing").filter(({ recipe }) => recipe === "jcs")) {
      const { signature } = read(asker.call("sign", { raw: hex(vector["envelope"]), key: hex(vector["key"]) })["raw"])["message"].headers;
      deepEqual(signature, { algorithm: "HMAC-SHA256", value: vector["base64"] }, vector["id"]);
    }
  },

  verify(methods) {
    const asker = new Asker(methods);
    for (const vector of vectors("signature").filter(({ result }) => result !== "acceptable")) {
      equal(asker.call("verify", { raw: hex(vector["envelope"]), key: hex(vector["key"]) })["valid"], vector["result"] === "valid", vector["id"]);
    }
  },

  make_jwt(methods) {
    const claims = { sub: "proofmark-a", agent_id: "proofmark-a", capabilities: [], iat: 1737972000, exp: 4102444800 };
    equal(new Asker(methods).call("make_jwt", { claims, key: hex(KEY) })["token"], vectors("token")[0]?.["token"]);
  },

  check_jwt(methods) {
    const asker = new Asker(methods);
    for (const vector of vectors("token").filter(({ result }) => result !== "acceptable")) {
      equal(asker.call("check_jwt", { token: vector["token"], key: hex(vector["key"]), now: vector["now"] })["valid"], vector["result"] === "valid", vector["id"]);
    }
    const { token } = asker.call("make_jwt", { claims: { exp: 4102444800, aud: "others" }, key: hex(KEY) });
    equal(asker.call("check_jwt", { token, key: hex(KEY) })["valid"], false);
  },

  negotiate_version(methods) {
    const asker = new Asker(methods);
    for (const [offered, agreed] of [[["1.0"], "1.0"], [["2.0", "1.0"], "1.0"], [["1.3"], "1.0"], [["2.0", "0.9"], null], [["1", "1.0.0", "one", 1], null], [[], null]]) {
      equal(asker.call("negotiate_version", { offered })["agreed"], agreed, JSON.stringify(offered));
    }
  },

  participate(methods) {
    const asker = new Asker(methods);
    const requests = [{ source: { agent_id: "me" }, capability: "x", parameters: {} }];
    const [first, second] = asker.call("participate", { registry_answer: "success", requests })["sent"].map((/** @type {string} */ raw) => read(raw)["message"]);
    deepEqual(first.destination, { agent_id: "registry", capability: "registration" });
    deepEqual([first.source, first.payload.agent.id, second.payload.capability], [{ agent_id: "me" }, "me", "x"]);
    equal(asker.code({ protocol: "AMP/1.0", message: first }), "success");
    equal(asker.call("participate", { registry_answer: "error", requests })["sent"].length, 1);
  },

  invoke(methods) {
    const asker = new Asker(methods);
    const invoked = (/** @type {Json} */ reply) => asker.call("invoke", { mode: "sync", fields: { id: "r-1", capability: "x" }, peer_reply: hex(reply) })["outcome"];
    const reply = (/** @type {Json} */ payload, /** @type {Json} */ more = {}) => asker.message(payload, { type: "response", correlation_id: "r-1", ...more });
    deepEqual(invoked(reply({ status: "success", result: { n: 1 } })), { status: "success", result: { n: 1 } });
    equal(invoked(reply({ status: "partial", result: {} })).status, "partial");
    equal(invoked(reply({ status: "success", result: {} }, { correlation_id: "other" })).error.code, "TIMEOUT");
    equal(invoked(reply({ status: "ok" })).status, "failed");
    for (const code of CODES) {
      const error = { code, message: "m", details: { d: 1 } };
      deepEqual(invoked(reply({ error }, { type: "error" })), { status: "failed", error });
    }
    equal(asker.call("invoke", { mode: "sync", fields: { capability: "x" }, peer_reply: hex("{") })["outcome"].status, "failed");
  },

  poll(methods) {
    const asker = new Asker(methods);
    const peer = asker.message({ status: "success", result: { n: 1 } }, { type: "response", correlation_id: "r-1" });
    const { handle } = asker.call("invoke", { mode: "async", fields: { id: "r-1", capability: "x" }, peer_reply: hex(peer), delay_ms: 60 });
    deepEqual(asker.call("poll", { handle }), { done: false });
    const end = performance.now() + 61;
    while (performance.now() < end);
    deepEqual(asker.call("poll", { handle }), { done: true, outcome: { status: "success", result: { n: 1 } } });
    throws(() => asker.call("poll", { handle: "other" }), { code: -32602 });
  },
};

/** @param {Asker} asker */
function checkRegistry(asker) {
  const register = (/** @type {Json} */ payload) => asker.code(asker.message(payload, { destination: { agent_id: "registry", capability: "registration" } }));
  const discover = () => {
    const { message } = asker.handled(asker.message({ query: { capabilities: ["x"] } }, { destination: { agent_id: "registry", capability: "discovery" } })).reply;
    deepEqual(message.source, { agent_id: "registry" });
    return message.payload.result.agents;
  };
  deepEqual(discover(), []);
  equal(register(REGISTRATION), "success");
  const { authentication: _, ...entry } = REGISTRATION;
  deepEqual(discover(), [entry]); // without the credentials
  const renamed = changed(REGISTRATION, "/agent/name", "another");
  equal(register(renamed), "success");
  deepEqual(discover().map((/** @type {Json} */ found) => found["agent"].name), ["another"]);
  equal(register(changed(renamed, "/authentication/credentials", "guessed")), "AUTHENTICATION_FAILED");
  for (const [place, ...values] of /** @type {[string, ...unknown[]][]} */ ([
    ["/agent", "a", undefined],
    ["/agent/id", "", "registry", 7],
    ["/agent/name", 7, undefined],
    ["/agent/framework", "spreadsheets"],
    ["/capabilities", {}, undefined],
    ["/capabilities/0", "x"],
    ["/capabilities/0/version", undefined],
    ["/endpoints", "http://127.0.0.1/"],
    ["/endpoints/invoke", "/invoke", "ftp://host/"],
    ["/authentication", "secret"],
  ])) {
    for (const value of values) equal(register(changed(REGISTRATION, place, value)), "INVALID_SCHEMA", `${place} ${value}`);
  }
}

/** @param {Asker} asker */
function checkEvents(asker) {
  const { id } = asker.context("create", { context: { session_id: "s", shared_memory: { k: 1 } } });
  const event = (/** @type {unknown} */ context, sender = "a", type = "context_update") => asker.handled(asker.message({ event_type: type, context }, { sender, type: "event" })).status;
  equal(event({ session_id: "s", shared_memory: { j: 2 } }), 204);
  deepEqual(asker.context("get", { context_id: id })["shared_memory"], { k: 1, j: 2 });
  equal(event({ session_id: "unknown" }), 404);
  equal(event("text"), 400);
  equal(event({ session_id: "s", shared_memory: [] }), 400);
  equal(event({}, "a", ""), 400);
  equal(event({}, "a", "other"), 204);
  equal(event({ session_id: "s", agent_memory: { a: { p: 1 } } }, "b"), 403);
}

/** @param {Asker} asker */
function checkNegotiation(asker) {
  const accepted = (/** @type {Json} */ requirements) => asker.handled(asker.message({ negotiation_type: "capability_check", requirements })).reply["message"].payload.result.accepted;
  equal(accepted({ capabilities: ["text-analysis"], estimated_tokens: 1, deadline: "2025-01-27T11:00:00Z" }), true);
  equal(accepted({ capabilities: ["text-analysis", "other"] }), false);
  equal(accepted({ capabilities: ["text-analysis"], deadline: "2025-01-27T09:00:00Z" }), false);
}

/** @param {Methods} methods */
function checkCredentials(methods) {
  const asker = new Asker(methods, { auth: { jwt: { key: KEY }, hmac: { key: KEY, required: true } } });
  const seconds = Date.parse(NOW) / 1000;
  const signed = (/** @type {Json} */ claims = {}) => {
    const { token } = asker.call("make_jwt", { claims: { agent_id: "a", exp: seconds + 600, ...claims }, key: hex(KEY) });
    return read(asker.call("sign", { raw: hex(asker.asked({ authentication: { type: "jwt", token } })), key: hex(KEY) })["raw"]);
  };
  equal(asker.code(signed()), "CAPABILITY_NOT_FOUND");
  equal(asker.code(signed(), "Bearer other"), "AUTHENTICATION_FAILED");
  equal(asker.code(signed({ exp: seconds - 1 })), "AUTHENTICATION_FAILED");
  equal(asker.code(signed({ agent_id: "b" })), "AUTHENTICATION_FAILED");
  equal(asker.code(changed(signed(), "/message/payload/parameters/text", "ho")), "AUTHENTICATION_FAILED");
  equal(asker.code(changed(signed(), "/message/headers/signature", undefined)), "AUTHENTICATION_FAILED");
  const { reply } = asker.handled(signed());
  equal(asker.call("verify", { raw: hex(reply), key: hex(KEY) })["valid"], true);
}

/** @type {Record<string, Bug[]>} */
const BUGS = {
  info: [["no transport", "methods.mjs", 'transports: ["http"]', "transports: []"]],
  reset: [
    ["state is kept", "methods.mjs", "    agent = new Agent({", "    void new Agent({"],
    ["the rate is not limited", "agent.mjs", "recent.length >= rate.requests", "recent.length > rate.requests"],
    ["keys are compared as far as they were sent", "security.mjs", "one.length === other.length && timingSafeEqual(one, other)", "timingSafeEqual(one.subarray(0, other.length), other)"],
    ["unregistered senders are served", "agent.mjs", "enforcesRegistration === true", "enforcesRegistration === false"],
  ],
  set_clock: [["offsets are ignored", "words.mjs", 'found[8] === "-" ? -1 : 1', "0"], ["days that do not exist", "words.mjs", "if (!exists || ", "if ("]],
  define_capability: [
    ["the timeout is ignored", "agent.mjs", "if (ms > timeout) throw", "if (ms > 1e9) throw"],
    ["the timeout is exclusive", "agent.mjs", "if (ms > timeout) throw", "if (ms >= timeout) throw"],
    ["declarations are not checked", "agent.mjs", "if (problem !== undefined) throw malformed(problem.path", "if (problem === null) throw malformed(problem.path"],
  ],
  parse: [
    ["every major version is taken", "envelope.mjs", 'version?.[2] !== "1"', "version === null"],
    ["names are repeated", "json.mjs", 'if (name in object) throw new NotJson("a member name is repeated");', ""],
    ["half characters pass", "json.mjs", "if (LONE.test(value))", "if (false)"],
    ["depth is not limited", "json.mjs", "const MAX_DEPTH = 500", "const MAX_DEPTH = 1e9"],
    ["names are special", "json.mjs", "export const members = () => Object.create(null);", "export const members = () => ({});"],
    ["the type is not checked", "envelope.mjs", "if (!TYPES.some(", "if (TYPES.length === 0 && !TYPES.some("],
  ],
  encode: [["texts are escaped away", "json.mjs", "export const bytesOf = (value) => Buffer.from(JSON.stringify(value));", 'export const bytesOf = (value) => Buffer.from(JSON.stringify(value).replace(/[^\\x20-\\x7e]/g, "?"));']],
  build: [
    ["ids are constant", "envelope.mjs", "id = randomUUID()", 'id = "constant"'],
    ["no zone", "words.mjs", "slice(0, 19)}Z`", "slice(0, 19)}`"],
    ["the tracking id is returned", "envelope.mjs", 'if (isText(message["id"])) headers["correlation_id"] = message["id"];', 'if (isText(message["id"])) headers["correlation_id"] = /** @type {any} */ (message)["headers"].correlation_id;'],
    ["the source is copied", "envelope.mjs", "isText(sender) ? sender : own, kind", "own, kind"],
  ],
  handle: [
    ["incomplete messages are taken", "envelope.mjs", 'if (!isText(id)) throw malformed("/message/id"', 'if (id === 0) throw malformed("/message/id"'],
    ["naive timestamps", "words.mjs", "(?:[Zz]|([+-])(\\d\\d):(\\d\\d))$", "(?:[Zz]|([+-])(\\d\\d):(\\d\\d))?$"],
    ["any priority", "envelope.mjs", "value >= 1 && value <= 10", "value <= 10"],
    ["the schema is ignored", "agent.mjs", "if (wrong !== null)", "if (wrong === 0)"],
    ["only required members are checked", "schema.mjs", "types.length > 0 &&", "types.length > 9 &&"],
    ["the length is ignored", "agent.mjs", "lengthOf(parameters) > most", "lengthOf(parameters) > 1e9"],
    ["the destination decides", "agent.mjs", 'payload["capability"] ?? capability', 'capability ?? payload["capability"]'],
    ["the request's version is echoed", "envelope.mjs", "protocol: `${family}/${VERSION}`", "protocol: `${family}/1.4`"],
    ["unknown agents are served", "agent.mjs", "if (agent !== null && agent !== AGENT_ID)", "if (agent === 0)"],
    ["credentials are not checked", "agent.mjs", "this.#authenticate(message, asked, authorization);", ""],
    ["one valid credential is enough", "agent.mjs", "!given.every(", "!given.some("],
    ["a token of another agent", "agent.mjs", '"claims" in found && (found.claims["agent_id"] ?? found.claims["sub"]) === sender', '"claims" in found'],
    ["unsigned messages pass", "agent.mjs", "!signatureRequired && ", ""],
    ["replies are not signed", "agent.mjs", "hmacKey === undefined ? built :", "hmacKey !== null ? built :"],
    ["credentials are shown", "registry.mjs", "entry: joined({ agent, capabilities, endpoints })", "entry: copied(payload)"],
    ["other credentials replace a registration", "registry.mjs", "known.credentials !== credentials", "known.credentials === 0"],
    ["a second record", "registry.mjs", "this.#agents.set(id,", "this.#agents.set(id + this.#agents.size,"],
    ["events are dropped", "agent.mjs", "this.#event(asked);", ""],
    ["negotiation always says yes", "agent.mjs", "if (missing.length > 0)", "if (missing.length > 9)"],
    ["the deadline is ignored", "agent.mjs", "end <= this.now()", "end < 0"],
  ],
  outbox: [
    ["no callback", "agent.mjs", "this.#sent.push(", "[].push("],
    ["repeated callbacks", "agent.mjs", "this.#sent.splice(0)", "this.#sent"],
    ["no reference", "agent.mjs", "headers: joined({ correlation_id: id })", "headers: joined({})"],
    ["any URL", "agent.mjs", "if (!isUrl(callback))", "if (callback === 0)"],
  ],
  validate_identity: [["versions of any form", "declare.mjs", "typeof value === \"string\" && form.test(value)", "typeof value === \"string\""], ["a reserved id", "declare.mjs", 'agent["id"] !== REGISTRY', "true"]],
  validate_capability: [
    ["schemas are not checked", "schema.mjs", 'if (typeof form === "function" && !form(value))', "if (false)"],
    ["inner schemas are not checked", "schema.mjs", "if (found !== null) return found;\n    }\n  }\n  return null;\n}\n\n/** A `$ref`", "}\n  }\n  return null;\n}\n\n/** A `$ref`"],
    ["ids of any kind", "declare.mjs", "STANDARD.has(id)", "true"],
    ["references of any kind", "schema.mjs", "return Object.values(schema).every((part) => resolves(part, root));", "return true;", ],
    ["languages of any kind", "declare.mjs", "/^[a-z]{2}$/", "/^[a-z]+$/"],
  ],
  validate_context: [["expiry before creation", "declare.mjs", "created <= expires", "true"], ["texts as private state", "declare.mjs", "Object.values(owned).every(isObject)", "true"]],
  taxonomy: [["an id is missing", "words.mjs", '"tool-use", "memory-retrieval"', '"tool-use"']],
  error_codes: [["another spelling", "words.mjs", "  TIMEOUT: 504", '  "TIME-OUT": 504']],
  match: [
    ["one of several", "registry.mjs", "asked.every((name) => decl", "asked.some((name) => decl"],
    ["parts of ids", "registry.mjs", 'capability["id"] === name', 'String(capability["id"]).startsWith(String(name))'],
    ["the bound is exclusive", "registry.mjs", "timeOf(declared) <= latency", "timeOf(declared) < latency"],
    ["unknown latency is excluded", "registry.mjs", 'typeof time === "number" ? time : 0', 'typeof time === "number" ? time : Infinity'],
  ],
  context: [
    ["private state of others", "contexts.mjs", "joined({ [agent]: own })", "joined(Object.fromEntries(context.private))"],
    ["others write private state", "contexts.mjs", "owner !== agent)) throw denied", "owner === 0)) throw denied"],
    ["read lists are ignored", "contexts.mjs", 'if (listed(context.access, "read")?.includes(agent) === false) throw', "if (false) throw"],
    ["write lists are ignored", "contexts.mjs", 'if (listed(context.access, "write")?.includes(agent) === false) throw', "if (false) throw"],
    ["an update replaces", "contexts.mjs", "Object.assign(context.shared, shared)", "context.shared = shared"],
    ["the first value wins", "contexts.mjs", "joined(...sources.map(({ shared }) => shared))", "joined(...sources.map(({ shared }) => shared).reverse())"],
    ["a merge opens", "contexts.mjs", "access: common(sources, agent)", "access: null"],
    ["expiry is ignored", "contexts.mjs", "Number(instant(expires)) <= now", "false"],
    ["a fork shares memory", "contexts.mjs", "shared: copied(shared)", "shared"],
    ["the root is the parent", "contexts.mjs", "root: parent?.root ?? id", "root: parent?.id ?? id"],
    ["a fork is empty", "contexts.mjs", "this.#keep({ session, expires, shared, private: new Map([[agent, own]])", "this.#keep({ session, expires, shared, private: new Map()"],
  ],
  canonical: [
    ["the signature is kept", "security.mjs", "signature: _, ...others", "...others"],
    ["by code points", "json.mjs", "Object.keys(value).sort()", "Object.keys(value).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))"],
    ["nested signatures go, too", "json.mjs", "const names = Object.keys(value).sort();", 'const names = Object.keys(value).filter((name) => name !== "signature").sort();'],
  ],
  sign: [["hexadecimal", "security.mjs", 'const value = digest(signedText(message), key).toString("base64")', 'const value = digest(signedText(message), key).toString("hex")']],
  verify: [
    ["any algorithm", "security.mjs", 'signature["algorithm"] !== ALGORITHM', "false"],
    ["never checked", "security.mjs", "matches.includes(true)", "matches.length === 2"],
    ["no hexadecimal", "security.mjs", 'expected.toString("hex")', '""'],
  ],
  make_jwt: [["padded", "security.mjs", 'Buffer.from(data).toString("base64url")', 'Buffer.from(data).toString("base64")']],
  check_jwt: [
    ["expiry is ignored", "security.mjs", "exp * 1000 <= now", "exp * 1000 <= 0"],
    ["the signature is ignored", "security.mjs", "if (!equal(third,", "if (false && !equal(third,"],
    ["any algorithm", "security.mjs", 'header["alg"] !== "HS256"', "false"],
    ["any audience", "security.mjs", "if (![aud].flat().includes(AUDIENCE))", "if (false)"],
    ["any spelling", "security.mjs", "const isWritten = parts.length === 3 &&", "const isWritten = parts.length >= 3 ||"],
  ],
  negotiate_version: [["any major", "envelope.mjs", "exec(`AMP/${version}`)?.[2] === \"1\"", "test(`AMP/${version}`)"]],
  participate: [["registers in any case", "client.mjs", "...(isRegistered ? ", "...(true ? "], ["under another id", "methods.mjs", "joined(IDENTITY, { id })", "joined(IDENTITY)"]],
  invoke: [["correlation is ignored", "client.mjs", "told !== id &&", "false &&"], ["any status", "client.mjs", 'STATUSES.includes(String(payload["status"]))', "true"]],
  poll: [["done at once", "client.mjs", "performance.now() >= call.due ?", "true ?"]],
};

provenTests("meshai", real, CHECKS, BUGS);
