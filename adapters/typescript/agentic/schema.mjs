/**
 * The members of packages, facts, assertions and sessions (sections 5.5, 6, 7 and 8.6), and reading them.
 *
 * @import { Actor, ActorType, Assertion, ContextPackage, Fact, Issue, Json, JsonObject, Status } from "../types.js"
 */
import { canonicalize } from "./canonical.mjs";
import { INVALID_SCHEMA, Refusal } from "./refusal.mjs";
import { certain, instant } from "./time.mjs";

// --- Checks: each adds the defects of a value to the issues ---------------------------------------------------------------

/** @typedef {(value: Json, at: string, issues: Issue[]) => void} Check */

/**
 * @param {(value: Json) => boolean} good
 * @param {string} reason
 * @returns {Check}
 */
const check = (good, reason) => (value, pointer, issues) => {
  if (!good(value)) issues.push({ pointer, reason });
};

/** @param {...string} words */
const oneOf = (...words) => check((value) => typeof value === "string" && words.includes(value), `one of ${words.join(", ")}`);

const isWhole = (/** @type {Json} */ value) => typeof value === "number" && Number.isInteger(value);
const isTime = (/** @type {Json} */ value) => typeof value === "string" && instant(value) !== null;

const text = check((value) => typeof value === "string", "a string");
const time = check(isTime, "an RFC 3339 time in UTC");
const fraction = check((value) => typeof value === "number" && value >= 0 && value <= 1, "a number from 0.0 to 1.0");
// A character is a code point (E56); iteration counts code points, length does not.
const title = check(
  (value) => typeof value === "string" && value !== "" && Array.from(value).length <= 200,
  "a string of 1 to 200 characters",
);
const significance = check((value) => isWhole(value) && Number(value) >= 1 && Number(value) <= 10, "an integer from 1 to 10");
const size = check((value) => isWhole(value) && Number(value) >= 0, "an integer that is not negative");
const digest = check((value) => typeof value === "string" && /^[\w-]+:[0-9a-f]+$/i.test(value), "algorithm:hex");
// Relative and inside the project, or a URL (section 6.5, E62).
const path = check(
  (value) =>
    typeof value === "string" &&
    (/^[a-z][a-z0-9+.-]*:\/\//i.test(value) || !(value.startsWith("/") || value.split("/").includes(".."))),
  "a relative path within the project, or a URL",
);
const TYPES = ["standard", "milestone", "decision", "handoff", "auto_deposit", "analysis", "question", "orchestrator_report"];
const packageType = check(
  (value) => typeof value === "string" && (TYPES.includes(value) || (value.startsWith("x-") && value.length > 2)),
  `one of ${TYPES.join(", ")}, or a type that starts with x-`,
);
// Numbers become text here, in their usual printed form (section 7.1, E44).
const factValue = check((value) => typeof value === "string" || typeof value === "number", "a string");

/**
 * @param {Check} item
 * @returns {Check}
 */
const list = (item) => (value, pointer, issues) => {
  if (!Array.isArray(value)) issues.push({ pointer, reason: "an array" });
  else value.forEach((element, index) => item(element, `${pointer}/${index}`, issues));
};

/** @typedef {{ check: Check, absent: boolean, empty: boolean }} Rule */

/** @type {(check: Check) => Rule} */
const required = (check) => ({ check, absent: false, empty: false });
/** @type {(check: Check) => Rule} */
const optional = (check) => ({ check, absent: true, empty: false });
/** @type {(check: Check) => Rule} */
const nullable = (check) => ({ check, absent: true, empty: true });

/**
 * Members without a rule are not checked (section 6).
 *
 * @param {Record<string, Rule>} rules
 * @returns {Check}
 */
const members = (rules) => (value, pointer, issues) => {
  if (!(value instanceof Map)) {
    issues.push({ pointer, reason: "an object" });
    return;
  }
  for (const [name, rule] of Object.entries(rules)) {
    const at = `${pointer}/${name}`;
    const member = value.get(name);
    if (member === undefined) {
      if (!rule.absent) issues.push({ pointer: at, reason: "required" });
    } else if (member !== null || !rule.empty) rule.check(member, at, issues);
  }
};

// --- The tables of the specification ----------------------------------------------------------------------------------------

const actorType = oneOf("human", "agent", "script");
const actor = members({ id: required(text), type: required(actorType), session_id: nullable(text) });

/** @type {readonly Status[]} */
export const STATUSES = ["draft", "awaiting_review", "revision_requested", "complete"];

const PACKAGE = members({
  package_id: required(text),
  project_id: required(text),
  relay_version: required(oneOf("0.1")),
  title: required(title),
  status: required(oneOf(...STATUSES)),
  package_type: required(packageType),
  review_type: required(oneOf("none", "human", "agent")),
  created_at: required(time),
  created_by: required(actor),
  description: optional(text),
  tags: optional(list(text)),
  decisions_made: optional(list(text)),
  open_questions: optional(list(text)),
  handoff_note: optional(text),
  estimated_next_actor: nullable(oneOf("human", "agent")),
  deliverables: optional(
    list(members({ path: required(path), type: required(text), hash: nullable(digest), size_bytes: nullable(size) })),
  ),
  parent_package_id: nullable(text),
  significance: optional(significance),
  content_md: optional(text),
  topic: nullable(text),
  artifact_type: nullable(text),
  storage_path: nullable(text),
});

// Null and absent are the same in facts (E48).
const aboutFacts = {
  project_id: required(text),
  subject: required(text),
  predicate: required(text),
  source_package_id: nullable(text),
  confidence: nullable(fraction),
  asserted_by: nullable(actor),
  tags: nullable(list(text)),
};
const ASSERTION = members({ ...aboutFacts, value: required(factValue), valid_from: nullable(time) });
const FACT = members({
  ...aboutFacts,
  fact_id: required(text),
  value: required(text),
  valid_from: required(time),
  created_at: required(time),
  valid_to: nullable(time),
});
const SESSION = members({
  session_id: required(text),
  project_id: required(text),
  actor_id: required(text),
  actor_type: required(actorType),
  callsign: nullable(text),
  started_at: required(time),
  ended_at: nullable(time),
  packages_deposited: required(list(text)),
});

/**
 * @param {Check} shape
 * @param {Json} value
 */
function issuesOf(shape, value) {
  /** @type {Issue[]} */
  const issues = [];
  shape(value, "", issues);
  return issues.map(({ pointer, reason }) => ({ pointer, reason: reason === "required" ? reason : `must be ${reason}` }));
}

/** @param {Json} value */
export const packageIssues = (value) => issuesOf(PACKAGE, value);

/**
 * @param {Json} value
 * @returns {Issue[]}
 */
export function factIssues(value) {
  const issues = issuesOf(FACT, value);
  if (issues.length > 0 || !(value instanceof Map)) return issues;
  const end = optionalString(value, "valid_to");
  const backwards = end !== null && certain(end) < certain(string(value, "valid_from"));
  return backwards ? [{ pointer: "/valid_to", reason: "must not be before valid_from" }] : [];
}

// --- Reading: a checked value, under the names of the library --------------------------------------------------------

/**
 * @param {readonly Issue[]} issues
 * @param {Json} value
 * @returns {JsonObject}
 */
function checked(issues, value) {
  const [first] = issues;
  if (first !== undefined) throw new Refusal(INVALID_SCHEMA, `${first.pointer || "the value"}: ${first.reason}`, first.pointer);
  return /** @type {JsonObject} */ (value);
}

/**
 * @param {JsonObject} from
 * @param {string} name
 * @returns {string | null}
 */
function optionalString(from, name) {
  const value = from.get(name) ?? null;
  return typeof value === "string" ? value : null;
}

/**
 * @param {JsonObject} from
 * @param {string} name
 * @returns {string}
 */
function string(from, name) {
  const value = optionalString(from, name);
  if (value === null) throw new TypeError(`${name} is not a string`);
  return value;
}

/**
 * The strings of a member that is a list of strings, or absent.
 *
 * @param {JsonObject} from
 * @param {string} name
 */
export function strings(from, name) {
  const value = from.get(name);
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

/**
 * @param {Json | undefined} value
 * @returns {Actor}
 */
function readActor(value) {
  const from = /** @type {JsonObject} */ (value);
  const type = /** @type {ActorType} */ (string(from, "type"));
  return { id: string(from, "id"), type, sessionId: optionalString(from, "session_id") };
}

/**
 * @param {Json} value
 * @returns {ContextPackage}
 */
export function readPackage(value) {
  const from = checked(packageIssues(value), value);
  return {
    members: from,
    packageId: string(from, "package_id"),
    projectId: string(from, "project_id"),
    title: string(from, "title"),
    status: /** @type {Status} */ (string(from, "status")),
    createdAt: certain(string(from, "created_at")),
    createdBy: readActor(from.get("created_by")),
    openQuestions: strings(from, "open_questions"),
  };
}

/**
 * @param {Json} value
 * @returns {Fact}
 */
export function readFact(value) {
  const from = checked(factIssues(value), value);
  const end = optionalString(from, "valid_to");
  return {
    members: from,
    factId: string(from, "fact_id"),
    projectId: string(from, "project_id"),
    subject: string(from, "subject"),
    predicate: string(from, "predicate"),
    value: string(from, "value"),
    validFrom: certain(string(from, "valid_from")),
    validTo: end === null ? null : certain(end),
  };
}

/**
 * @param {Json} value
 * @returns {Assertion}
 */
export function readAssertion(value) {
  const from = checked(issuesOf(ASSERTION, value), value);
  const told = from.get("value") ?? null;
  return {
    members: from,
    projectId: string(from, "project_id"),
    subject: string(from, "subject"),
    predicate: string(from, "predicate"),
    value: typeof told === "string" ? told : canonicalize(told),
    validFrom: optionalString(from, "valid_from"),
    sourcePackageId: optionalString(from, "source_package_id"),
  };
}

/**
 * @param {Json} value
 * @returns {{ members: JsonObject, sessionId: string, projectId: string }}
 */
export function readSession(value) {
  const from = checked(issuesOf(SESSION, value), value);
  return { members: from, sessionId: string(from, "session_id"), projectId: string(from, "project_id") };
}
