/**
 * The methods of the adapter: params to calls of the library, results and faults back.
 *
 * Replace this file to test your own library.
 *
 * @import { Method, Params } from "../types.js"
 * @import { Behaviour, Members, NodeSetup, Outcome, Value } from "../mesh-types.js"
 */
import * as rpc from "../rpc.mjs";
import { blocksOf, notUnderstood, ULTIMATE_RECEIVER } from "./blocks.mjs";
import * as emit from "./emit.mjs";
import { CODE_AT, codeIn, Fault } from "./fault.mjs";
import * as graphs from "./graph.mjs";
import { fromPlain, NotJson, parse, stringify } from "./json.mjs";
import { input, read } from "./message.mjs";
import { processMessage } from "./process.mjs";
import * as seal from "./seal.mjs";

const ABOUT = { name: "agentic-mesh-typescript", version: "0.1.0" };
const BLOCKS_AT = "/Envelope/Header/headers";
const NEXT = "urn:agentic:mesh:role:next";
const NONE = "urn:agentic:mesh:role:none";
const URI = "urn:proofmark:mesh:node:typescript";
const CANNOT_SET_UP = -32001;
const BEHAVIOURS = ["noop", "reinsert", "fail", "annotate", "augment", "redact"];

// --- Params and results -----------------------------------------------------------------------------------------------------

/** @param {string} message */
const wrong = (message) => new rpc.RpcError(rpc.INVALID_PARAMS, message);

/**
 * @param {unknown} value
 * @returns {value is Record<string, unknown>}
 */
function isObject(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/**
 * @param {Params} params
 * @param {string} name
 * @returns {unknown[]}
 */
function list(params, name) {
  const value = params[name] ?? [];
  if (!Array.isArray(value)) throw wrong(`${name} must be an array`);
  return value;
}

/**
 * @param {Params} params
 * @param {string} name
 */
function strings(params, name) {
  return list(params, name).map((value) => {
    if (typeof value !== "string") throw wrong(`${name} must hold strings`);
    return value;
  });
}

/**
 * The node of the params: what a node is told, with the core roles (4.2).
 *
 * @param {Params} params
 * @returns {NodeSetup}
 */
function nodeOf(params) {
  const given = params["node"] ?? {};
  if (!isObject(given)) throw wrong("node must be an object");
  const isIntermediary = given["kind"] === "intermediary";
  const cannot = (/** @type {string} */ reason) => new rpc.RpcError(CANNOT_SET_UP, reason);
  if (!isIntermediary && (given["kind"] ?? "ultimateReceiver") !== "ultimateReceiver") throw cannot("unknown kind");
  /** @type {Map<string, Behaviour>} */
  const understands = new Map();
  for (const entry of list(given, "understands")) {
    if (!isObject(entry) || typeof entry["type"] !== "string") throw wrong("understands must hold objects with type and behaviour");
    if (!BEHAVIOURS.includes(String(entry["behaviour"]))) throw cannot(`unknown behaviour ${entry["behaviour"]}`);
    understands.set(entry["type"], /** @type {Behaviour} */ (entry["behaviour"]));
  }
  const blocksAt = rpc.optionalText(given, "header_blocks_at") ?? BLOCKS_AT;
  if (!blocksAt.startsWith("/Envelope/")) throw cannot(`header blocks cannot be at ${blocksAt}`);
  if (!strings({ versions: given["versions"] ?? ["1.0"] }, "versions").includes("1.0")) throw cannot("only version 1.0 is implemented");
  const tasks = given["tasks"] ?? { echo: "accept", "proofmark-refuse": "refuse" };
  return {
    uri: rpc.optionalText(given, "uri") ?? URI,
    isIntermediary,
    roles: [NEXT, ...(isIntermediary ? [] : [ULTIMATE_RECEIVER]), ...strings(given, "roles").filter((role) => role !== NONE)],
    understands,
    validates: (given["memorygram"] ?? "validates") === "validates",
    blocksAt,
    tasks: new Map(isObject(tasks) ? Object.entries(tasks).map(([task, word]) => [task, String(word)]) : []),
  };
}

/**
 * The JSON value in hex. The library parses the bytes, so that its parser is tested.
 *
 * @param {Params} params
 * @param {string} [name]
 * @returns {Value}
 */
function value(params, name = "message_hex") {
  try {
    return parse(rpc.bytes(params, name));
  } catch (error) {
    throw error instanceof NotJson ? wrong(`${name}: ${error.message}`) : error;
  }
}

/**
 * @param {Params} params
 * @param {string} [name]
 * @returns {Members}
 */
function members(params, name) {
  const found = value(params, name);
  if (!(found instanceof Map)) throw wrong(`${name} must hold an object`);
  return found;
}

/**
 * The message of the params, which has to be well formed, with its blocks.
 *
 * @param {Params} params
 */
function wellFormed(params) {
  const node = nodeOf(params);
  try {
    const message = read(input(rpc.bytes(params, "message_hex")));
    return { node, message, blocks: blocksOf(message.top, node) };
  } catch (error) {
    throw error instanceof Fault ? wrong(`not a message: ${error.message}`) : error;
  }
}

/** @param {Value} found */
const hex = (found) => Buffer.from(stringify(found)).toString("hex");

/**
 * @param {{ code: string, reason: string, types: readonly string[] }} problem
 * @param {NodeSetup} node
 * @param {Value} inbound
 */
const faultObject = (problem, node, inbound) => ({
  code: problem.code,
  reason: problem.reason,
  message_hex: hex(emit.fault(problem, node, inbound)),
});

/**
 * JSON-RPC has doubles only. A ttl beyond them is out of range for every caller.
 *
 * @param {bigint | null} count
 */
const number = (count) => (count === null ? null : Number(count));

// --- Messages ---------------------------------------------------------------------------------------------------------------

/** @type {Method} */
const describe = (params) => ({
  ...ABOUT,
  node_uri: nodeOf(params).uri,
  envelope_versions: ["1.0"],
  header_blocks_at: BLOCKS_AT,
  fault_code_at: CODE_AT,
  memorygram: "validates",
  methods: [...methods.keys()].filter((name) => name !== "describe").sort(),
});

/** Steps 1 and 3 and the blocks; nothing is processed. @type {Method} */
function parseMessage(params) {
  const node = nodeOf(params);
  /** @type {Value} */
  let inbound = null;
  try {
    inbound = input(rpc.bytes(params, "message_hex"));
    const message = read(inbound);
    return {
      ok: true,
      version: message.header.get("version") ?? "1.0",
      header_hex: hex(message.header),
      body_hex: hex(message.body),
      memorygram_hex: hex(message.graph),
      blocks: blocksOf(message.top, node).map((block) => ({
        index: block.index,
        type: block.type,
        role: block.role,
        must_understand: block.mandatory,
        relay: block.relayable,
      })),
    };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { ok: false, fault: faultObject({ code: error.code, reason: error.message, types: error.types }, node, inbound) };
  }
}

/** @type {Method} */
function process(params) {
  const node = nodeOf(params);
  /** @type {Outcome} */
  const out = processMessage(rpc.bytes(params, "message_hex"), node);
  return {
    outcome: out.kind,
    faults: out.fault === null ? [] : [faultObject(out.fault, node, out.input)],
    forwarded_hex: out.forwarded === null ? [] : [hex(out.forwarded)],
    reply_hex: out.reply === null ? null : hex(out.reply),
    roles: node.roles,
    processed_blocks: out.processed,
    body_processed: out.bodyProcessed,
    memorygram_used: out.memorygramUsed,
    ttl_after: number(out.ttlAfter),
  };
}

/** @type {Method} */
function target(params) {
  const { node, blocks } = wellFormed(params);
  const targeted = blocks.filter((block) => block.isTargeted);
  return {
    targeted: targeted.map((block) => block.index),
    mandatory: targeted.filter((block) => block.mandatory).map((block) => block.index),
    not_understood: notUnderstood(blocks, node).map((block) => block.index),
  };
}

/** @type {Method} */
function forward(params) {
  const { node, message } = wellFormed(params);
  /** @type {Map<number, Members>} */
  const again = new Map();
  for (const entry of list(params, "reinserted")) {
    if (!isObject(entry)) throw wrong("reinserted must hold objects");
    again.set(Number(entry["index"]), members(entry, "block_hex"));
  }
  return { message_hex: hex(emit.forwarded(message, node, new Set(list(params, "processed").map(Number)), again)) };
}

/** @type {Method} */
function build(params) {
  const part = (/** @type {string} */ name) => {
    const found = fromPlain(params[name]);
    if (found !== null && !(found instanceof Map)) throw wrong(`${name} must be an object`);
    return found;
  };
  const blocks = params["blocks"] === undefined || params["blocks"] === null ? null : list(params, "blocks").map(fromPlain);
  const parts = { header: part("header") ?? new Map(), body: part("body"), graph: part("memorygram"), blocks };
  return { message_hex: hex(emit.built(parts, nodeOf(params))) };
}

/** @type {Method} */
function fault(params) {
  /** @type {Value} */
  let inbound = null;
  try {
    if (rpc.optionalText(params, "inbound_hex") !== undefined) inbound = parse(rpc.bytes(params, "inbound_hex"));
  } catch (error) {
    if (!(error instanceof NotJson)) throw error; // text that is not JSON has nothing to copy
  }
  const problem = { code: rpc.text(params, "code"), reason: rpc.optionalText(params, "reason") ?? "" };
  return { message_hex: hex(emit.fault(problem, nodeOf(params), inbound)) };
}

/** @type {Method} */
function readFault(params) {
  /** @type {string | null} */
  let code = null;
  try {
    code = codeIn(parse(rpc.bytes(params, "message_hex")));
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
  }
  return { is_fault: code !== null, code };
}

// --- MemoryGrams and encryption ---------------------------------------------------------------------------------------------

/** @type {Method} */
function memorygramCheck(params) {
  try {
    graphs.check(value(params, "memorygram_hex"));
  } catch (error) {
    if (error instanceof Fault) return { valid: false, code: error.code };
    throw error;
  }
  return { valid: true, code: null };
}

/** @type {(change: (graph: Members, params: Params) => void) => Method} */
const changed = (change) => (params) => {
  const graph = members(params, "memorygram_hex");
  change(graph, params);
  return { memorygram_hex: hex(graph) };
};

/** @type {(change: (message: Value, params: Params) => boolean) => Method} */
const encrypted = (change) => (params) => {
  const message = value(params);
  if (!change(message, params)) throw wrong("there is nothing to encrypt at that place");
  return { message_hex: hex(message) };
};

/** @type {ReadonlyMap<string, Method>} */
export const methods = new Map(
  Object.entries(
    /** @type {Record<string, Method>} */ ({
      describe: () => ({ ...ABOUT, protocols: ["agentic-mesh"], operations: [...methods.keys()] }),
      "agentic-mesh/describe": describe,
      "agentic-mesh/parse": parseMessage,
      "agentic-mesh/process": process,
      "agentic-mesh/target": target,
      "agentic-mesh/forward": forward,
      "agentic-mesh/build": build,
      "agentic-mesh/fault": fault,
      "agentic-mesh/read_fault": readFault,
      "agentic-mesh/memorygram_check": memorygramCheck,
      "agentic-mesh/memorygram_annotate": changed((graph, params) =>
        graphs.annotate(graph, rpc.text(params, "node_uri"), Array.isArray(params["ids"]) ? new Set(params["ids"]) : null),
      ),
      "agentic-mesh/memorygram_augment": changed((graph, params) =>
        graphs.augment(graph, rpc.text(params, "node_uri"), list(params, "nodes").map(fromPlain), list(params, "edges").map(fromPlain)),
      ),
      "agentic-mesh/memorygram_filter": changed((graph, params) => graphs.drop(graph, new Set(list(params, "drop")))),
      "agentic-mesh/encrypt_field": encrypted((message, params) =>
        seal.encryptField(message, rpc.text(params, "pointer"), rpc.text(params, "encrypted_for")),
      ),
      "agentic-mesh/encrypt_section": encrypted((message, params) => seal.encryptSection(message, rpc.text(params, "encrypted_for"))),
    }),
  ),
);
