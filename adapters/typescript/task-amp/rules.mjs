/**
 * What makes a message valid: the tables of fields and the boxes below them (sections 00 to 05).
 *
 * @import { Defect, Json, Members, Message, Type } from "../task-types.js"
 */
import { ADDRESSEES, isInstant, isRoute, isType, partsOf, requiresAck, SENDERS, TYPES, VERSION } from "./words.mjs";

/** Reports the defects of a value at a place. @typedef {(value: Json, at: string, report: (code: string, path: string) => void) => void} Rule */

/** @param {unknown} value @returns {value is Members} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// --- Rules ------------------------------------------------------------------------------------------------------------------

/**
 * A rule from a function that says which code a value deserves, if any.
 *
 * @param {(value: Json) => string | null | undefined | false} code
 * @returns {Rule}
 */
const rule = (code) => (value, at, report) => {
  const found = code(value);
  if (found) report(found, at);
};

/** @param {(text: string) => string | null | undefined | false} code */
const textRule = (code) => rule((value) => (typeof value === "string" ? code(value) : "wrong_type"));

const anyText = textRule(() => null);
const text = textRule((value) => value.trim() === "" && "bad_format"); // an empty text is as none (E07)
const flag = rule((value) => typeof value !== "boolean" && "wrong_type");
const openObject = rule((value) => !isObject(value) && "wrong_type");
/** @param {RegExp} form */
const form = (form) => textRule((value) => !form.test(value) && "bad_format");
/** @param {readonly string[]} words */
const oneOf = (...words) => textRule((value) => !words.includes(value) && "bad_enum");
/** 300.0 is an integer, too (E07). @param {number} least */
const integer = (least) => rule((value) => (!Number.isInteger(value) ? "wrong_type" : Number(value) < least && "out_of_range"));
const count = integer(0);
/** @param {Type} [type] */
const idOf = (type) => textRule((value) => (partsOf(value) === null || (type !== undefined && partsOf(value)?.type !== type)) && "bad_format");

/** @param {Rule} inner @returns {Rule} */
const nullable = (inner) => {
  /** @type {Rule} */
  const checked = (value, at, report) => {
    if (value !== null) inner(value, at, report);
  };
  TAKES_NULL.add(checked);
  return checked;
};
/** Rules of members that may be there as null. @type {Set<Rule>} */
const TAKES_NULL = new Set();

/** @param {Rule} inner @returns {Rule} */
const list = (inner) => (value, at, report) => {
  if (Array.isArray(value)) value.forEach((item, index) => inner(item, `${at}/${index}`, report));
  else report("wrong_type", at);
};

/** An object with these members; null in place of a required one is as none (E07). @param {Record<string, Rule>} required @param {Record<string, Rule>} [optional] @returns {Rule} */
const shape =
  (required, optional = {}) =>
  (value, at, report) => {
    if (!isObject(value)) return report("wrong_type", at);
    for (const [name, inner] of Object.entries(required)) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member === undefined || (member === null && !TAKES_NULL.has(inner))) report("missing_field", `${at}/${name}`);
      else inner(member, `${at}/${name}`, report);
    }
    for (const [name, inner] of Object.entries(optional)) {
      const member = Object.hasOwn(value, name) ? value[name] : undefined;
      if (member !== undefined) inner(member, `${at}/${name}`, report);
    }
  };

const ENVELOPE = shape(
  {
    msg_id: idOf(),
    protocol_version: textRule((value) => value !== VERSION && "incompatible_version"),
    type: oneOf(...TYPES),
    from: oneOf(...SENDERS),
    to: oneOf(...ADDRESSEES),
    task_id: form(/^T-[0-9]{4}-[0-9]{3}$/),
    timestamp: textRule((value) => !isInstant(value, true) && "bad_format"),
    requires_ack: flag,
    payload: openObject,
  },
  { ack_timeout_sec: integer(1), context_ref: list(idOf()) },
);

const SUBTASK = shape({ subtask_id: text, description: text, estimated_lines: count });
const LOG_ENTRY = shape({ timestamp: textRule((value) => !isInstant(value, false) && "bad_format"), action: anyText, file: anyText, detail: anyText });
const ISSUE = shape({ severity: oneOf("critical", "major", "minor"), file: anyText, line: nullable(count), description: anyText, suggested_fix: anyText });
const FIX = shape({
  file: anyText,
  change_type: oneOf("typo", "lint", "whitespace", "import", "import_order"), // E51
  diff_lines: (value, at, report) => (Number(value) > 4 && Number.isInteger(value) ? report("fix_out_of_range", at) : integer(1)(value, at, report)),
});

/** @type {Readonly<Record<Type, Rule>>} */
const PAYLOADS = {
  task_dispatch: shape(
    {
      description: text,
      repo: form(/^(\/|[A-Za-z]:[\\/])/),
      branch: (value, at, report) => (value === "main" || value === "master" ? report("branch_forbidden", at) : text(value, at, report)),
      subtasks: list(SUBTASK),
      acceptance_criteria: list(text),
      risk_level: oneOf("low", "medium", "high"),
    },
    { forbidden_actions: list(text), tech_constraints: openObject },
  ),
  task_result: shape(
    {
      subtask_id: text,
      completion_status: oneOf("complete", "partial", "failed"),
      diff_summary: shape({ files_changed: list(anyText), lines_added: count, lines_removed: count }),
      self_assessment: shape({ criteria_met: list(nullable(flag)), notes: list(anyText) }),
      work_log: list(LOG_ENTRY),
    },
    { commit_hash: form(/^[0-9A-Fa-f]{7,64}$/), blockers: list(anyText) },
  ),
  review_request: shape(
    {
      original_dispatch_ref: idOf("task_dispatch"),
      task_result_ref: idOf("task_result"),
      review_scope: oneOf("full", "incremental"),
      diff_url: form(/^https?:\/\/[^/\s]|^(?!\w+:\/\/).*\/|\.(diff|patch)$/), // a URL, or a path (E42)
      reject_count: count,
    },
    { coordinator_notes: anyText, ci_status: openObject },
  ),
  review_verdict: shape(
    {
      decision: oneOf("approved", "approved_with_fix", "rejected"),
      criteria_results: list(shape({ criterion: text, passed: nullable(flag), evidence: anyText })),
      confidence: rule((value) => (typeof value !== "number" ? "wrong_type" : (value < 0 || value > 1) && "out_of_range")),
    },
    { issues: list(ISSUE), direct_fixes: list(FIX), architecture_notes: anyText },
  ),
  escalation: shape(
    {
      escalation_type: oneOf("hallucination_lock", "ack_timeout", "branch_violation", "ci_failure", "conflict", "heartbeat_timeout", "permission_denied", "unknown"),
      severity: oneOf("critical", "warning", "info"),
      triggered_by: oneOf("coordinator", "executor", "reviewer", "system"),
      description: text,
      affected_msgs: list(idOf()),
      system_state_snapshot: shape({ task_status: anyText, reject_count: count, last_successful_msg_id: nullable(anyText) }),
      auto_suspended: flag,
    },
    { suggested_actions: list(anyText) },
  ),
};

/** Rules that join members of a payload whose members are fine. @type {Readonly<Record<Type, (payload: any, report: (code: string, path: string) => void) => void>>} */
const JOINED = {
  task_dispatch({ subtasks, acceptance_criteria: criteria }, report) {
    const ids = new Set(subtasks.map((/** @type {any} */ subtask) => subtask.subtask_id));
    if (ids.size === 0 || ids.size < subtasks.length) report("bad_format", "/payload/subtasks");
    if (criteria.length === 0) report("criteria_empty", "/payload/acceptance_criteria");
  },
  task_result({ completion_status: status, blockers = [] }, report) {
    const isExplained = blockers.length > 0 && blockers.every((/** @type {string} */ reason) => reason.trim() !== "");
    if (status !== "complete" && !isExplained) report("blockers_required", "/payload/blockers");
  },
  review_request() {},
  review_verdict({ decision, criteria_results: results, issues = [], direct_fixes: fixes = [] }, report) {
    if (results.length === 0) report("bad_format", "/payload/criteria_results");
    if (decision === "rejected" && issues.length === 0) report("issues_required", "/payload/issues");
    if (decision === "approved_with_fix" && fixes.length === 0) report("direct_fixes_required", "/payload/direct_fixes");
    // A critical or a major issue blocks (E50).
    const blocks = issues.some((/** @type {any} */ issue) => issue.severity !== "minor");
    if (decision === "approved" && blocks) report("bad_enum", "/payload/decision");
  },
  // Only information leaves the system running (E56).
  escalation({ severity, auto_suspended: isSuspended }, report) {
    if (severity !== "info" && !isSuspended) report("suspend_required", "/payload/auto_suspended");
  },
};

// --- Messages ---------------------------------------------------------------------------------------------------------------

/**
 * @param {unknown} type
 * @param {Json} payload
 * @returns {Defect[]}
 */
export function payloadDefects(type, payload) {
  if (!isType(type)) return [{ code: "bad_enum", path: "/type" }];
  /** @type {Defect[]} */
  const defects = [];
  const report = (/** @type {string} */ code, /** @type {string} */ path) => void defects.push({ code, path });
  PAYLOADS[type](payload, "/payload", report);
  if (defects.length === 0) JOINED[type](payload, report);
  return defects;
}

/**
 * Everything that is wrong with a message. With the dispatch that it answers, the two are compared.
 *
 * @param {Json} message
 * @param {Message | null} [dispatch]
 * @param {string} [receiver]
 * @returns {Defect[]}
 */
export function defectsOf(message, dispatch = null, receiver) {
  if (!isObject(message)) return [{ code: "not_an_object", path: "" }];
  /** @type {Defect[]} */
  const defects = [];
  const report = (/** @type {string} */ code, /** @type {string} */ path) => void defects.push({ code, path });
  ENVELOPE(message, "", report);
  const broken = new Set(defects.map(({ path }) => path));
  const areFine = (/** @type {string[]} */ ...names) => !names.some((name) => broken.has(`/${name}`));
  const { type, from, to, task_id: taskId, payload = null } = message;
  const parts = partsOf(message["msg_id"]);
  if (parts !== null && areFine("type", "task_id") && (parts.type !== type || parts.taskId !== taskId)) report("msg_id_mismatch", "/msg_id");
  if (!isType(type)) return defects;
  if (areFine("from", "to") && (!isRoute(type, from, to) || (receiver !== undefined && to !== receiver))) report("route_not_allowed", "/to");
  if (requiresAck(type) && message["requires_ack"] === false) report("bad_format", "/requires_ack"); // E16
  if (!areFine("payload")) return defects;
  const inner = payloadDefects(type, payload);
  if (inner.length > 0) return [...defects, ...inner];
  if (type === "review_request" && areFine("task_id")) {
    for (const name of ["original_dispatch_ref", "task_result_ref"]) {
      if (partsOf(/** @type {Members} */ (payload)[name])?.taskId !== taskId) report("unresolved_ref", `/payload/${name}`);
    }
  }
  return dispatch === null ? defects : [...defects, ...misfits(type, payload, dispatch.payload)];
}

/**
 * Where a result or a verdict does not fit the dispatch that it answers (E33, E48).
 *
 * @param {Type} type
 * @param {any} payload
 * @param {any} plan
 * @returns {Defect[]}
 */
export function misfits(type, payload, plan) {
  /** @type {Defect[]} */
  const defects = [];
  if (type === "task_result") {
    if (!plan.subtasks.some((/** @type {any} */ subtask) => subtask.subtask_id === payload.subtask_id)) defects.push({ code: "unresolved_ref", path: "/payload/subtask_id" });
    if (payload.self_assessment.criteria_met.length !== plan.acceptance_criteria.length) defects.push({ code: "bad_format", path: "/payload/self_assessment/criteria_met" });
  }
  if (type === "review_verdict") {
    const answered = JSON.stringify(payload.criteria_results.map((/** @type {any} */ entry) => entry.criterion));
    if (answered !== JSON.stringify(plan.acceptance_criteria)) defects.push({ code: "bad_format", path: "/payload/criteria_results" });
  }
  return defects;
}
