/**
 * Identities, declarations, registrations and contexts: what is wrong with them (sections 2.1, 2.2, 4.1 and 5.1).
 *
 * @import { Json, Members, Problem } from "../meshai-types.js"
 */
import { isObject } from "./json.mjs";
import { flaw, resolves } from "./schema.mjs";
import { FRAMEWORKS, instant, isText, isTexts, isWhole, REGISTRY, TAXONOMY } from "./words.mjs";

const STANDARD = new Set(Object.values(TAXONOMY).flat());

/** Collects problems below a place. */
class Findings {
  /** @type {Problem[]} */
  problems = [];

  /**
   * @param {boolean} holds
   * @param {string} path
   * @param {string} reason
   */
  check(holds, path, reason) {
    if (!holds) this.problems.push({ path, reason });
  }
}

/**
 * `version` and `protocol_version` may be missing unless the identity has to be complete (E37).
 *
 * @param {Json | undefined} agent
 * @param {boolean} [isComplete]
 */
export function identityProblems(agent, isComplete = false) {
  const { check, problems } = bound();
  if (!isObject(agent)) return [{ path: "/agent", reason: "an object is required" }];
  for (const name of ["id", "name", "framework"]) check(isText(agent[name]), `/agent/${name}`, "a non-empty text is required");
  const version = (/** @type {string} */ name, /** @type {RegExp} */ form) => {
    const value = agent[name];
    check(value === undefined ? !isComplete : typeof value === "string" && form.test(value), `/agent/${name}`, "dotted numbers are required");
  };
  version("version", /^\d+\.\d+\.\d+([-+.].*)?$/);
  version("protocol_version", /^(0|[1-9]\d*)\.(0|[1-9]\d*)$/);
  if (isText(agent["framework"])) check(FRAMEWORKS.includes(agent["framework"]), "/agent/framework", `one of ${FRAMEWORKS.join(", ")}`);
  check(agent["id"] !== REGISTRY, "/agent/id", "reserved for the registry (E41)");
  return problems;
}

function bound() {
  const findings = new Findings();
  return { check: findings.check.bind(findings), problems: findings.problems };
}

/**
 * Strict: identifiers of the taxonomy, languages of two letters, references that resolve (E82, E84).
 *
 * @param {Json | undefined} declared
 * @param {boolean} [isStrict]
 * @param {string} [at]
 */
export function capabilityProblems(declared, isStrict = false, at = "/capability") {
  const { check, problems } = bound();
  if (!isObject(declared)) return [{ path: at, reason: "an object is required" }];
  const { id, version, description } = declared;
  check(isText(id), `${at}/id`, "a non-empty text is required");
  check(typeof version === "string" && /^\d+(\.\d+){1,2}$/.test(version), `${at}/version`, "dotted numbers are required");
  check(typeof description === "string", `${at}/description`, "a text is required");
  for (const name of ["input_schema", "output_schema"]) {
    const schema = declared[name] ?? null;
    const reason = isObject(schema) ? flaw(schema) : "an object is required";
    check(reason === null, `${at}/${name}`, reason ?? "");
    if (reason === null && isStrict) check(resolves(schema), `${at}/${name}`, "a reference does not resolve");
  }
  if (isStrict && isText(id)) check(STANDARD.has(id), `${at}/id`, "not an identifier of the taxonomy");
  const limits = declared["constraints"] ?? {};
  if (!isObject(limits)) return [...problems, { path: `${at}/constraints`, reason: "an object" }];
  const { max_input_length: length, supported_languages: languages, response_time_ms: time } = limits;
  check(length === undefined || (isWhole(length) && length >= 0), `${at}/constraints/max_input_length`, "a non-negative integer");
  check(time === undefined || (typeof time === "number" && time >= 0), `${at}/constraints/response_time_ms`, "a non-negative number");
  check(languages === undefined || isTexts(languages), `${at}/constraints/supported_languages`, "an array of texts");
  if (isStrict && isTexts(languages)) check(languages.every((name) => /^[a-z]{2}$/.test(String(name))), `${at}/constraints/supported_languages`, "two letters");
  return problems;
}

/**
 * The members of a context that agents may set (E48).
 *
 * @param {Json | undefined} given
 */
export function contentProblems(given) {
  const { check, problems } = bound();
  if (!isObject(given)) return [{ path: "/context", reason: "an object is required" }];
  const isSet = (/** @type {string} */ name) => given[name] !== undefined && given[name] !== null;
  const { session_id: session, expires_at: expires, shared_memory: shared, agent_memory: owned, access_control: access } = given;
  if (isSet("session_id")) check(isText(session), "/context/session_id", "a non-empty text");
  if (isSet("expires_at")) check(instant(expires) !== null, "/context/expires_at", "an RFC 3339 time");
  if (isSet("agent_memory")) check(isObject(owned) && Object.values(owned).every(isObject), "/context/agent_memory", "an object for each agent");
  if (isSet("access_control")) {
    check(isObject(access), "/context/access_control", "an object");
    for (const name of ["read", "write"]) {
      const list = isObject(access) ? access[name] : undefined;
      check(list === undefined || (isTexts(list) && list.every(isText)), `/context/access_control/${name}`, "an array of agent ids");
    }
  }
  if (!isSet("shared_memory")) return problems;
  check(isObject(shared), "/context/shared_memory", "an object");
  // The three members of section 3.4.
  const { user_preferences: preferences, conversation_summary: summary, task_history: history } = isObject(shared) ? shared : {};
  check(preferences === undefined || isObject(preferences), "/context/shared_memory/user_preferences", "an object");
  check(summary === undefined || typeof summary === "string", "/context/shared_memory/conversation_summary", "a text");
  check(history === undefined || Array.isArray(history), "/context/shared_memory/task_history", "an array");
  return problems;
}

/** A whole context. @param {Json | undefined} given */
export function contextProblems(given) {
  const { check, problems } = bound();
  if (!isObject(given)) return contentProblems(given);
  check(isText(given["id"]), "/context/id", "a non-empty text is required");
  const [created, expires] = [instant(given["created_at"]), instant(given["expires_at"])];
  check(created !== null, "/context/created_at", "an RFC 3339 time is required");
  check(created === null || expires === null || created <= expires, "/context/expires_at", "before the creation");
  check(isObject(given["shared_memory"]), "/context/shared_memory", "an object is required");
  const lineage = given["lineage"] ?? {};
  check(isObject(lineage), "/context/lineage", "an object");
  for (const name of ["parent_context", "root_context"]) {
    const id = isObject(lineage) ? (lineage[name] ?? null) : null;
    check(id === null || isText(id), `/context/lineage/${name}`, "an id");
  }
  return [...contentProblems(given), ...problems];
}

/** An absolute URL with the scheme http or https (E39). @param {unknown} value */
export function isUrl(value) {
  if (typeof value !== "string" || !/^https?:\/\/[^/]/i.test(value)) return false;
  try {
    return new URL(value).hostname !== "";
  } catch {
    return false;
  }
}

/** @param {Members} payload */
export function registrationProblems(payload) {
  const { check, problems } = bound();
  problems.push(...identityProblems(payload["agent"]));
  const { capabilities, endpoints, authentication } = payload;
  check(Array.isArray(capabilities), "/capabilities", "an array is required");
  if (Array.isArray(capabilities)) problems.push(...capabilities.flatMap((entry, index) => capabilityProblems(entry, false, `/capabilities/${index}`)));
  for (const name of ["invoke", "health"]) check(isObject(endpoints) && isUrl(endpoints[name]), `/endpoints/${name}`, "an absolute URL is required");
  if (authentication === undefined || authentication === null) return problems;
  for (const name of ["type", "credentials"]) check(isObject(authentication) && typeof authentication[name] === "string", `/authentication/${name}`, "a text is required");
  return problems;
}
