// Tests of the agentic-mesh library. Expected values come from the draft and its errata.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import test from "node:test";

import { MAX_DEPTH, NotJson, Numeral, parse, stringify } from "../agentic-mesh/json.mjs";
import { methods } from "../agentic-mesh/methods.mjs";
import { LOCK, opened } from "../agentic-mesh/seal.mjs";

/** @typedef {Record<string, any>} Json */

const NEXT = "urn:agentic:mesh:role:next";
const NONE = "urn:agentic:mesh:role:none";
const ULTIMATE = "urn:agentic:mesh:role:ultimateReceiver";
const MINE = "urn:x:mine";
const OTHER = "urn:x:mine:not";
const BEHAVIOURS = ["noop", "reinsert", "fail", "annotate", "augment", "redact"];

/** @param {Json} [more] */
const node = (more = {}) => ({
  uri: "urn:x:node:a",
  kind: "ultimateReceiver",
  roles: [MINE],
  understands: BEHAVIOURS.map((behaviour) => ({ type: `urn:x:${behaviour}`, behaviour })),
  ...more,
});
const RECEIVER = node();
const RELAY = node({ kind: "intermediary" });

/** A valid message; `change` gets its Envelope. @param {(envelope: Json) => void} [change] */
function message(change) {
  /** @type {Json} */
  const envelope = {
    Header: { messageId: "m-1", traceId: "t-1", roles: ["planner"], routingIntent: "direct", ttl: 8 },
    Body: { task: "echo", expectedOutput: ["echo"], context: { proofmark: "n" } },
    MemoryGram: { nodes: [{ id: "n1", metadata: { importance: 0.5 } }], edges: [{ source: "n1", target: "elsewhere", weight: 0.5 }], mode: "snapshot", encoding: "json" },
  };
  change?.(envelope);
  return { Envelope: envelope };
}

/** @param {string} behaviour @param {Json} [more] */
const block = (behaviour, more = {}) => ({ type: `urn:x:${behaviour}`, role: NEXT, mustUnderstand: true, content: {}, ...more });

/** @param {...Json} blocks */
const withBlocks = (...blocks) => message((e) => (e["Header"].headers = blocks));

/** @param {string} method @param {Json} params @returns {Json} */
const call = (method, params) => /** @type {Json} */ (methods.get(`agentic-mesh/${method}`)?.(params));

/** @param {unknown} value */
const hex = (value) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("hex");

/** @param {string} digits @returns {Json} */
const read = (digits) => JSON.parse(Buffer.from(digits, "hex").toString());

/** The code of the fault, or delivered or forwarded. @param {unknown} value @param {Json} [at] */
function outcome(value, at = RECEIVER) {
  const result = call("process", { message_hex: hex(value), node: at });
  return result["outcome"] === "fault" ? result["faults"][0].code : result["outcome"];
}

/** @param {unknown} value */
const copyOf = (value) => read(call("process", { message_hex: hex(value), node: RELAY })["forwarded_hex"][0]).Envelope;

test("a value is written as it was read", () => {
  const text = '{"":-0,"__proto__":[1.0,1e400,12345678901234567890.10,{}],"10":1,"9":"\\u0001\\"\\\\\\ud800 é🔐","a":[null,true,[]]}';
  equal(stringify(parse(Buffer.from(text))), text);
  const bad = ["", "{", "[1,]", '{"a":1,}', "01", "+1", ".5", "1.", "NaN", "tru", '"\t"', '"\\x41"', "1 2", '"a', '{"a":1,"\\u0061":2}', "[1}", '{"a" 1}', "/**/1", "[".repeat(MAX_DEPTH + 2)];
  for (const one of bad) throws(() => parse(Buffer.from(one)), NotJson, one);
  throws(() => parse(Buffer.from("22ff22", "hex")), NotJson);
});

test("numbers are compared exactly", () => {
  for (const [spelling, value] of /** @type {[string, bigint | null][]} */ ([
    ["5.0", 5n], ["1e1", 10n], ["-0", 0n], ["0e999999999", 0n], ["1.5", null], ["1e999999999", null], ["18446744073709551617", 18446744073709551617n], ["150e-1", 15n], ["15e-1", null],
  ])) equal(new Numeral(spelling).integer(), value, spelling);
  for (const spelling of ["0", "1", "0.0", "1.0", "0.5", "1e-500", "10e-1", "0e5"]) ok(new Numeral(spelling).isShare(), spelling);
  for (const spelling of ["-0.01", "1.01", "2", "1.00000000000000000001", "1e5", "11e-1"]) ok(!new Numeral(spelling).isShare(), spelling);
});

test("structure, header and version", () => {
  equal(outcome(message()), "delivered");
  equal(outcome(message(), RELAY), "forwarded");
  for (const bad of ["", "{", {}, [], "null", message().Envelope, { Envelope: null }, { Envelope: [] }]) equal(outcome(bad), "amp:Sender");
  for (const name of ["Header", "Body", "MemoryGram"]) {
    for (const value of [null, [], "x", 1, undefined]) {
      for (const at of [RECEIVER, RELAY]) equal(outcome(message((e) => (e[name] = value)), at), "amp:Sender", name);
    }
  }
  for (const name of ["messageId", "traceId", "roles", "routingIntent", "ttl"]) {
    for (const value of [undefined, null, true, {}]) equal(outcome(message((e) => (e["Header"][name] = value)), RELAY), "amp:Sender", name);
  }
  for (const value of ["BYOE", true, [], 1]) equal(outcome(message((e) => (e["Header"].encryption = value))), "amp:Sender");
  for (const value of ["99.0", "2.0-never", 1, []]) {
    equal(outcome(message((e) => Object.assign(e["Header"], { version: value, ttl: 0 }))), "amp:VersionMismatch");
  }
  equal(outcome(message((e) => Object.assign(e["Header"], { version: "1.0", extra: [1] }))), "delivered");
  equal(outcome(message((e) => (e["Body"].version = "99.0"))), "delivered");
});

test("ttl", () => {
  for (const ttl of [0, 1, -1]) for (const at of [RECEIVER, RELAY]) equal(outcome(message((e) => (e["Header"].ttl = ttl)), at), "amp:TTLExpired");
  for (const ttl of [1.5, "5"]) equal(outcome(message((e) => (e["Header"].ttl = ttl))), "amp:Sender");
  equal(copyOf(message((e) => (e["Header"].ttl = 2))).Header.ttl, 1);
  const large = JSON.stringify(message()).replace('"ttl":8', '"ttl":18446744073709551616');
  ok(Buffer.from(call("process", { message_hex: hex(large), node: RELAY })["forwarded_hex"][0], "hex").toString().includes('"ttl":18446744073709551615}'));
});

test("the earlier step wins", () => {
  const unknown = { type: "urn:u", role: NEXT, mustUnderstand: true };
  /** @type {[string, (e: Json) => void][]} */
  const pairs = [
    ["amp:Sender", (e) => Object.assign(e["Header"], { traceId: undefined, ttl: 0, headers: [unknown] })],
    ["amp:TTLExpired", (e) => Object.assign(e["Header"], { ttl: 0, headers: [unknown] })],
    ["amp:MustUnderstand", (e) => (Object.assign(e["Header"], { headers: [block("fail", { content: { fail: true } }), unknown] }), (e["MemoryGram"].mode = 1))],
    ["amp:InvalidMemoryGram", (e) => ((e["MemoryGram"].mode = 1), (e["Body"].task = "proofmark-refuse"))],
  ];
  for (const [code, change] of pairs) equal(outcome(message(change)), code);
});

test("bodies and replies", () => {
  for (const [name, value] of [["task", 3], ["task", undefined], ["expectedOutput", "x"], ["context", []]]) equal(outcome(message((e) => (e["Body"][String(name)] = value))), "amp:Sender");
  equal(outcome(message((e) => (e["Body"].task = "proofmark-refuse"))), "amp:Receiver");
  equal(outcome(message((e) => (e["Body"].task = "proofmark-refuse")), RELAY), "forwarded");
  const reply = read(call("process", { message_hex: hex(message()), node: RECEIVER })["reply_hex"]).Envelope;
  deepEqual(reply.Body.context.echo, { proofmark: "n" });
  equal(reply.Header.traceId, "t-1");
  ok(reply.Header.messageId !== "m-1");
});

test("targeting and understanding", () => {
  /** @type {[string, string, string][]} */
  const rows = [
    [NEXT, "amp:MustUnderstand", "amp:MustUnderstand"], [MINE, "amp:MustUnderstand", "amp:MustUnderstand"], [ULTIMATE, "amp:MustUnderstand", "forwarded"],
    [NONE, "delivered", "forwarded"], [OTHER, "delivered", "forwarded"],
  ];
  for (const [role, receiver, relay] of rows) {
    const bad = withBlocks(block("noop"), { type: "urn:u", role, mustUnderstand: true, relay: true });
    equal(outcome(bad), receiver, role);
    equal(outcome(bad, RELAY), relay, role);
    equal(outcome(withBlocks({ type: "urn:u", role })), "delivered");
  }
  const value = withBlocks({ type: "urn:u", role: NEXT, mustUnderstand: true }, block("noop", { role: MINE }), block("noop", { role: OTHER }), { type: "urn:w", role: NEXT });
  deepEqual(call("target", { message_hex: hex(value), node: RELAY }), { targeted: [0, 1, 3], mandatory: [0, 1], not_understood: [0] });
  equal(outcome(withBlocks(block("fail", { content: { fail: false } }), block("fail", { content: { fail: true } }))), "amp:Receiver");
  equal(outcome(withBlocks(block("fail", { fail: true }))), "delivered");
});

test("the forwarding table", () => {
  const types = (/** @type {Json[]} */ ...blocks) => copyOf(withBlocks(...blocks)).Header.headers.map((/** @type {Json} */ one) => one["type"]);
  for (const role of [NEXT, MINE]) {
    deepEqual(types(block("noop", { role, relay: true }), block("reinsert", { role }), { type: "u", role, relay: true }, { type: "v", role }, { type: "w", role }), ["urn:x:reinsert", "u"]);
  }
  for (const role of [OTHER, ULTIMATE, NONE, undefined]) deepEqual(types(block("noop", { role }), block("fail", { role, content: { fail: true } }), { type: "u", role }), ["urn:x:noop", "urn:x:fail", "u"]);
});

test("a copy changes nothing else", () => {
  const sent = JSON.stringify(message((e) => Object.assign(e["Header"], { x: { y: [null] }, headers: [] }))).replace('"n"}', '"n","big":12345678901234567890.50,"e":1e400,"":[{},[]]}');
  const copy = Buffer.from(call("process", { message_hex: hex(sent), node: RELAY })["forwarded_hex"][0], "hex").toString();
  equal(copy.replace('"ttl":7', '"ttl":8').replace(/"traceId":"t-1[^"]+"/, '"traceId":"t-1"'), sent);
});

test("forward builds the copy alone", () => {
  const value = withBlocks(block("a"), block("b", { mustUnderstand: false }), block("c", { role: OTHER }), block("d", { relay: true }));
  const params = { message_hex: hex(value), node: RELAY, processed: [0], reinserted: [{ index: 0, block_hex: hex({ type: "again" }) }] };
  deepEqual(read(call("forward", params)["message_hex"]).Envelope.Header.headers.map((/** @type {Json} */ one) => one["type"]), ["again", "urn:x:c", "urn:x:d"]);
});

test("blocks that change the message", () => {
  const graph = { nodes: [{ id: "note", metadata: { k: 1, processedBy: ["urn:first"] } }, { id: "b" }] };
  const noted = copyOf(message((e) => ((e["MemoryGram"] = graph), (e["Header"].headers = [block("annotate")])))).MemoryGram.nodes;
  deepEqual(noted.map((/** @type {Json} */ one) => one["metadata"].processedBy), [["urn:first", "urn:x:node:a"], ["urn:x:node:a"]]);
  equal(noted[0].metadata.k, 1);
  const added = copyOf(message((e) => ((e["MemoryGram"] = graph), (e["Header"].headers = [block("augment"), block("augment")])))).MemoryGram.nodes;
  equal(new Set(added.map((/** @type {Json} */ one) => one["id"])).size, 4);
  deepEqual(copyOf(message((e) => ((e["Body"].context.secret = 1), (e["Header"].headers = [block("redact", { content: { member: "secret" } })])))).Body.context, { proofmark: "n" });
});

test("memorygrams", () => {
  const code = (/** @type {unknown} */ graph) => call("memorygram_check", { memorygram_hex: hex(graph) })["code"];
  const edge = { source: "a", target: "b" };
  for (const graph of [{}, { nodes: [{ id: "a", x: 1 }, { id: "A" }] }, { edges: [0, 1, 0.5].map((weight) => ({ ...edge, weight })) }]) equal(code(graph), null);
  const bad = [
    [], { nodes: {} }, { edges: "x" }, { mode: 1 }, { encoding: [] }, { nodes: [{}] }, { nodes: [{ id: 7 }] }, { nodes: [{ id: "a" }, { id: "a" }] }, { nodes: [{ id: "a", type: 3 }] },
    { nodes: [{ id: "a", metadata: [] }] }, { edges: [{ source: "a" }] }, ...["0.8", null, true, -0.01, 1.01].map((weight) => ({ edges: [{ ...edge, weight }] })), { edges: [{ ...edge, context: 4 }] },
  ];
  for (const graph of bad) equal(code(graph), "amp:InvalidMemoryGram", JSON.stringify(graph));
  const path = { nodes: ["a", "b", "c"].map((id) => ({ id })), edges: [edge, { source: "b", target: "c" }] };
  deepEqual(read(call("memorygram_filter", { memorygram_hex: hex(path), drop: ["c"] })["memorygram_hex"]), { nodes: [{ id: "a" }, { id: "b" }], edges: [edge] });
  const more = read(call("memorygram_augment", { memorygram_hex: hex(path), node_uri: "urn:x:n", nodes: [{ id: "a" }], edges: [{ source: "b", target: "a" }] })["memorygram_hex"]);
  equal(more.nodes[3].metadata.addedBy, "urn:x:n");
  equal(more.edges[2].target, more.nodes[3].id);
  ok(more.nodes[3].id !== "a");
});

test("encryption", () => {
  const value = message((e) => Object.assign(e["Body"].context, { draftPlan: "secret words", z: 1 }));
  const sealed = parse(Buffer.from(call("encrypt_field", { message_hex: hex(value), pointer: "/Envelope/Body/context/draftPlan", encrypted_for: "legal" })["message_hex"], "hex"));
  const context = JSON.parse(stringify(sealed)).Envelope.Body.context;
  deepEqual(Object.keys(context), ["proofmark", `draftPlan${LOCK}`, "z"]);
  equal(context[`draftPlan${LOCK}`].encryptedFor, "legal");
  const member = /** @type {import("../mesh-types.js").Members} */ (parse(Buffer.from(JSON.stringify(context[`draftPlan${LOCK}`]))));
  equal(opened(member), "secret words");
  const whole = call("encrypt_section", { message_hex: hex(value), encrypted_for: "legal" })["message_hex"];
  ok(!Buffer.from(whole, "hex").toString().includes('"n1"'));
  equal(read(whole).Envelope.Header.encryption.type, "BYOE");
  equal(call("process", { message_hex: whole, node: RELAY })["outcome"], "forwarded");
});

test("faults are found in many places, and what is built can be processed", () => {
  const code = "amp:Sender";
  for (const fault of [{ Envelope: { Body: { fault: { code: { value: code } } } } }, { Envelope: { Body: { Fault: { Code: { Value: code } } } } }, { fault: [{ code }] }, { error: { code } }, { faultCode: code }, { code }, { a: [{ theCode: code }] }, { error: code }]) {
    deepEqual(call("read_fault", { message_hex: hex(fault) }), { is_fault: true, code });
  }
  for (const other of [message(), [], "{", { statusCode: 200 }]) deepEqual(call("read_fault", { message_hex: hex(other) }), { is_fault: false, code: null });
  const built = call("build", { header: { ttl: 3 }, blocks: [block("noop")], node: RECEIVER })["message_hex"];
  equal(call("process", { message_hex: built, node: RECEIVER })["outcome"], "delivered");
  equal(call("read_fault", call("fault", { code: "amp:Receiver", reason: "r", inbound_hex: built, node: RECEIVER }))["code"], "amp:Receiver");
  equal(call("parse", { message_hex: built, node: RECEIVER })["blocks"].length, 1);
  throws(() => call("process", { message_hex: built, node: node({ header_blocks_at: "none" }) }), { code: -32001 });
});
