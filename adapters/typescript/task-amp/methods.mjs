/**
 * The methods of the adapter: params to calls of the library, and answers back to JSON-RPC.
 *
 * Replace this file to test your own library.
 *
 * @import { Method, Params } from "../types.js"
 * @import { Defect, Json, Message } from "../task-types.js"
 */
import * as rpc from "../rpc.mjs";
import { BadEvent, Engine, recordOf } from "./engine.mjs";
import { ack, build, Invalid, NotAddressed } from "./messages.mjs";
import { Coordinator, Executor, Reviewer, System } from "./roles.mjs";
import { defectsOf, isObject, payloadDefects } from "./rules.mjs";
import { HEARTBEAT_SECONDS, isRoute, isType, msgId, NotJson, parse, partsOf, requiresAck, timeoutOf } from "./words.mjs";

const FAILED = -32000;
const MALFORMED = -32010;
const INVALID = -32011;
const NOT_ADDRESSED = -32012;

/** @type {Readonly<Record<string, (now: number, heartbeatSeconds: number) => Engine>>} */
const ROLES = {
  coordinator: (now) => new Coordinator(now),
  executor: (now) => new Executor(now),
  reviewer: (now) => new Reviewer(now),
  system: (now, heartbeatSeconds) => new System(now, heartbeatSeconds),
};

/** @type {Map<string, Engine>} */
const engines = new Map();
let opened = 0;

// --- Params -----------------------------------------------------------------------------------------------------------------

/** @param {string} message */
const wrong = (message) => new rpc.RpcError(rpc.INVALID_PARAMS, message);

/** @param {Params} params @param {string} name @returns {Json} */
const value = (params, name) => (Object.hasOwn(params, name) ? /** @type {Json} */ (params[name]) : null);

/** @param {Params} params @param {string} name */
function object(params, name) {
  const found = value(params, name);
  if (!isObject(found)) throw wrong(`${name} must be an object`);
  return found;
}

/** @param {Params} params @param {string} name */
function count(params, name) {
  const found = rpc.optionalInteger(params, name);
  if (found === undefined || found < 0) throw wrong(`${name} must be a non-negative integer`);
  return found;
}

/** @param {Params} params */
function engineOf(params) {
  const found = engines.get(rpc.text(params, "engine"));
  if (found === undefined) throw wrong("unknown engine");
  return found;
}

/** @param {Defect[]} errors */
const validity = (errors) => ({ valid: errors.length === 0, errors });

/** The message in the params. @param {Params} params @returns {{ message: Json } | { defect: Defect }} */
function messageIn(params) {
  if (!Object.hasOwn(params, "raw_hex")) return { message: value(params, "message") };
  const bytes = rpc.bytes(params, "raw_hex");
  try {
    return { message: parse(bytes) };
  } catch (error) {
    if (error instanceof NotJson) return { defect: { code: "invalid_json", path: "" } };
    throw error;
  }
}

// --- Methods ----------------------------------------------------------------------------------------------------------------

/** @type {Record<string, Method>} */
const METHODS = {
  info: () => ({ name: "task-amp-typescript", version: "0.1.0", ops: Object.keys(METHODS).sort(), roles: Object.keys(ROLES) }),

  validate: (params) => {
    const dispatch = value(params, "dispatch");
    if (dispatch !== null && defectsOf(dispatch).length > 0) throw wrong("the dispatch is not valid");
    const found = messageIn(params);
    if ("defect" in found) return validity([found.defect]);
    return validity(defectsOf(found.message, /** @type {Message | null} */ (/** @type {unknown} */ (dispatch)), rpc.optionalText(params, "receiver")));
  },

  validate_payload: (params) => validity(payloadDefects(params["type"], value(params, "payload"))),

  parse_msg_id: (params) => {
    const parts = partsOf(params["msg_id"]);
    if (parts === null) throw new rpc.RpcError(MALFORMED, "not a msg_id");
    return { type: parts.type, task_id: parts.taskId, unix_ms: parts.unixMs };
  },

  make_msg_id: (params) => {
    const made = msgId(rpc.text(params, "type"), rpc.text(params, "task_id"), count(params, "unix_ms"));
    if (partsOf(made) === null) throw new rpc.RpcError(MALFORMED, "these parts make no msg_id");
    return { msg_id: made };
  },

  build: (params) => {
    const [type, from, to, taskId] = ["type", "from", "to", "task_id"].map((name) => rpc.text(params, name));
    const message = build({
      type: type ?? "",
      from: from ?? "",
      to: to ?? "",
      taskId: taskId ?? "",
      payload: value(params, "payload"),
      now: count(params, "now_ms"),
      requiresAck: value(params, "requires_ack"),
      timeout: value(params, "ack_timeout_sec"),
      context: value(params, "context_ref") ?? [],
    });
    return { message, raw_hex: Buffer.from(JSON.stringify(message)).toString("hex") };
  },

  check_route: ({ type, from, to }) => ({ allowed: isRoute(type, from, to) }),

  ack_required: ({ type }) => {
    if (!isType(type)) throw wrong("unknown type");
    return { required: requiresAck(type) };
  },

  ack_timeout: (params) => ({ ack_timeout_sec: timeoutOf(object(params, "message")) }),

  ack: (params) => {
    const message = object(params, "message");
    rpc.text(message, "msg_id");
    return { ack: ack(/** @type {any} */ (message), rpc.text(params, "actor"), count(params, "now_ms")) };
  },

  engine_new: (params) => {
    const role = rpc.text(params, "role");
    const open = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
    if (open === undefined) throw wrong(`unknown role ${role}`);
    const config = value(params, "config") ?? {};
    const heartbeat = isObject(config) ? (config["heartbeat_timeout_sec"] ?? HEARTBEAT_SECONDS) : 0;
    if (typeof heartbeat !== "number" || heartbeat < 1) throw wrong("heartbeat_timeout_sec must be a positive number");
    const name = `e${(opened += 1)}`;
    engines.set(name, open(count(params, "now_ms"), heartbeat));
    return { engine: name };
  },

  engine_feed: (params) => ({ outputs: engineOf(params).feed(value(params, "event")) }),
  engine_advance: (params) => ({ outputs: engineOf(params).advance(count(params, "ms")) }),

  engine_state: (params) => {
    const task = engineOf(params).tasks.get(rpc.text(params, "task_id"));
    if (task === undefined) throw new rpc.RpcError(FAILED, "unknown task", { kind: "unknown_task" });
    return recordOf(task);
  },

  engine_close: (params) => {
    engineOf(params);
    engines.delete(rpc.text(params, "engine"));
    return {};
  },
};

/** A method whose failures are errors (binding, section 11). @param {Method} method @returns {Method} */
const failing = (method) => (params) => {
  try {
    return method(params);
  } catch (error) {
    if (error instanceof Invalid) throw new rpc.RpcError(INVALID, error.message, { errors: error.defects });
    if (error instanceof NotAddressed) throw new rpc.RpcError(NOT_ADDRESSED, error.message);
    throw error instanceof BadEvent ? wrong(error.message) : error;
  }
};

/** @type {Map<string, Method>} */
export const methods = new Map(Object.entries(METHODS).map(([name, method]) => [`task-amp/${name}`, failing(method)]));
methods.set("describe", () => ({ name: "proofmark-task-amp-typescript", version: "0.1.0", protocols: ["task-amp"], operations: [...methods.keys()].sort() }));
