/**
 * JSON-RPC 2.0 on stdin and stdout, one object per line: the part of an adapter that is independent of the protocol.
 *
 * @import { Method, Params } from "./types.js"
 */
import { Console } from "node:console";

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** Thrown by a method that answers with an error. */
export class RpcError extends Error {
  /**
   * @param {number} code
   * @param {string} message
   * @param {object} [data]
   */
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

// --- Params: -32602 if missing or of another type -------------------------------------------------------------------------

/** @param {string} message */
const badParams = (message) => new RpcError(INVALID_PARAMS, message);

/**
 * A member of the params. Null counts as absent, and so do inherited members of JavaScript objects.
 *
 * @param {Params} params
 * @param {string} name
 */
const member = (params, name) => (Object.hasOwn(params, name) ? (params[name] ?? undefined) : undefined);

/**
 * @param {Params} params
 * @param {string} name
 * @returns {string | undefined}
 */
export function optionalText(params, name) {
  const value = member(params, name);
  if (value !== undefined && typeof value !== "string") throw badParams(`${name} must be a string`);
  return value;
}

/**
 * @param {Params} params
 * @param {string} name
 * @returns {string}
 */
export function text(params, name) {
  const value = optionalText(params, name);
  if (value === undefined) throw badParams(`${name} is missing`);
  return value;
}

/**
 * @param {Params} params
 * @param {string} name
 * @returns {number | undefined}
 */
export function optionalInteger(params, name) {
  const value = member(params, name);
  if (value !== undefined && !Number.isSafeInteger(value)) throw badParams(`${name} must be an integer`);
  return /** @type {number | undefined} */ (value);
}

/**
 * @param {Params} params
 * @param {string} name
 * @returns {boolean}
 */
export function optionalBoolean(params, name) {
  const value = member(params, name) ?? false;
  if (typeof value !== "boolean") throw badParams(`${name} must be a boolean`);
  return value;
}

/**
 * The bytes that a member holds as hex digits.
 *
 * @param {Params} params
 * @param {string} name
 * @returns {Buffer}
 */
export function bytes(params, name) {
  const digits = text(params, name);
  if (digits.length % 2 === 1 || /[^0-9a-fA-F]/.test(digits)) throw badParams(`${name} must be pairs of hex digits`);
  return Buffer.from(digits, "hex");
}

// --- Answering ------------------------------------------------------------------------------------------------------------

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * The answer to a line, or null for a notification.
 *
 * @param {ReadonlyMap<string, Method>} methods
 * @param {Uint8Array} line
 * @returns {string | null}
 */
export function answer(methods, line) {
  /** @type {unknown} */
  let request;
  try {
    request = JSON.parse(UTF8.decode(line));
  } catch (error) {
    return reply(null, { error: { code: PARSE_ERROR, message: `not JSON: ${message(error)}` } });
  }
  if (typeof request !== "object" || request === null || Array.isArray(request)) {
    return reply(null, { error: { code: INVALID_REQUEST, message: "not a request" } });
  }
  const { jsonrpc, id, method, params = {} } = /** @type {Record<string, unknown>} */ (request);
  const silent = !Object.hasOwn(request, "id");
  const named = id === undefined || id === null || typeof id === "string" || typeof id === "number";
  if (jsonrpc !== "2.0" || !named || typeof method !== "string") {
    const wrong = { error: { code: INVALID_REQUEST, message: "not a JSON-RPC 2.0 request" } };
    return reply(named ? id : null, wrong);
  }
  const outcome = call(methods, method, params);
  return silent ? null : reply(id, outcome);
}

/**
 * @param {ReadonlyMap<string, Method>} methods
 * @param {string} name
 * @param {unknown} params
 */
function call(methods, name, params) {
  const method = methods.get(name);
  if (method === undefined) return { error: { code: METHOD_NOT_FOUND, message: `unsupported: ${name}` } };
  if (typeof params !== "object" || params === null || Array.isArray(params)) {
    return { error: { code: INVALID_PARAMS, message: "params must be an object" } };
  }
  try {
    return { result: method(/** @type {Params} */ (params)) };
  } catch (error) {
    if (error instanceof RpcError) {
      const { code, data } = error;
      return { error: { code, message: error.message, ...(data === undefined ? {} : { data }) } };
    }
    // A bug of the library: the next request has to be answered nevertheless.
    console.error(error);
    return { error: { code: INTERNAL_ERROR, message: message(error) } };
  }
}

/** @param {unknown} error */
const message = (error) => (error instanceof Error ? `${error.name}: ${error.message}` : String(error));

/**
 * @param {unknown} id
 * @param {object} outcome
 */
const reply = (id, outcome) => JSON.stringify({ jsonrpc: "2.0", id: id ?? null, ...outcome });

// --- The loop ---------------------------------------------------------------------------------------------------------

/**
 * The lines of a stream, without their ends. A line may have arrived in any number of pieces.
 *
 * @param {AsyncIterable<Buffer>} stream
 */
async function* lines(stream) {
  /** @type {Buffer[]} */
  let pieces = [];
  for await (const chunk of stream) {
    let start = 0;
    for (let end; (end = chunk.indexOf(0x0a, start)) >= 0; start = end + 1) {
      yield Buffer.concat([...pieces, chunk.subarray(start, end)]);
      pieces = [];
    }
    if (start < chunk.length) pieces.push(chunk.subarray(start));
  }
  if (pieces.length > 0) yield Buffer.concat(pieces);
}

/**
 * Answers line by line until the input ends.
 *
 * @param {ReadonlyMap<string, Method>} methods
 */
export async function serve(methods) {
  // Output of the library would break the protocol, so it goes to stderr.
  console = new Console(process.stderr);
  // The reader has closed the pipe: exit normally.
  process.stdout.on("error", (error) => process.exit(error.code === "EPIPE" ? 0 : 1));
  for await (const line of lines(process.stdin)) {
    if (line.every((byte) => byte === 0x20 || byte === 0x09 || byte === 0x0d)) continue;
    const written = answer(methods, line);
    if (written !== null && !process.stdout.write(`${written}\n`)) {
      await /** @type {Promise<void>} */ (new Promise((resolve) => process.stdout.once("drain", resolve)));
    }
  }
}
