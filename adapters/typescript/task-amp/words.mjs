/**
 * The words of the protocol: types, roles, routes, timeouts; strict JSON, message ids and time stamps (section 00).
 *
 * @import { Json, Type } from "../task-types.js"
 */

export const VERSION = "AMP/1.0";
/** The routes of the head cards (E14), and the seconds until an ACK is missing. @type {Readonly<Record<Type, { from: readonly string[], to: string, timeout: number | null }>>} */
export const CARDS = {
  task_dispatch: { from: ["coordinator"], to: "executor", timeout: 300 },
  task_result: { from: ["executor"], to: "coordinator", timeout: 120 },
  review_request: { from: ["coordinator"], to: "reviewer", timeout: 600 },
  review_verdict: { from: ["reviewer"], to: "coordinator", timeout: 60 },
  escalation: { from: ["coordinator", "executor", "reviewer", "system"], to: "admin", timeout: null },
};
export const TYPES = Object.keys(CARDS);
export const ADDRESSEES = ["admin", "coordinator", "executor", "reviewer"];
export const SENDERS = [...ADDRESSEES, "system"];
export const HEARTBEAT_SECONDS = 1800;

/** @param {unknown} type @returns {type is Type} */
export const isType = (type) => typeof type === "string" && Object.hasOwn(CARDS, type);

/** The four types that require an ACK. @param {Type} type */
export const requiresAck = (type) => CARDS[type].timeout !== null;

/** @param {unknown} type @param {unknown} from @param {unknown} to */
export const isRoute = (type, from, to) => isType(type) && CARDS[type].to === to && CARDS[type].from.some((sender) => sender === from);

// --- JSON -----------------------------------------------------------------------------------------------------------------

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]/g;

/** Bytes that are not one JSON text in UTF-8 without repeated names. */
export class NotJson extends Error {}

/** @param {Uint8Array} data @returns {Json} */
export function parse(data) {
  /** @type {Json} */
  let value;
  let text;
  try {
    text = UTF8.decode(data);
    value = JSON.parse(text);
  } catch (error) {
    throw new NotJson(String(error));
  }
  refuseRepeatedNames(text);
  return value;
}

/** JSON.parse keeps the last of several members of one name. @param {string} text valid JSON */
function refuseRepeatedNames(text) {
  /** The names of each open object; null for an array. @type {(Set<string> | null)[]} */
  const open = [];
  let last = "";
  for (const [token] of text.matchAll(TOKEN)) {
    if (token === "{") open.push(new Set());
    else if (token === "[") open.push(null);
    else if (token === "}" || token === "]") open.pop();
    else if (token === ":") {
      const names = open.at(-1);
      const name = JSON.parse(last);
      if (names?.has(name)) throw new NotJson(`the member ${name} is repeated`);
      names?.add(name);
    }
    last = token;
  }
}

// --- Ids and times ----------------------------------------------------------------------------------------------------------

const MSG_ID = new RegExp(`^(${TYPES.join("|")})-(T-[0-9]{4}-[0-9]{3})-([0-9]{13})$`);

/**
 * The parts of a message id in its full form (E09), or null.
 *
 * @param {unknown} id
 */
export function partsOf(id) {
  const found = typeof id === "string" ? MSG_ID.exec(id) : null;
  const [, type, taskId, ms] = found ?? [];
  return isType(type) && taskId !== undefined ? { type, taskId, unixMs: Number(ms) } : null;
}

/** @param {string} type @param {string} taskId @param {number} unixMs */
export const msgId = (type, taskId, unixMs) => `${type}-${taskId}-${String(unixMs).padStart(13, "0")}`;

const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(Z|[+-]\d\d(?::?\d\d)?)?$/;

/**
 * Whether it is a date and time of ISO 8601 that exists in the calendar (E13).
 *
 * @param {string} text
 * @param {boolean} withOffset
 */
export function isInstant(text, withOffset) {
  const [, day = "", hour, minute, second, offset] = INSTANT.exec(text) ?? [];
  if (day === "" || (withOffset && offset === undefined)) return false;
  const date = new Date(`${day}T00:00:00Z`);
  // The 30th of February is read as a day of March.
  if (Number.isNaN(date.getTime()) || date.toISOString().slice(0, 10) !== day) return false;
  const [, hours = 0, minutes = 0] = /^[+-](\d\d):?(\d\d)?$/.exec(offset ?? "") ?? [];
  return Number(hour) < 24 && Number(minute) < 60 && Number(second) <= 60 && Number(hours) < 24 && Number(minutes) < 60;
}

/** @param {number} unixMs */
export const stamp = (unixMs) => new Date(unixMs).toISOString().replace(/(\.000)?Z$/, "+00:00");

/**
 * The seconds within which a message has to be acknowledged, or null (E17, E65).
 *
 * @param {{ type?: unknown, requires_ack?: unknown, ack_timeout_sec?: unknown }} message
 * @returns {number | null}
 */
export function timeoutOf({ type, requires_ack: isRequired, ack_timeout_sec: explicit }) {
  if (isRequired !== true) return null;
  if (typeof explicit === "number") return explicit;
  return isType(type) ? CARDS[type].timeout : null;
}
