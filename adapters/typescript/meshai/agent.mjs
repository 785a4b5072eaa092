/**
 * One agent that is also a registry and a context store: from the bytes of a message to those of its reply.
 *
 * @import { Asked, Behaviour, Json, Members, Settings } from "../meshai-types.js"
 */
import { Contexts } from "./contexts.mjs";
import { capabilityProblems, isUrl } from "./declare.mjs";
import * as envelopes from "./envelope.mjs";
import { bytesOf, copied, isObject, joined } from "./json.mjs";
import { Registry } from "./registry.mjs";
import { mismatch } from "./schema.mjs";
import * as security from "./security.mjs";
import { instant, isText, isTexts, isWhole, malformed, Refusal, REGISTRY, STATUS_OF, VERSION } from "./words.mjs";

export const AGENT_ID = "proofmark-meshai-typescript";
export const IDENTITY = joined({ id: AGENT_ID, name: "MeshAI library in TypeScript", version: "1.0.0", framework: "custom", protocol_version: VERSION });
export const ENDPOINTS = joined({ invoke: "http://127.0.0.1:8080/aip/v1/invoke", health: "http://127.0.0.1:8080/health" });
const BEHAVIOURS = ["fixed", "echo", "sleep", "fail", "exhaust"];

/** E47. @type {ReadonlyMap<string, typeof Contexts.OPERATIONS[number]>} */
const CONTEXT_CAPABILITIES = new Map(Contexts.OPERATIONS.map((operation) => [`context-${operation}`, operation]));

/** Blocks the thread. @param {number} ms */
export function pause(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

export class Agent {
  #settings;
  #pause;
  #shift = 0;
  #registry = new Registry();
  /** @type {Map<string, { declared: Members, behaviour: Behaviour }>} */
  #offered = new Map();
  /** The times of the requests of each sender. @type {Map<string, number[]>} */
  #calls = new Map();
  /** @type {{ to: string, raw: Buffer }[]} */
  #sent = [];

  /**
   * @param {Settings} settings
   * @param {(ms: number) => void} [wait]
   */
  constructor(settings, wait = pause) {
    this.#settings = settings;
    this.#pause = wait;
    this.contexts = new Contexts(() => this.now());
  }

  now() {
    return Date.now() + this.#shift;
  }

  /** @param {number} now */
  setClock(now) {
    this.#shift = now - Date.now();
  }

  /**
   * @param {Members} declared
   * @param {Members} behaviour
   */
  offer(declared, { kind = null, result = {}, ms = 0 }) {
    const [problem] = capabilityProblems(declared);
    if (problem !== undefined) throw malformed(problem.path, problem.reason);
    if (!BEHAVIOURS.includes(String(kind))) throw malformed("/behaviour/kind", `one of ${BEHAVIOURS.join(", ")}`);
    this.#offered.set(String(declared["id"]), { declared, behaviour: { kind: String(kind), result, ms: Number(ms) } });
  }

  /** What was sent since the last call: reports of completion. */
  sent() {
    return this.#sent.splice(0);
  }

  /**
   * The reply to a message, and its status over HTTP.
   *
   * @param {Uint8Array} raw
   * @param {string} [authorization]
   * @returns {{ raw: Buffer | null, status: number }}
   */
  handle(raw, authorization) {
    /** @type {Json} */
    let envelope = null;
    try {
      envelope = envelopes.body(raw);
      const message = envelopes.checked(envelope);
      if (message.type === "response" || message.type === "error") return { raw: null, status: 202 }; // not asked for
      const asked = envelopes.asked(message);
      this.#authenticate(message, asked, authorization);
      if (message.type === "event") {
        this.#event(asked);
        return { raw: null, status: 204 };
      }
      const started = Date.now();
      const { own, payload } = this.#served(asked);
      return this.#reply(envelope, "response", own, payload, 200, joined({ execution_time_ms: Date.now() - started }));
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return this.#reply(envelope, "error", AGENT_ID, joined({ error: error.error() }), error.isDenied ? 403 : STATUS_OF[error.code]);
    }
  }

  /**
   * @param {Json} envelope
   * @param {"response" | "error"} type
   * @param {string} own
   * @param {Members} payload
   * @param {number} status
   * @param {Members} [headers]
   */
  #reply(envelope, type, own, payload, status, headers) {
    const built = envelopes.reply(envelope, type, own, payload, this.now(), headers);
    const { hmacKey } = this.#settings;
    return { raw: bytesOf(hmacKey === undefined ? built : security.sign(built, Buffer.from(hmacKey))), status };
  }

  /**
   * @param {Members} message
   * @param {Asked} asked
   * @param {string | undefined} authorization
   */
  #authenticate(message, { headers, sender }, authorization) {
    const { apiKey, jwtKey, hmacKey, signatureRequired } = this.#settings;
    const failed = (/** @type {string} */ reason) => new Refusal("AUTHENTICATION_FAILED", reason);
    if (apiKey !== undefined || jwtKey !== undefined) {
      const inside = isObject(headers["authentication"]) ? headers["authentication"] : {};
      const [, bearer = null] = /^bearer +(.*)$/i.exec(authorization ?? "") ?? [];
      // Wherever a credential stands, it has to be valid (E69).
      const given = [inside["token"], inside["credentials"], authorization === undefined ? undefined : bearer].filter((value) => value !== undefined);
      if (given.length === 0) throw failed("credentials are required");
      if (!given.every((value) => typeof value === "string" && this.#isCredential(value, sender))) throw failed("invalid credentials");
    }
    if (hmacKey === undefined || (!signatureRequired && (headers["signature"] ?? null) === null)) return;
    const reason = security.unverified(message, Buffer.from(hmacKey));
    if (reason !== null) throw failed(`the signature does not verify: ${reason}`);
  }

  /**
   * @param {string} value
   * @param {string} sender
   */
  #isCredential(value, sender) {
    const { apiKey, jwtKey } = this.#settings;
    if (apiKey !== undefined && security.sameKey(value, apiKey)) return true;
    if (jwtKey === undefined) return false;
    const found = security.checkToken(value, Buffer.from(jwtKey), this.now());
    // A token is that of its agent (E75).
    return "claims" in found && (found.claims["agent_id"] ?? found.claims["sub"]) === sender;
  }

  /** @param {Asked} asked */
  #event({ sender, payload }) {
    const { event_type: type, context } = payload;
    if (!isText(type)) throw malformed("/message/payload/event_type", "a non-empty text is required");
    if (type === "context_update") this.contexts.event(sender, context); // others are ignored (E27)
  }

  /**
   * The agent that answers, and the payload of its response.
   *
   * @param {Asked} asked
   */
  #served(asked) {
    const { agent, capability, payload, sender } = asked;
    const answer = (/** @type {Json} */ result, own = AGENT_ID) => ({ own, payload: joined({ status: "success", result }) });
    if (agent === REGISTRY) {
      if (capability === "registration") return answer(this.#registry.register(payload), REGISTRY);
      if (capability === "discovery") return answer(this.#registry.discover(payload, this.#entry()), REGISTRY);
      throw this.#unknown(capability, ["registration", "discovery"]);
    }
    if (agent !== null && agent !== AGENT_ID) throw new Refusal("AGENT_NOT_FOUND", `unknown agent ${agent}`);
    if (this.#settings.enforcesRegistration === true && !this.#registry.has(sender)) throw new Refusal("AUTHENTICATION_FAILED", "the sender is not registered", undefined, true);
    if ("negotiation_type" in payload) return answer(this.#negotiated(payload));
    if ("delegation" in payload) return answer(this.#delegated(asked));
    return { own: AGENT_ID, payload: this.#requested(asked) };
  }

  /** What discovery says of this agent. */
  #entry() {
    return joined({ agent: IDENTITY, capabilities: [...this.#offered.values()].map(({ declared }) => declared), endpoints: ENDPOINTS });
  }

  /**
   * @param {Json} name
   * @param {string[]} offered
   */
  #unknown(name, offered) {
    const words = new Set(String(name).split("-"));
    const near = offered.find((other) => other.split("-").some((word) => words.has(word)));
    const details = { available_capabilities: [...offered].sort(), ...(near === undefined ? {} : { suggestion: `Try '${near}' instead` }) };
    return new Refusal("CAPABILITY_NOT_FOUND", `Requested capability '${name}' not found`, details);
  }

  // --- Capability requests (section 3.1) ------------------------------------------------------------------------------------

  /** @param {Asked} asked */
  #requested({ capability, payload, sender, timeout }) {
    // The payload decides; the destination stands in where the payload is silent (E19).
    const name = payload["capability"] ?? capability;
    if (!isText(name)) throw malformed("/message/payload/capability", "a non-empty text is required");
    const { parameters = {}, context } = payload;
    if (!isObject(parameters)) throw malformed("/message/payload/parameters", "an object is required");
    checkInlineContext(context ?? null);
    this.#count(sender);
    const operation = CONTEXT_CAPABILITIES.get(name);
    if (operation !== undefined) return joined({ status: "success", result: joined({ context: this.contexts.call(operation, sender, parameters) }) });
    return this.#executed(name, parameters, timeout);
  }

  /** The limit is counted for each sender (E99). @param {string} sender */
  #count(sender) {
    const { rate } = this.#settings;
    if (rate === undefined) return;
    const now = this.now();
    const recent = (this.#calls.get(sender) ?? []).filter((time) => time > now - rate.windowMs);
    if (recent.length >= rate.requests) throw new Refusal("RATE_LIMIT_EXCEEDED", `more than ${rate.requests} requests`);
    this.#calls.set(sender, [...recent, now]);
  }

  /**
   * @param {string} name
   * @param {Members} parameters
   * @param {number} timeout
   */
  #executed(name, parameters, timeout) {
    const found = this.#offered.get(name);
    if (found === undefined) throw this.#unknown(name, [...this.#offered.keys(), ...CONTEXT_CAPABILITIES.keys()]);
    const { declared, behaviour } = found;
    const at = "/message/payload/parameters";
    const wrong = mismatch(parameters, declared["input_schema"] ?? true);
    if (wrong !== null) throw malformed(at, wrong);
    const most = isObject(declared["constraints"]) ? declared["constraints"]["max_input_length"] : undefined;
    if (typeof most === "number" && lengthOf(parameters) > most) throw malformed(at, `longer than ${most} characters`); // E85
    if (behaviour.kind === "exhaust") throw new Refusal("INSUFFICIENT_RESOURCES", "no resources for this request");
    if (behaviour.kind === "sleep") {
      const ms = typeof parameters["ms"] === "number" ? Math.max(0, parameters["ms"]) : behaviour.ms;
      this.#pause(Math.min(ms, timeout));
      if (ms > timeout) throw new Refusal("TIMEOUT", `not done after ${timeout} ms`);
    }
    const result = copied(behaviour.kind === "echo" ? parameters : behaviour.result);
    return joined({ status: behaviour.kind === "fail" ? "failed" : "success", result });
  }

  // --- Negotiation and delegation (sections 4.2 and 4.3) --------------------------------------------------------------------

  /** @param {Members} payload */
  #negotiated(payload) {
    const at = "/message/payload/requirements";
    if (payload["negotiation_type"] !== "capability_check") throw malformed("/message/payload/negotiation_type", "unknown");
    const requirements = payload["requirements"];
    if (!isObject(requirements)) throw malformed(at, "an object is required");
    const { capabilities: needed, estimated_tokens: tokens = 0, deadline } = requirements;
    if (!isTexts(needed)) throw malformed(`${at}/capabilities`, "an array of capability ids is required");
    if (!isWhole(tokens) || tokens < 0) throw malformed(`${at}/estimated_tokens`, "a non-negative integer");
    const end = deadline === undefined ? Infinity : instant(deadline);
    if (end === null) throw malformed(`${at}/deadline`, "an RFC 3339 time");
    const missing = needed.filter((name) => !this.#offered.has(String(name)) && !CONTEXT_CAPABILITIES.has(String(name)));
    if (missing.length > 0) return joined({ accepted: false, reason: `not offered: ${missing.join(", ")}` });
    return end <= this.now() ? joined({ accepted: false, reason: "the deadline is over" }) : joined({ accepted: true });
  }

  /** Takes a subtask and reports its completion; the id of the message identifies it (E45, E46). @param {Asked} asked */
  #delegated({ id, payload, sender, timeout }) {
    const at = "/message/payload/delegation";
    const delegation = payload["delegation"];
    const subtask = isObject(delegation) ? delegation["subtask"] : undefined;
    if (!isObject(delegation) || !isObject(subtask)) throw malformed(at, "an object with a subtask is required");
    const parent = delegation["parent_task_id"];
    if (!isText(parent)) throw malformed(`${at}/parent_task_id`, "a non-empty text is required");
    const { capability, parameters, completion_callback: callback } = subtask;
    if (!isText(capability)) throw malformed(`${at}/subtask/capability`, "a non-empty text is required");
    if (!isObject(parameters)) throw malformed(`${at}/subtask/parameters`, "an object is required");
    if (!isUrl(callback)) throw malformed(`${at}/subtask/completion_callback`, "an absolute URL is required");
    if (!this.#offered.has(capability)) throw this.#unknown(capability, [...this.#offered.keys()]);
    const { type, done } = this.#completed(capability, parameters, timeout);
    const report = envelopes.written({
      type,
      source: joined({ agent_id: AGENT_ID }),
      destination: joined({ agent_id: sender }),
      payload: joined(done, { metadata: joined({ parent_task_id: parent }) }),
      now: this.now(),
      headers: joined({ correlation_id: id }),
    });
    this.#sent.push({ to: String(callback), raw: bytesOf(report) });
    return joined({ accepted: true });
  }

  /**
   * @param {string} capability
   * @param {Members} parameters
   * @param {number} timeout
   * @returns {{ type: "response" | "error", done: Members }}
   */
  #completed(capability, parameters, timeout) {
    try {
      return { type: "response", done: this.#executed(capability, parameters, timeout) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { type: "error", done: joined({ error: error.error() }) };
    }
  }
}

/** An open object; an unknown session does not prevent service (E28). @param {Json} given */
function checkInlineContext(given) {
  const at = "/message/payload/context";
  if (given === null) return;
  if (!isObject(given)) throw malformed(at, "an object");
  const { session_id: session, conversation_history: history } = given;
  if (session !== undefined && typeof session !== "string") throw malformed(`${at}/session_id`, "a text");
  if (history !== undefined && !Array.isArray(history)) throw malformed(`${at}/conversation_history`, "an array");
}

/** The characters of all texts in a value. @param {Json} value @returns {number} */
function lengthOf(value) {
  if (typeof value === "string") return [...value].length;
  let sum = 0;
  for (const part of typeof value === "object" && value !== null ? Object.values(value) : []) sum += lengthOf(part);
  return sum;
}
