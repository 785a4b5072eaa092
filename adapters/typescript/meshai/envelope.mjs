/**
 * Messages: their structure as it is read (section 2.3), the version (section 11), and writing them.
 *
 * @import { Asked, Json, Members, MessageType } from "../meshai-types.js"
 */
import { randomUUID } from "node:crypto";

import { isObject, joined, members, NotJson, parse } from "./json.mjs";
import { FAMILIES, instant, isText, isWhole, malformed, Refusal, REGISTRY, stamp, STATUSES, TYPES, VERSION } from "./words.mjs";

const PROTOCOL = /^(AMP|AIP)\/(0|[1-9]\d*)\.(0|[1-9]\d*)$/;
const DEFAULT_TIMEOUT_MS = 30000; // E15

/**
 * The JSON value in bytes.
 *
 * @param {Uint8Array} raw
 * @returns {Json}
 */
export function body(raw) {
  try {
    return parse(raw);
  } catch (error) {
    throw error instanceof NotJson ? new Refusal("INVALID_SCHEMA", `not JSON: ${error.message}`) : error;
  }
}

/**
 * The message of an envelope with the structure that every message has (E02, E86). Further members are left alone (E07).
 *
 * @param {Json} envelope
 * @returns {Members & { type: MessageType, payload: Members }}
 */
export function checked(envelope) {
  if (!isObject(envelope)) throw malformed("/", "a message is one JSON object");
  const version = typeof envelope["protocol"] === "string" ? PROTOCOL.exec(envelope["protocol"]) : null;
  // A newer MINOR adds features, another MAJOR is another protocol.
  if (version?.[2] !== "1") throw new Refusal("INVALID_SCHEMA", "/protocol: not a supported version", { path: "/protocol", supported_versions: [VERSION] });
  const message = envelope["message"];
  if (!isObject(message)) throw malformed("/message", "an object is required");
  if (!TYPES.some((type) => type === message["type"])) throw malformed("/message/type", `one of ${TYPES.join(", ")} is required`);
  if (!isObject(message["payload"])) throw malformed("/message/payload", "an object is required");
  for (const name of ["source", "destination", "headers"]) {
    const part = message[name] ?? null;
    if (part !== null && !isObject(part)) throw malformed(`/message/${name}`, "an object");
  }
  return /** @type {Members & { type: MessageType, payload: Members }} */ (message);
}

/** Each header, and whether a value has its form (E16, E17). @type {readonly [string, (value: Json) => boolean, string][]} */
const HEADERS = [
  ["correlation_id", (value) => typeof value === "string", "a text"],
  ["priority", (value) => isWhole(value) && value >= 1 && value <= 10, "an integer from 1 to 10"],
  ["timeout_ms", (value) => isWhole(value) && value > 0, "a positive integer"],
  ["execution_time_ms", (value) => typeof value === "number", "a number"],
  ["routing_hints", isObject, "an object"],
  ["authentication", isObject, "an object"],
  ["signature", isObject, "an object"],
];

/**
 * The parts of a request or an event: all seven members are demanded, as in the strict reading of E02.
 *
 * @param {Members} message
 * @returns {Asked}
 */
export function asked(message) {
  const { id, timestamp, source, destination, headers, payload } = message;
  if (!isText(id)) throw malformed("/message/id", "a non-empty text is required");
  if (instant(timestamp) === null) throw malformed("/message/timestamp", "an RFC 3339 time is required");
  const sender = isObject(source) ? source["agent_id"] : undefined;
  if (!isText(sender)) throw malformed("/message/source/agent_id", "a non-empty text is required");
  const session = isObject(source) ? (source["session_id"] ?? "") : "";
  if (typeof session !== "string") throw malformed("/message/source/session_id", "a text");
  if (!isObject(destination)) throw malformed("/message/destination", "an object is required");
  const named = (/** @type {string} */ name) => {
    const value = destination[name] ?? null;
    if (value !== null && !isText(value)) throw malformed(`/message/destination/${name}`, "a non-empty text");
    return value;
  };
  if (!isObject(headers)) throw malformed("/message/headers", "an object is required");
  for (const [name, fits, form] of HEADERS) {
    const value = headers[name] ?? null;
    if (value !== null && !fits(value)) throw malformed(`/message/headers/${name}`, form);
  }
  const timeout = Number(headers["timeout_ms"] ?? DEFAULT_TIMEOUT_MS);
  return { id, sender, agent: named("agent_id"), capability: named("capability"), headers, payload: /** @type {Members} */ (payload), timeout };
}

/**
 * The version to use with a peer that offers these (E86).
 *
 * @param {readonly unknown[]} offered
 */
export function agreed(offered) {
  return offered.some((version) => typeof version === "string" && PROTOCOL.exec(`AMP/${version}`)?.[2] === "1") ? VERSION : null;
}

// --- Writing --------------------------------------------------------------------------------------------------------------

/**
 * @param {object} parts
 * @param {MessageType} parts.type
 * @param {Members} parts.source
 * @param {Members} parts.destination
 * @param {Members} parts.payload
 * @param {number} parts.now
 * @param {string} [parts.id]
 * @param {Members} [parts.headers]
 * @param {string} [parts.family]
 */
export function written({ type, source, destination, payload, now, id = randomUUID(), headers = members(), family = FAMILIES[0] ?? "" }) {
  const usual = { correlation_id: id, priority: 5, timeout_ms: DEFAULT_TIMEOUT_MS, routing_hints: members() };
  const message = joined({ id, type, timestamp: stamp(now), source, destination, headers: joined(usual, headers), payload });
  return joined({ protocol: `${family}/${VERSION}`, message });
}

/**
 * A message that answers another, as far as that could be read: to its sender, by its id, under its name of the protocol
 * (E01, E13).
 *
 * @param {Json} envelope
 * @param {"response" | "error"} type
 * @param {string} own
 * @param {Members} payload
 * @param {number} now
 * @param {Members} [more]
 */
export function reply(envelope, type, own, payload, now, more = members()) {
  const outer = isObject(envelope) ? envelope : {};
  const message = isObject(outer["message"]) ? outer["message"] : {};
  const sender = isObject(message["source"]) ? message["source"]["agent_id"] : undefined;
  const family = typeof outer["protocol"] === "string" ? PROTOCOL.exec(outer["protocol"])?.[1] : undefined;
  const built = written({
    type,
    source: joined({ agent_id: own }),
    destination: isText(sender) ? joined({ agent_id: sender }) : members(),
    payload,
    now,
    headers: more,
    ...(family === undefined ? {} : { family }),
  });
  const headers = /** @type {Members} */ (/** @type {Members} */ (built["message"])["headers"]);
  if (isText(message["id"])) headers["correlation_id"] = message["id"];
  else delete headers["correlation_id"];
  return built;
}

/** The members of the payload of each kind of message (sections 3 and 4). @type {Readonly<Record<string, readonly string[]>>} */
const PAYLOAD_OF = {
  request: ["capability", "parameters", "context"],
  event: ["event_type", "context"],
  context_update: ["context"],
  registration: ["agent", "capabilities", "endpoints", "authentication"],
  discovery: ["query"],
  negotiation: ["negotiation_type", "requirements"],
  delegation: ["delegation"],
};
export const KINDS = [...Object.keys(PAYLOAD_OF), "response", "error"];

/**
 * A message of a kind from its parts; what is not given is filled in.
 *
 * @param {string} kind
 * @param {Members} fields
 * @param {string} own
 * @param {number} now
 * @param {Json} [envelope] the one that a response or an error answers
 */
export function build(kind, fields, own, now, envelope = null) {
  const given = (/** @type {string} */ name) => (isObject(fields[name]) ? fields[name] : undefined);
  if (kind === "response" || kind === "error") {
    const sender = given("source")?.["agent_id"];
    const built = reply(envelope, kind, isText(sender) ? sender : own, kind === "error" ? errorPayload(fields) : resultPayload(fields), now, given("headers"));
    const destination = given("destination");
    if (destination !== undefined) /** @type {Members} */ (built["message"])["destination"] = destination;
    return built;
  }
  const payload = members();
  for (const name of PAYLOAD_OF[kind] ?? []) {
    if (fields[name] !== undefined) payload[name] = fields[name];
  }
  const destination = joined(given("destination") ?? {});
  const isEvent = kind === "event" || kind === "context_update";
  /** @type {Json | undefined} */
  let needed;
  if (kind === "registration" || kind === "discovery") Object.assign(destination, { agent_id: REGISTRY, capability: kind });
  if (kind === "context_update") payload["event_type"] = "context_update";
  if (kind === "request") {
    payload["parameters"] ??= members();
    needed = payload["capability"];
  }
  if (kind === "negotiation") {
    payload["negotiation_type"] ??= "capability_check";
    const wanted = given("requirements")?.["capabilities"];
    needed = Array.isArray(wanted) ? wanted[0] : undefined; // E44
  }
  if (kind === "delegation") {
    const subtask = given("delegation")?.["subtask"];
    needed = isObject(subtask) ? subtask["capability"] : undefined;
  }
  if (needed !== undefined) destination["capability"] ??= needed;
  const headers = given("headers");
  return written({
    type: isEvent ? "event" : "request",
    source: given("source") ?? joined({ agent_id: own }),
    destination,
    payload,
    now,
    ...(typeof fields["id"] === "string" ? { id: fields["id"] } : {}),
    ...(headers === undefined ? {} : { headers }),
  });
}

/** @param {Members} fields */
function errorPayload(fields) {
  const { code = null, message = "failed", details } = fields;
  return joined({ error: joined({ code, message }, details === undefined ? {} : { details }) });
}

/** @param {Members} fields */
function resultPayload(fields) {
  const { status = "success", result = members(), metadata } = fields;
  if (!STATUSES.includes(String(status))) throw malformed("/status", `one of ${STATUSES.join(", ")}`);
  return joined({ status, result }, metadata === undefined ? {} : { metadata });
}
