/**
 * Steps 1, 3 and 4 of section 4.7: structure, version, Header and ttl; and the required fields of Body (2.2).
 *
 * @import { Members, Message, Value } from "../mesh-types.js"
 */
import { Fault, SENDER, TTL_EXPIRED, VERSION_MISMATCH } from "./fault.mjs";
import { NotJson, Numeral, parse } from "./json.mjs";

/** @type {(reason: string) => Fault} */
const malformed = (reason) => new Fault(SENDER, reason);

/** @type {(value: Value | undefined) => boolean} */
const isString = (value) => typeof value === "string";

/** The required fields of Header and their types (2.1). @type {ReadonlyArray<[string, (value: Value | undefined) => boolean]>} */
const FIELDS = [
  ["messageId", isString],
  ["traceId", isString],
  ["roles", Array.isArray],
  ["routingIntent", isString],
  ["ttl", (value) => value instanceof Numeral && value.integer() !== null],
];

/**
 * Input that is not JSON is a malformation (4.9).
 *
 * @param {Uint8Array} bytes
 * @returns {Value}
 */
export function input(bytes) {
  try {
    return parse(bytes);
  } catch (error) {
    if (error instanceof NotJson) throw malformed(error.message);
    throw error;
  }
}

/**
 * @param {Members} holder
 * @param {string} name
 * @returns {Members}
 */
function component(holder, name) {
  const value = holder.get(name);
  if (!(value instanceof Map)) throw malformed(`${name} is ${value === undefined ? "missing" : "not an object"}`);
  return value;
}

/**
 * A message with the parts that every node needs (E62).
 *
 * @param {Value} value
 * @returns {Message}
 */
export function read(value) {
  if (!(value instanceof Map)) throw malformed("a message is an object");
  const envelope = component(value, "Envelope");
  // The version decides which rules apply, so it comes first (E26).
  const version = envelope.get("Header") instanceof Map ? component(envelope, "Header").get("version") : undefined;
  if (version !== undefined && version !== "1.0") throw new Fault(VERSION_MISMATCH, "the version of the envelope is not supported");
  const header = component(envelope, "Header");
  const body = component(envelope, "Body");
  const graph = envelope.get("MemoryGram");
  const encryption = header.get("encryption") ?? null; // E85
  if (graph === undefined) throw malformed("MemoryGram is missing");
  if (!(graph instanceof Map) && (graph === null || encryption === null)) throw malformed("MemoryGram is not an object");
  for (const [name, fits] of FIELDS) {
    if (!fits(header.get(name))) throw malformed(`Header.${name} is ${header.has(name) ? "of the wrong type" : "missing"}`);
  }
  if (encryption !== null && !(encryption instanceof Map)) throw malformed("Header.encryption is not an object");
  const ttl = /** @type {bigint} */ (/** @type {Numeral} */ (header.get("ttl")).integer());
  return { top: value, header, body, graph, ttl, isEncrypted: encryption !== null };
}

/**
 * Step 4. What is zero or less after it has expired, at the ultimate receiver as well (E19, E20).
 *
 * @param {bigint} lowered
 */
export function checkTtl(lowered) {
  if (lowered <= 0n) throw new Fault(TTL_EXPIRED, "ttl has run out");
}

/** @param {Members} body */
export function checkBody(body) {
  if (!isString(body.get("task"))) throw malformed("Body.task is not a string");
  if (!Array.isArray(body.get("expectedOutput"))) throw malformed("Body.expectedOutput is not an array");
  const context = body.get("context") ?? null;
  if (context !== null && !(context instanceof Map)) throw malformed("Body.context is not an object");
}
