/**
 * The registry: registration and discovery (sections 3.3 and 4.1).
 *
 * @import { Json, Members } from "../meshai-types.js"
 */
import { registrationProblems } from "./declare.mjs";
import { copied, isObject, joined } from "./json.mjs";
import { isTexts, malformed, Refusal } from "./words.mjs";

/**
 * The entries that a query finds: all of its capabilities (E30), each at or below the bound on the declared latency (E31). No
 * success rate is known of any agent, so that none is excluded by it (E32).
 *
 * @param {Json | undefined} query
 * @param {readonly Json[]} entries
 */
export function found(query, entries) {
  const at = "/message/payload/query";
  if (!isObject(query)) throw malformed(at, "an object is required");
  const { capabilities: asked = [], constraints: bounds = {} } = query;
  if (!isTexts(asked)) throw malformed(`${at}/capabilities`, "an array of capability ids");
  if (!isObject(bounds)) throw malformed(`${at}/constraints`, "an object");
  const { max_latency_ms: latency = Infinity, min_success_rate: rate = 0 } = bounds;
  if (typeof latency !== "number" || latency < 0) throw malformed(`${at}/constraints/max_latency_ms`, "a non-negative number");
  if (typeof rate !== "number" || rate < 0 || rate > 1) throw malformed(`${at}/constraints/min_success_rate`, "a fraction from 0 to 1");
  return entries.filter((entry) => asked.every((name) => declarationOf(entry, name).some((declared) => timeOf(declared) <= latency)));
}

/**
 * @param {Json} entry
 * @param {Json} name
 */
function declarationOf(entry, name) {
  const declared = isObject(entry) ? entry["capabilities"] : undefined;
  return (Array.isArray(declared) ? declared : []).filter((capability) => isObject(capability) && capability["id"] === name);
}

/** The declared response time; an unknown one is within every bound. @param {Json} declared */
function timeOf(declared) {
  const limits = isObject(declared) ? declared["constraints"] : undefined;
  const time = isObject(limits) ? limits["response_time_ms"] : undefined;
  return typeof time === "number" ? time : 0;
}

export class Registry {
  /** @type {Map<string, { entry: Members, credentials: Json }>} */
  #agents = new Map();

  /** @param {string} id */
  has(id) {
    return this.#agents.has(id);
  }

  /** @param {Members} payload */
  register(payload) {
    const [problem] = registrationProblems(payload);
    if (problem !== undefined) throw malformed(`/message/payload${problem.path}`, problem.reason);
    const { agent = null, capabilities = null, endpoints = null, authentication } = copied(payload);
    const id = String(/** @type {Members} */ (agent)["id"]);
    const credentials = isObject(authentication) ? (authentication["credentials"] ?? null) : null;
    const known = this.#agents.get(id);
    if (known !== undefined && known.credentials !== credentials) throw new Refusal("AUTHENTICATION_FAILED", "the id is registered with other credentials", undefined, true);
    // The credentials are for the registry alone (E38).
    this.#agents.set(id, { entry: joined({ agent, capabilities, endpoints }), credentials });
    return joined({ agent_id: id, registered: true });
  }

  /**
   * @param {Members} payload
   * @param {Members} own the entry of the agent that plays the registry
   */
  discover(payload, own) {
    const entries = [...[...this.#agents.values()].map(({ entry }) => entry), own];
    return joined({ agents: copied(found(payload["query"], entries)) });
  }
}
