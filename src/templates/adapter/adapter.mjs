/**
 * An adapter for {{protocol}}: JSON-RPC 2.0 on stdin and stdout, one object per line. Node 18 or newer. The types are in
 * comments, so that no build is needed: `npx -p typescript tsc --checkJs --noEmit --strict adapter.mjs` checks them.
 *
 *     proofmark adapter check "node adapter.mjs"
 *     proofmark check --adapter "node adapter.mjs" --protocol {{protocol}}
 *
 * Write a function for a method, and enable its line in METHODS. A function takes the params and returns the result; to answer with
 * an error it throws a Failure. `proofmark adapter methods --protocol {{protocol}}` prints every method with an example.
 *
 * @typedef {Record<string, unknown>} Params
 * @typedef {(params: Params) => unknown} Method
 */

const NAME = "my library";
const VERSION = "0.1.0";

/** An answer that is an error. */
class Failure extends Error {
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

/**
 * The bytes under `name`, written as hex.
 *
 * @param {Params} params
 * @param {string} name
 */
export function unhex(params, name) {
  const text = params[name];
  if (typeof text !== "string" || !/^([0-9a-f]{2})*$/.test(text)) throw new Failure(-32602, `${name} must be pairs of hex digits`);
  return Buffer.from(text, "hex");
}

/**
 * The methods that the library has. All others are answered with "unsupported".
 *
 * @type {Map<string, Method>}
 */
const METHODS = new Map(/** @type {[string, Method][]} */ ([
{{methods}}]));

/** @type {Method} */
const describe = () => ({ name: NAME, version: VERSION, protocols: ["{{protocol}}"], operations: [...METHODS.keys()] });

/** @param {any} request */
function call(request) {
  if (typeof request !== "object" || request === null || request.jsonrpc !== "2.0" || typeof request.method !== "string") {
    throw new Failure(-32600, "not a JSON-RPC 2.0 request");
  }
  const method = request.method === "describe" ? describe : METHODS.get(request.method);
  if (method === undefined) throw new Failure(-32601, `unsupported: ${request.method}`);
  const params = request.params ?? {};
  if (typeof params !== "object" || Array.isArray(params)) throw new Failure(-32602, "params must be an object");
  return method(params);
}

/**
 * The answer to one line, or undefined to a notification.
 *
 * @param {Buffer} line
 */
function answer(line) {
  let request;
  try {
    request = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(line));
  } catch {
    return { jsonrpc: "2.0", id: null, error: { code: -32700, message: "not JSON" } };
  }
  const isObject = typeof request === "object" && request !== null && !Array.isArray(request);
  const id = isObject ? (request.id ?? null) : null;
  let reply;
  try {
    reply = { result: call(request) };
  } catch (error) {
    if (!(error instanceof Failure)) console.error(error);
    // Whatever the library throws, the next request has to be answered.
    const failure = error instanceof Failure ? error : new Failure(-32603, String(error));
    reply = { error: { code: failure.code, message: failure.message, data: failure.data } };
  }
  return isObject && !("id" in request) ? undefined : { jsonrpc: "2.0", id, ...reply };
}

// Lines end at U+000A alone: `readline` would also split at other characters.
/** @type {Buffer[]} */
let parts = [];
for await (const chunk of process.stdin) {
  let rest = /** @type {Buffer} */ (chunk);
  for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
    const reply = answer(Buffer.concat([...parts, rest.subarray(0, end)]));
    if (reply !== undefined) process.stdout.write(`${JSON.stringify(reply)}\n`);
    parts = [];
    rest = rest.subarray(end + 1);
  }
  if (rest.length > 0) parts.push(rest);
}
