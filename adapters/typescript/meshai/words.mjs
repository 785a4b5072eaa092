/**
 * The words of the protocol: codes, the taxonomy, time stamps, and a refusal.
 *
 * @import { Code, Json, Members, MessageType } from "../meshai-types.js"
 */
import { joined } from "./json.mjs";

export const VERSION = "1.0";
/** Two names of one protocol (E01). */
export const FAMILIES = ["AMP", "AIP"];
/** @type {readonly MessageType[]} */
export const TYPES = ["request", "response", "event", "error"];
export const STATUSES = ["success", "partial", "failed"];
export const FRAMEWORKS = ["langchain", "crewai", "autogen", "custom"];
export const REGISTRY = "registry";

/** The codes of section 6.2, and the status of each over HTTP (E63). @type {Readonly<Record<Code, number>>} */
export const STATUS_OF = {
  AGENT_NOT_FOUND: 404,
  CAPABILITY_NOT_FOUND: 404,
  AUTHENTICATION_FAILED: 401,
  RATE_LIMIT_EXCEEDED: 429,
  TIMEOUT: 504,
  INVALID_SCHEMA: 400,
  CONTEXT_NOT_FOUND: 404,
  INSUFFICIENT_RESOURCES: 503,
};

/** Section 9. */
export const TAXONOMY = {
  "text-processing": ["text-analysis", "sentiment-analysis", "summarization", "translation", "question-answering"],
  "data-processing": ["data-extraction", "data-transformation", "data-validation"],
  generation: ["text-generation", "code-generation", "image-generation"],
  reasoning: ["logical-reasoning", "mathematical-reasoning", "causal-reasoning"],
  specialized: ["web-search", "tool-use", "memory-retrieval"],
};

/** Thrown where a message is answered by an error. */
export class Refusal extends Error {
  /**
   * @param {Code} code
   * @param {string} message
   * @param {Record<string, Json>} [details]
   * @param {boolean} [isDenied] the sender is known, but may not do this
   */
  constructor(code, message, details, isDenied = false) {
    super(message);
    this.code = code;
    this.details = details;
    this.isDenied = isDenied;
  }

  /** The member `error` of section 6.1. @returns {Members} */
  error() {
    return joined({ code: this.code, message: this.message }, this.details === undefined ? {} : { details: joined(this.details) });
  }
}

/**
 * @param {string} path
 * @param {string} reason
 */
export const malformed = (path, reason) => new Refusal("INVALID_SCHEMA", `${path}: ${reason}`, { path });

/** @param {unknown} value @returns {value is string} */
export const isText = (value) => typeof value === "string" && value !== "";

/** @param {unknown} value @returns {value is number} */
export const isWhole = (value) => Number.isInteger(value);

/** @param {unknown} value @returns {value is Json[]} */
export const isTexts = (value) => Array.isArray(value) && value.every((item) => typeof item === "string");

const INSTANT = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/**
 * The time of an RFC 3339 date-time in milliseconds, or null (E11). A leap second counts as the one that follows.
 *
 * @param {unknown} text
 */
export function instant(text) {
  const found = typeof text === "string" ? INSTANT.exec(text) : null;
  if (found === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  const [offsetHours, offsetMinutes] = [Number(found[9] ?? 0), Number(found[10] ?? 0)];
  const date = new Date(Date.UTC(2000, month - 1, day));
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have moves into the next one.
  const exists = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
  if (!exists || hour > 23 || minute > 59 || second > 60 || offsetHours > 23 || offsetMinutes > 59) return null;
  const offset = (offsetHours * 60 + offsetMinutes) * (found[8] === "-" ? -1 : 1);
  return date.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1000 + Math.trunc(Number(`0${found[7] ?? ""}`) * 1000);
}

/** Whole seconds, in UTC with the letter Z. @param {number} time */
export const stamp = (time) => `${new Date(time).toISOString().slice(0, 19)}Z`;
