/**
 * Fault codes (section 4.10), and where other nodes put them (E02).
 *
 * @import { Code, Value } from "../mesh-types.js"
 */
import { at } from "./json.mjs";

export const MUST_UNDERSTAND = "amp:MustUnderstand";
export const VERSION_MISMATCH = "amp:VersionMismatch";
export const SENDER = "amp:Sender";
export const RECEIVER = "amp:Receiver";
export const TTL_EXPIRED = "amp:TTLExpired";
export const INVALID_MEMORYGRAM = "amp:InvalidMemoryGram";

const CODES = new Set([MUST_UNDERSTAND, VERSION_MISMATCH, SENDER, RECEIVER, TTL_EXPIRED, INVALID_MEMORYGRAM]);

export const CODE_AT = "/Envelope/Body/fault/code/value";

/** The one fault that a message leads to. */
export class Fault extends Error {
  /**
   * @param {Code} code
   * @param {string} reason
   * @param {readonly string[]} [types] the block types that were not understood
   */
  constructor(code, reason, types = []) {
    super(reason);
    this.code = code;
    this.types = types;
  }
}

const HOLDERS = [
  ["Envelope", "Body", "fault"], ["Envelope", "Body", "Fault"], ["Envelope", "Fault"], ["Envelope", "fault"], ["Body", "fault"],
  ["fault"], ["Fault"], ["error"], ["problem"], [],
];

/**
 * The code of a fault, or null for what is not a fault.
 *
 * @param {Value} message
 * @returns {Code | null}
 */
export function codeIn(message) {
  for (const path of HOLDERS) {
    const holder = at(message, path);
    for (const one of Array.isArray(holder) ? holder : [holder]) {
      for (const place of [["code", "value"], ["code"], ["Code", "Value"], ["Code"], ...(path.length === 0 ? [["faultCode"]] : [])]) {
        const code = at(one, place);
        if (typeof code === "string") return code;
      }
    }
  }
  return standardCodeIn(message);
}

/**
 * A standard code in any member that is named after codes.
 *
 * @param {Value} value
 * @returns {Code | null}
 */
function standardCodeIn(value) {
  if (value instanceof Map) {
    for (const [name, member] of value) {
      const lower = name.toLowerCase();
      if (typeof member === "string" && CODES.has(member) && (lower.includes("code") || lower === "error")) return member;
    }
  }
  for (const member of value instanceof Map ? value.values() : Array.isArray(value) ? value : []) {
    const code = standardCodeIn(member);
    if (code !== null) return code;
  }
  return null;
}
