/**
 * The side that asks: registration before anything else, and calls of capabilities (sections 4.1 and 10.2).
 *
 * @import { Code, Json, Members, Outcome } from "../meshai-types.js"
 */
import { randomUUID } from "node:crypto";

import * as envelopes from "./envelope.mjs";
import { isObject, joined } from "./json.mjs";
import { isText, Refusal, STATUSES } from "./words.mjs";

/**
 * What an agent sends: its registration, and its requests once that was answered with success.
 *
 * @param {Members} identity
 * @param {Members} endpoints
 * @param {Json[]} capabilities
 * @param {boolean} isRegistered
 * @param {Members[]} requests
 * @param {number} now
 */
export function participate(identity, endpoints, capabilities, isRegistered, requests, now) {
  const own = String(identity["id"]);
  const authentication = joined({ type: "bearer", credentials: randomUUID() });
  const registration = envelopes.build("registration", joined({ source: joined({ agent_id: own }), agent: identity, capabilities, endpoints, authentication }), own, now);
  return [registration, ...(isRegistered ? requests.map((fields) => envelopes.build("request", fields, own, now)) : [])];
}

/**
 * @param {Code} code
 * @param {string} message
 * @returns {Outcome}
 */
const failed = (code, message) => ({ status: "failed", error: joined({ code, message }) });

/**
 * What a reply amounts to for the caller.
 *
 * @param {string} id of the request
 * @param {Uint8Array} reply
 * @returns {Outcome}
 */
export function outcome(id, reply) {
  try {
    const { type, payload, headers } = envelopes.checked(envelopes.body(reply));
    const told = isObject(headers) ? headers["correlation_id"] : undefined;
    // An error need not say what it answers (E14).
    if (told !== id && !(type === "error" && told === undefined)) return failed("TIMEOUT", "no reply to this request has arrived");
    if (type === "response" && STATUSES.includes(String(payload["status"]))) return { status: String(payload["status"]), result: payload["result"] ?? null };
    const { error } = payload;
    if (type === "error" && isObject(error) && isText(error["code"])) return { status: "failed", error };
    return failed("INVALID_SCHEMA", "neither a response with a status nor an error with a code");
  } catch (error) {
    if (error instanceof Refusal) return failed("INVALID_SCHEMA", `the reply is malformed: ${error.message}`);
    throw error;
  }
}

/** Calls that are open: each is done once its reply has arrived. */
export class Calls {
  /** @type {Map<string, { due: number, done: Outcome }>} */
  #open = new Map();

  /**
   * @param {Outcome} done
   * @param {number} delayMs
   */
  start(done, delayMs) {
    const handle = randomUUID();
    this.#open.set(handle, { due: performance.now() + delayMs, done });
    return handle;
  }

  /** The outcome, null while it is open, undefined for an unknown handle. @param {string} handle */
  poll(handle) {
    const call = this.#open.get(handle);
    return call === undefined ? undefined : performance.now() >= call.due ? call.done : null;
  }
}
