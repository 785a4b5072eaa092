// Tests of the task-amp library. Expected values come from the specification, its errata and the vectors. Each operation has a
// check, and at least one planted bug that the check must catch.
import { deepEqual, equal, notEqual, ok, throws } from "node:assert/strict";
import { readFileSync } from "node:fs";

import { methods as real } from "../task-amp/methods.mjs";
import { provenTests } from "./planted.mjs";

/** @typedef {Record<string, any>} Json */
/** @import { Bug, Methods } from "./planted.mjs" */

const TASK = "T-2026-044";
const NOW = 1772116327000; // 2026-02-26T14:32:07Z
const STAMP = "2026-02-26T14:32:07+00:00";
const CRITERIA = ["NOTES.txt ends with the line ok", "No other file changes"];
const PLAN = {
  description: "Append the line ok to NOTES.txt",
  repo: "/srv/fixture",
  branch: "feature/proofmark",
  subtasks: [1, 2].map((n) => ({ subtask_id: `${TASK}-S${n}`, description: "d", estimated_lines: 1 })),
  acceptance_criteria: CRITERIA,
  risk_level: "low",
};
const ONE = PLAN.subtasks.slice(0, 1);
const ISSUE = { severity: "major", file: "NOTES.txt", line: 1, description: "A defect.", suggested_fix: "Repair it." };
const FIX = { file: "a", change_type: "import_order", diff_lines: 4 };
/** @type {Record<string, [from: string, to: string]>} */
const ROUTES = {
  task_dispatch: ["coordinator", "executor"],
  task_result: ["executor", "coordinator"],
  review_request: ["coordinator", "reviewer"],
  review_verdict: ["reviewer", "coordinator"],
  escalation: ["executor", "admin"],
};
const ROLES = ["admin", "coordinator", "executor", "reviewer", "system"];

/** @param {string} text */
const hex = (text) => Buffer.from(text).toString("hex");

let serial = 0;

/** @param {string} type @param {Json} payload @param {Json} [changes] @returns {Json} */
function message(type, payload, changes = {}) {
  const [from = "", to = ""] = ROUTES[type] ?? [];
  const usual = { protocol_version: "AMP/1.0", type, from, to, task_id: TASK, timestamp: STAMP, requires_ack: type !== "escalation", context_ref: [] };
  return { msg_id: `${type}-${TASK}-${NOW + (serial += 1)}`, ...usual, payload, ...changes };
}

/** @param {Json} [more] */
const dispatch = (more = {}) => message("task_dispatch", { ...PLAN, ...more });
/** @param {number} [subtask] @param {string} [status] @param {Json} [more] */
const result = (subtask = 1, status = "complete", more = {}) =>
  message("task_result", {
    subtask_id: `${TASK}-S${subtask}`,
    completion_status: status,
    diff_summary: { files_changed: ["NOTES.txt"], lines_added: 1, lines_removed: 0 },
    self_assessment: { criteria_met: [true, null], notes: [] },
    work_log: [{ timestamp: STAMP, action: "append", file: "NOTES.txt", detail: "one line" }],
    ...more,
  });
/** @param {string} [decision] @param {Json} [more] */
const verdict = (decision = "approved", more = {}) =>
  message("review_verdict", {
    decision,
    criteria_results: CRITERIA.map((criterion) => ({ criterion, passed: true, evidence: "read" })),
    confidence: 0.9,
    ...(decision === "rejected" ? { issues: [ISSUE] } : {}),
    ...more,
  });
/** @param {string} [severity] */
const escalation = (severity = "info") =>
  message("escalation", {
    escalation_type: "unknown",
    severity,
    triggered_by: "executor",
    description: "d",
    affected_msgs: [],
    system_state_snapshot: { task_status: "executing", reject_count: 0, last_successful_msg_id: null },
    auto_suspended: severity !== "info",
  });
/** @param {Json} asked @param {Json} answered */
const request = (asked, answered) =>
  message("review_request", { original_dispatch_ref: asked["msg_id"], task_result_ref: answered["msg_id"], review_scope: "full", diff_url: "/srv/x.diff", reject_count: 0 });

/** @param {Methods} methods @returns {(operation: string, params?: Json) => Json} */
const caller = (methods) => (operation, params = {}) => {
  const method = methods.get(`task-amp/${operation}`);
  ok(method);
  // As over the wire: no undefined members, nothing shared.
  return JSON.parse(JSON.stringify(method(JSON.parse(JSON.stringify(params)))));
};

/** The engine of a role, asked from outside. Every message that it sends has to be valid. */
class Driver {
  /** @param {Methods} methods @param {string} role @param {Json} [config] */
  constructor(methods, role, config) {
    this.call = caller(methods);
    this.name = this.call("engine_new", { role, now_ms: NOW, config })["engine"];
  }

  /** @param {string} kind @param {Json} members */
  feed(kind, members) {
    return this.#valid(this.call("engine_feed", { engine: this.name, event: { kind, ...members } })["outputs"]);
  }

  /** @param {Json} given */
  message(given) {
    return this.feed("message", { message: given });
  }

  /** @param {number} seconds */
  advance(seconds) {
    return this.#valid(this.call("engine_advance", { engine: this.name, ms: seconds * 1000 })["outputs"]);
  }

  /** @param {string} [instruction] @param {string} [actor] @param {string} [type] */
  control(instruction = "continue", actor = "admin", type = "RESUME") {
    return this.feed("control", { actor, task_id: TASK, control_type: type, payload: { instruction } });
  }

  state() {
    return this.call("engine_state", { engine: this.name, task_id: TASK });
  }

  /** @param {Json[]} outputs */
  #valid(outputs) {
    for (const sent of messages(outputs)) deepEqual(this.call("validate", { message: sent })["errors"], []);
    return outputs;
  }
}

/** @param {Json[]} outputs @returns {Json[]} */
const messages = (outputs) => outputs.flatMap((output) => (output["kind"] === "message" ? [output["message"]] : []));
/** @param {Json[]} outputs */
const types = (outputs) => messages(outputs).map((sent) => sent["type"]);
/** @param {Json[]} outputs */
const kinds = (outputs) => outputs.map((output) => output["kind"]);

/** A coordinator whose plan is approved, and its dispatch. @param {Methods} methods @param {Json} [plan] @returns {[Driver, Json]} */
function approved(methods, plan = {}) {
  const driver = new Driver(methods, "coordinator");
  deepEqual(driver.feed("plan", { task_id: TASK, plan: { ...PLAN, ...plan } }), []);
  const [sent] = messages(driver.feed("approve", { task_id: TASK }));
  ok(sent);
  return [driver, sent];
}

/** @type {Record<string, (methods: Methods) => void>} */
const CHECKS = {
  info(methods) {
    const told = caller(methods)("info");
    deepEqual(told["roles"], ROLES.slice(1));
    equal(told["ops"].length, methods.size - 1); // without describe
  },

  validate(methods) {
    const call = caller(methods);
    const codes = (/** @type {Json} */ given, /** @type {Json} */ more = {}) => call("validate", { message: given, ...more })["errors"].map((/** @type {Json} */ error) => error["code"]);
    const file = JSON.parse(readFileSync(new URL("../../../vectors/task-amp/messages.json", import.meta.url), "utf8"));
    for (const vector of file.groups.flatMap((/** @type {Json} */ group) => group["tests"])) {
      const answer = call("validate", { raw_hex: hex(vector.message) });
      // A vector that the errata leave open has its outcome in the strict profile, or none.
      const expected = vector.result === "acceptable" ? vector.strict : vector.result;
      if (expected !== undefined) equal(answer["valid"], expected === "valid", `${vector.id} ${JSON.stringify(answer)}`);
      if (vector.code !== undefined) ok(answer["errors"].some((/** @type {Json} */ error) => error["code"] === vector.code), vector.id);
    }
    deepEqual(call("validate", { message: [] })["errors"], [{ code: "not_an_object", path: "" }]);
    deepEqual(call("validate", { raw_hex: hex('{"a":{"b":1},"a":{"b":1}}') })["errors"], [{ code: "invalid_json", path: "" }]);
    deepEqual(call("validate", { raw_hex: "ff" })["errors"], [{ code: "invalid_json", path: "" }]);
    equal(call("validate", { raw_hex: hex(JSON.stringify(dispatch({ description: 'a":1,"a":2},[]\\' }))) })["valid"], true);
    const [asked, answered] = [dispatch(), result()];
    deepEqual(codes(answered, { dispatch: asked, receiver: "coordinator" }), []);
    deepEqual(codes(answered, { receiver: "reviewer" }), ["route_not_allowed"]);
    for (const change of [{ subtask_id: "other" }, { self_assessment: { criteria_met: [true], notes: [] } }]) {
      const wrong = { ...answered, payload: { ...answered["payload"], ...change } };
      deepEqual([codes(wrong).length, codes(wrong, { dispatch: asked }).length], [0, 1]);
    }
    deepEqual([codes(verdict(), { dispatch: asked }), codes(verdict(), { dispatch: dispatch({ acceptance_criteria: ["other"] }) }).length], [[], 1]);
    for (const timestamp of ["2026-02-26T14:32:07-05:30", "2024-02-29T23:59:60.5Z"]) deepEqual(codes({ ...asked, timestamp }), []);
    deepEqual(codes({ ...escalation("critical"), from: "system" }), []);
    for (const [name, value, code] of /** @type {[string, unknown, string][]} */ ([
      ["timestamp", null, "missing_field"],
      ["timestamp", "2025-02-29T00:00:00Z", "bad_format"],
      ["timestamp", "2026-02-26T24:00:00Z", "bad_format"],
      ["timestamp", "2026-02-26T14:32:07+24:00", "bad_format"],
      ["ack_timeout_sec", null, "wrong_type"],
      ["ack_timeout_sec", 0, "out_of_range"],
      ["requires_ack", 1, "wrong_type"],
      ["requires_ack", false, "bad_format"],
      ["msg_id", `task_dispatch-${TASK}-001`, "bad_format"],
      ["context_ref", ["task_dispatch-T-2026-043-..."], "bad_format"],
      ["to", "system", "bad_enum"],
      ["task_id", `${TASK}-S1`, "bad_format"],
      ["protocol_version", "AMP/1.1", "incompatible_version"],
    ])) {
      deepEqual(codes({ ...asked, [name]: value }), [code], `${name} ${JSON.stringify(value)}`);
    }
    deepEqual(codes({ ...escalation(), from: "admin" }), ["route_not_allowed"]);
  },

  validate_payload(methods) {
    const call = caller(methods);
    const codes = (/** @type {string} */ type, /** @type {Json} */ payload) => call("validate_payload", { type, payload })["errors"].map((/** @type {Json} */ error) => error["code"]);
    for (const { type, payload } of /** @type {any[]} */ ([dispatch(), result(), verdict(), escalation()])) {
      deepEqual(codes(type, payload), []);
      equal(call("validate_payload", { type, payload: {} })["valid"], false);
      equal(call("validate_payload", { type: type === "escalation" ? "task_result" : "escalation", payload })["valid"], false);
    }
    equal(call("validate_payload", { type: "ack", payload: {} })["valid"], false);
    const fixed = verdict("approved_with_fix", { direct_fixes: [FIX] });
    for (const [given, change, expected] of /** @type {[Json, Json, string[]][]} */ ([
      [dispatch(), { branch: "master" }, ["branch_forbidden"]],
      [dispatch(), { branch: "feature/main" }, []],
      [dispatch(), { acceptance_criteria: [] }, ["criteria_empty"]],
      [dispatch(), { acceptance_criteria: [" "] }, ["bad_format"]],
      [dispatch(), { subtasks: [...ONE, ...ONE] }, ["bad_format"]],
      [dispatch(), { subtasks: [...ONE, { subtask_id: "S2", description: "d" }] }, ["missing_field"]],
      [dispatch(), { repo: "dev/x" }, ["bad_format"]],
      [dispatch(), { tech_constraints: [] }, ["wrong_type"]],
      [dispatch(), { risk_level: "Medium" }, ["bad_enum"]],
      [result(), { completion_status: "partial", blockers: [" "] }, ["blockers_required"]],
      [result(), { commit_hash: "a3f8d2" }, ["bad_format"]],
      [request(dispatch(), result()), { diff_url: "see the repository" }, ["bad_format"]],
      [request(dispatch(), result()), { task_result_ref: dispatch()["msg_id"] }, ["bad_format"]],
      [fixed, {}, []],
      [fixed, { direct_fixes: [FIX, { ...FIX, diff_lines: 5 }] }, ["fix_out_of_range"]],
      [fixed, { direct_fixes: [FIX, { ...FIX, diff_lines: 0 }] }, ["out_of_range"]],
      [fixed, { direct_fixes: [FIX, { ...FIX, change_type: "logic" }] }, ["bad_enum"]],
      [fixed, { direct_fixes: [] }, ["direct_fixes_required"]],
      [verdict(), { confidence: 1.01 }, ["out_of_range"]],
      [verdict(), { confidence: true }, ["wrong_type"]],
      [verdict(), { issues: [{ ...ISSUE, severity: "critical" }] }, ["bad_enum"]],
      [verdict(), { issues: [{ ...ISSUE, severity: "minor", line: null }] }, []],
      [verdict("rejected"), { issues: [] }, ["issues_required"]],
      [escalation("critical"), { auto_suspended: false }, ["suspend_required"]],
    ])) {
      deepEqual(codes(given["type"], { ...given["payload"], ...change }), expected, JSON.stringify(change));
    }
  },

  parse_msg_id(methods) {
    const call = caller(methods);
    deepEqual(call("parse_msg_id", { msg_id: `task_dispatch-${TASK}-1740576727001` }), { type: "task_dispatch", task_id: TASK, unix_ms: 1740576727001 });
    for (const wrong of ["abc", `ack-${TASK}-1740576727001`, `task_dispatch-${TASK}-001`, `task_dispatch-${TASK}-1740576727001 `, "task_dispatch-T-26-44-1740576727001", 5]) {
      throws(() => call("parse_msg_id", { msg_id: wrong }), { code: -32010 });
    }
  },

  make_msg_id(methods) {
    const call = caller(methods);
    equal(call("make_msg_id", { type: "escalation", task_id: TASK, unix_ms: 1740576727001 })["msg_id"], `escalation-${TASK}-1740576727001`);
    throws(() => call("make_msg_id", { type: "ack", task_id: TASK, unix_ms: 1740576727001 }), { code: -32010 });
  },

  build(methods) {
    const call = caller(methods);
    const params = { type: "task_dispatch", from: "coordinator", to: "executor", task_id: TASK, payload: PLAN, now_ms: NOW + 5 };
    const { message: built, raw_hex: raw } = call("build", params);
    const { payload, now_ms: _, ...parts } = params;
    const expected = { ...parts, msg_id: `task_dispatch-${TASK}-${NOW + 5}`, protocol_version: "AMP/1.0", timestamp: "2026-02-26T14:32:07.005+00:00", requires_ack: true, context_ref: [], payload };
    deepEqual(built, expected);
    deepEqual(JSON.parse(Buffer.from(raw, "hex").toString()), expected);
    const more = call("build", { ...params, ack_timeout_sec: 7, context_ref: [expected.msg_id], now_ms: NOW })["message"];
    deepEqual([more.ack_timeout_sec, more.context_ref, more.timestamp], [7, [expected.msg_id], STAMP]);
    equal(call("build", { ...params, type: "escalation", from: "system", to: "admin", payload: escalation()["payload"] })["message"].requires_ack, false);
    for (const change of [{ to: "reviewer" }, { payload: { ...PLAN, branch: "main" } }, { task_id: "T-1" }, { requires_ack: false }]) throws(() => call("build", { ...params, ...change }), { code: -32011 });
  },

  check_route(methods) {
    const call = caller(methods);
    for (const [type, [sender, addressee]] of Object.entries(ROUTES)) {
      for (const from of ROLES) {
        for (const to of ROLES) {
          const allowed = type === "escalation" ? from !== "admin" && to === "admin" : from === sender && to === addressee;
          equal(call("check_route", { type, from, to })["allowed"], allowed, `${type} ${from} ${to}`);
        }
      }
    }
    equal(call("check_route", { type: "ack", from: "executor", to: "admin" })["allowed"], false);
  },

  ack_required(methods) {
    const call = caller(methods);
    deepEqual(Object.keys(ROUTES).map((type) => call("ack_required", { type })["required"]), [true, true, true, true, false]);
  },

  ack_timeout(methods) {
    const call = caller(methods);
    const seconds = (/** @type {Json} */ given) => call("ack_timeout", { message: given })["ack_timeout_sec"];
    deepEqual(Object.keys(ROUTES).map((type) => seconds(message(type, {}))), [300, 120, 600, 60, null]);
    equal(seconds({ ...dispatch(), ack_timeout_sec: 7 }), 7);
    equal(seconds({ ...escalation(), ack_timeout_sec: 7 }), null);
    equal(seconds({ ...escalation(), requires_ack: true }), null);
  },

  ack(methods) {
    const call = caller(methods);
    const asked = dispatch();
    const { ack } = call("ack", { message: asked, actor: "executor", now_ms: NOW });
    deepEqual([ack.msg_id, ack.task_id, ack.actor, ack.ts], [asked["msg_id"], TASK, "executor", STAMP]);
    throws(() => call("ack", { message: asked, actor: "reviewer", now_ms: NOW }), { code: -32012 });
  },

  engine_new(methods) {
    notEqual(new Driver(methods, "system").name, new Driver(methods, "system").name);
    throws(() => new Driver(methods, "admin"), { code: -32602 });
    const driver = new Driver(methods, "system", { heartbeat_timeout_sec: 60 });
    driver.message(dispatch());
    deepEqual(types(driver.advance(60)), ["escalation"]);
  },

  engine_feed(methods) {
    checkExecutor(methods);
    checkCoordinator(methods);
    checkRounds(methods);
    checkReviewer(methods);
    checkSuspension(methods);
    const driver = new Driver(methods, "executor");
    throws(() => driver.feed("plan", { task_id: TASK, plan: PLAN }), { code: -32602 });
    throws(() => driver.feed("constructor", {}), { code: -32602 });
  },

  engine_advance(methods) {
    const [driver, sent] = approved(methods);
    deepEqual(driver.feed("ack", { ack: { msg_id: sent["msg_id"], actor: "reviewer" } }), []); // of a third role
    deepEqual(driver.advance(299), []);
    const [report = {}] = messages(driver.advance(50));
    deepEqual([report["payload"].escalation_type, report["payload"].affected_msgs, report["to"], report["timestamp"]], ["ack_timeout", [sent["msg_id"]], "admin", "2026-02-26T14:37:07+00:00"]);
    deepEqual(driver.advance(10000), []); // one report
    const [other, acknowledged] = approved(methods);
    other.feed("ack", { ack: { message_id: acknowledged["msg_id"], by: "executor" } });
    deepEqual(other.advance(10000), []);
    const system = new Driver(methods, "system");
    const given = [{ ...dispatch(), ack_timeout_sec: 900 }, result(), verdict(), { ...escalation(), ack_timeout_sec: 1 }];
    for (const each of given) system.message(each);
    const affected = messages(system.advance(1000)).map(({ payload }) => payload.affected_msgs[0]);
    deepEqual(affected, [given[2], given[1], given[0]].map((each) => each?.["msg_id"])); // in order of due time
    const watch = new Driver(methods, "system");
    watch.message({ ...dispatch(), ack_timeout_sec: 99999 });
    deepEqual(watch.advance(1740), []);
    watch.feed("ssot_write", { actor: "executor", task_id: TASK });
    deepEqual(watch.advance(900), []);
    watch.feed("ssot_write", { actor: "reviewer", task_id: TASK });
    deepEqual(watch.advance(899), []);
    const [silent = {}] = messages(watch.advance(1));
    equal(silent["payload"].escalation_type, "heartbeat_timeout");
    ok(silent["payload"].description.includes("executor"));
    deepEqual(watch.advance(7200), []);
    const over = new Driver(methods, "system");
    over.message({ ...dispatch(), ack_timeout_sec: 99999 });
    over.message({ ...result(), ack_timeout_sec: 99999 }); // the assignment is over
    deepEqual(over.advance(3600), []);
  },

  engine_state(methods) {
    const [driver] = approved(methods);
    const { created_at: created, updated_at: _, ...told } = driver.state();
    equal(created, STAMP);
    const expected = { risk_level: "low", branch: "feature/proofmark", repo: "/srv/fixture", reject_count: 0, lock_state: "active", suspended: false, last_successful_msg_id: null };
    deepEqual(told, { task_id: TASK, status: "dispatched", ...expected });
    throws(() => driver.call("engine_state", { engine: driver.name, task_id: "T-2026-001" }), { code: -32000 });
  },

  engine_close(methods) {
    const driver = new Driver(methods, "executor");
    deepEqual(driver.call("engine_close", { engine: driver.name }), {});
    throws(() => driver.advance(1), { code: -32602 });
  },
};

/** @param {Methods} methods */
function checkExecutor(methods) {
  const driver = new Driver(methods, "executor");
  const asked = dispatch();
  const [ack, work] = driver.message(asked);
  deepEqual([ack?.["ack"].msg_id, ack?.["ack"].actor, work], [asked["msg_id"], "executor", { kind: "work", task_id: TASK, subtask_id: `${TASK}-S1` }]);
  deepEqual(driver.message({ payload: asked["payload"], ...asked }), []); // a repetition
  deepEqual(driver.message({ ...asked, payload: { ...PLAN, risk_level: "high" } }).map(({ entry }) => entry.code), ["duplicate_msg_id"]);
  deepEqual(driver.feed("work_done", { subtask_id: `${TASK}-S1`, outcome: "complete" }), [{ kind: "work", task_id: TASK, subtask_id: `${TASK}-S2` }]);
  throws(() => driver.feed("work_done", { subtask_id: `${TASK}-S2`, outcome: "done" }), { code: -32011 });
  throws(() => driver.feed("work_done", { subtask_id: "other", outcome: "complete" }), { code: -32602 });
  const [first, second] = messages(driver.feed("work_done", { subtask_id: `${TASK}-S2`, outcome: "partial", criteria_met: [true, false], blockers: ["b"], commit_hash: "a3f8d21" })).map(({ payload }) => payload);
  deepEqual([first.self_assessment.criteria_met, first.completion_status, first.blockers], [[null, null], "complete", undefined]);
  deepEqual([second.self_assessment.criteria_met, second.blockers, second.commit_hash], [[true, false], ["b"], "a3f8d21"]);
  equal(driver.state()["status"], "awaiting_review");
  deepEqual(kinds(driver.message(dispatch())), ["ack", "work"]);
  for (const wrong of [{ ...dispatch(), protocol_version: "AMP/2.0" }, dispatch({ acceptance_criteria: [] }), { ...dispatch(), to: "reviewer" }]) {
    const outputs = driver.message(wrong);
    deepEqual([kinds(outputs), outputs[0]?.["entry"].msg_id], [["error_log"], wrong["msg_id"]]);
  }
  for (const branch of ["main", "master"]) {
    const wrong = dispatch({ branch });
    const outputs = driver.message(wrong);
    deepEqual(kinds(outputs), ["error_log", "message"]);
    const { payload } = outputs[1]?.["message"];
    deepEqual([payload.escalation_type, payload.affected_msgs], ["branch_violation", [wrong["msg_id"]]]);
  }
}

/** @param {Methods} methods */
function checkCoordinator(methods) {
  let [driver, sent] = approved(methods);
  deepEqual([sent["payload"], sent["to"]], [PLAN, "executor"]);
  deepEqual(driver.feed("approve", { task_id: TASK }), []);
  deepEqual(driver.feed("ack", { ack: { msg_id: sent["msg_id"], task_id: TASK, actor: "executor" } }), []);
  deepEqual(kinds(driver.message(result(9))), ["error_log"]);
  const last = result(2);
  deepEqual(types(driver.message(result(1))), []);
  const outputs = driver.message(last);
  deepEqual(kinds(outputs), ["ack", "message"]);
  const { payload } = outputs[1]?.["message"];
  deepEqual([payload.original_dispatch_ref, payload.task_result_ref, payload.reject_count], [sent["msg_id"], last["msg_id"], 0]);
  deepEqual(types(driver.message(verdict("approved", { issues: [{ ...ISSUE, severity: "minor" }] }))), []);
  deepEqual([driver.state()["status"], driver.state()["reject_count"]], ["approved", 0]);
  deepEqual(kinds(driver.message(verdict())), ["error_log"]); // an uninvited verdict
  [driver] = approved(methods, { subtasks: ONE });
  driver.feed("ci", { task_id: TASK, status: { xcode_cloud: "failed" } });
  deepEqual(types(driver.message(result())), ["task_dispatch"]);
  driver.feed("ci", { task_id: TASK, status: { xcode_cloud: "passed" } });
  deepEqual(messages(driver.message(result()))[0]?.["payload"].ci_status, { xcode_cloud: "passed" });
  [driver] = approved(methods);
  deepEqual(types(driver.message(result(1, "partial", { blockers: ["b"] }))), ["task_dispatch"]);
  deepEqual(types(driver.message(result(1, "partial", { blockers: ["b"] }))), ["escalation"]);
  [driver] = approved(methods);
  deepEqual(types(driver.message(result(1, "failed", { blockers: ["b"] }))), ["escalation"]);
  driver = new Driver(methods, "coordinator");
  for (const wrong of [{ branch: "main" }, { acceptance_criteria: [] }]) {
    deepEqual(kinds(driver.feed("plan", { task_id: TASK, plan: { ...PLAN, ...wrong } })), ["error_log"]);
    deepEqual(driver.feed("approve", { task_id: TASK }), []);
  }
}

/** @param {Methods} methods */
function checkRounds(methods) {
  const [driver, sent] = approved(methods, { subtasks: ONE });
  const ids = new Set([sent["msg_id"]]);
  for (let count = 0; count < 4; count += 1) {
    const [asked = {}] = messages(driver.message(result()));
    equal(asked["payload"].reject_count, count);
    equal(/lock.*approach/i.test(asked["payload"].coordinator_notes ?? ""), count >= 2);
    const rejection = verdict("rejected", { confidence: count === 0 ? 0.79 : 0.8 });
    const outputs = driver.message(rejection);
    if (count === 3) {
      const [lock, ...others] = messages(outputs);
      const { payload } = lock ?? {};
      deepEqual([others, payload.escalation_type, payload.severity, payload.auto_suspended], [[], "hallucination_lock", "critical", true]);
      deepEqual([payload.system_state_snapshot.reject_count, payload.affected_msgs.includes(rejection["msg_id"])], [4, true]);
      break;
    }
    // The report about low confidence comes before the dispatch.
    deepEqual(types(outputs), count === 0 ? ["escalation", "task_dispatch"] : ["task_dispatch"]);
    const again = messages(outputs).at(-1) ?? {};
    ok(again["payload"].description.includes("A defect."));
    deepEqual(again["context_ref"], [rejection["msg_id"]]);
    for (const { msg_id: id } of /** @type {any[]} */ ([asked, again])) ok(!ids.has(id) && ids.add(id), id);
  }
  deepEqual([driver.state()["lock_state"], driver.state()["suspended"]], ["halted", true]);
  deepEqual(driver.message(result()), []);
  equal(types(driver.control())[0], "task_dispatch");
}

/** @param {Methods} methods */
function checkReviewer(methods) {
  const driver = new Driver(methods, "reviewer");
  const [asked, answered] = [dispatch(), result()];
  deepEqual(kinds(driver.message(request(asked, answered))), ["error_log", "message"]);
  driver.message(asked);
  driver.message(answered);
  const given = request(asked, answered);
  deepEqual(kinds(driver.message(given)), ["ack", "review"]);
  for (const wrong of [{ decision: "rejected" }, { decision: "approved", issues: [ISSUE] }, { decision: "approved_with_fix", direct_fixes: [{ ...FIX, diff_lines: 5 }] }]) {
    throws(() => driver.feed("review_done", { task_id: TASK, confidence: 0.9, ...wrong }), { code: -32011 });
  }
  const [sent = {}] = messages(driver.feed("review_done", { task_id: TASK, decision: "rejected", confidence: 0.5, issues: [ISSUE] }));
  deepEqual(sent["payload"].criteria_results.map((/** @type {Json} */ entry) => entry["criterion"]), CRITERIA);
  deepEqual([sent["payload"].confidence, sent["payload"].issues, sent["context_ref"]], [0.5, [ISSUE], [given["msg_id"]]]);
  throws(() => driver.feed("review_done", { task_id: TASK, decision: "approved", confidence: 1 }), { code: -32602 });
}

/** @param {Methods} methods */
function checkSuspension(methods) {
  const [coordinator] = approved(methods, { subtasks: ONE });
  coordinator.message(escalation("critical"));
  deepEqual(coordinator.message(result()), []);
  deepEqual(kinds(coordinator.control("continue", "executor")), ["error_log"]);
  equal(coordinator.state()["suspended"], true);
  deepEqual(types(coordinator.control()), ["review_request"]); // the result that was held
  deepEqual(coordinator.control(), []);
  const executor = new Driver(methods, "executor");
  executor.message(dispatch({ subtasks: ONE }));
  executor.control("", "admin", "STOP");
  deepEqual(executor.feed("work_done", { subtask_id: `${TASK}-S1`, outcome: "complete" }), []);
  deepEqual(types(executor.control()), ["task_result"]);
  executor.message(escalation("critical"));
  deepEqual(executor.message(dispatch()), []);
  deepEqual(executor.control("cancel"), []);
  equal(executor.state()["status"], "cancelled");
  executor.message(escalation("warning"));
  equal(executor.state()["suspended"], false);
}

/** @type {Record<string, Bug[]>} */
const BUGS = {
  info: [["a role is missing", "methods.mjs", "  reviewer: (now) => new Reviewer(now),\n", "  ...(Reviewer && {}),\n"]],
  validate: [
    ["null counts as present", "rules.mjs", "member === undefined || (member === null && !TAKES_NULL.has(inner))", "member === undefined"],
    ["a naive timestamp", "rules.mjs", "!isInstant(value, true)", "!isInstant(value, false)"],
    ["the calendar is not checked", "words.mjs", "|| date.toISOString().slice(0, 10) !== day", ""],
    ["every minor version", "rules.mjs", "value !== VERSION &&", '!value.startsWith("AMP/1.") &&'],
    ["system is addressable", "rules.mjs", "to: oneOf(...ADDRESSEES)", "to: oneOf(...ADDRESSEES, \"system\")"],
    ["task ids without end", "rules.mjs", "form(/^T-[0-9]{4}-[0-9]{3}$/)", "form(/^T-[0-9]{4}-[0-9]{3}/)"],
    ["truthy flags", "rules.mjs", 'rule((value) => typeof value !== "boolean" && "wrong_type")', 'rule((value) => !["boolean", "number"].includes(typeof value) && "wrong_type")'],
    ["routes are not checked", "words.mjs", "CARDS[type].to === to && ", ""],
    ["the type of the id is not checked", "rules.mjs", "parts.type !== type || ", ""],
    ["the task of the id is not checked", "rules.mjs", " || parts.taskId !== taskId", ""],
    ["short tails", "words.mjs", "([0-9]{13})$", "([0-9]+)$"],
    ["only the first entry is checked", "rules.mjs", "value.forEach((item, index) => inner(", "value.slice(0, 1).forEach((item, index) => inner("],
    ["repeated names", "words.mjs", "  refuseRepeatedNames(text);\n  return", "  void refuseRepeatedNames;\n  return"],
    ["texts are taken for names", "words.mjs", '/"(?:[^"\\\\]|\\\\.)*"|', '/"[^"]*"|'],
    ["the dispatch is not compared", "rules.mjs", "return dispatch === null ? defects :", "return dispatch !== 0 ? defects :"],
    ["the verdict is not compared", "rules.mjs", 'if (type === "review_verdict") {', "if (false) {"],
  ],
  validate_payload: [
    ["master is forgotten", "rules.mjs", ' || value === "master"', ""],
    ["main as a part", "rules.mjs", 'value === "main" ||', 'String(value).includes("main") ||'],
    ["no criteria", "rules.mjs", 'if (criteria.length === 0) report("criteria_empty"', 'if (criteria.length > 9) report("criteria_empty"'],
    ["a relative repository", "rules.mjs", "form(/^(\\/|[A-Za-z]:[\\\\/])/)", "text"],
    ["any risk", "rules.mjs", 'risk_level: oneOf("low", "medium", "high")', "risk_level: anyText"],
    ["blank blockers", "rules.mjs", 'reason.trim() !== ""', 'reason !== ""'],
    ["five lines", "rules.mjs", "Number(value) > 4", "Number(value) > 5"],
    ["import_order is unknown", "rules.mjs", '"import", "import_order")', '"import")'],
    ["any kind of repair", "rules.mjs", 'change_type: oneOf("typo", "lint", "whitespace", "import", "import_order")', "change_type: anyText"],
    ["confidence in percent", "rules.mjs", "value > 1) &&", "value > 100) &&"],
    ["approved despite a critical issue", "rules.mjs", 'decision === "approved" && blocks', "blocks && false"],
    ["critical keeps running", "rules.mjs", 'severity !== "info" && !isSuspended', "false"],
    ["any result id", "rules.mjs", 'task_result_ref: idOf("task_result")', "task_result_ref: idOf()"],
  ],
  parse_msg_id: [["blanks at the end", "words.mjs", "([0-9]{13})$", "([0-9]{13})\\\\s*$"]],
  make_msg_id: [["in seconds", "words.mjs", "String(unixMs).padStart", "String(Math.trunc(unixMs / 1000)).padStart"], ["not checked", "methods.mjs", "if (partsOf(made) === null)", "if (false)"]],
  build: [
    ["not checked", "messages.mjs", "if (defects.length > 0)", "if (defects.length > 99)"],
    ["an escalation wants an ACK", "messages.mjs", "(isType(type) && requiresAck(type))", "true"],
    ["the timeout is dropped", "messages.mjs", "...(timeout === null ? {} : { ack_timeout_sec: timeout })", "...(timeout === 0 ? { ack_timeout_sec: timeout } : {})"],
    ["the time is rounded", "words.mjs", "toISOString().replace(/(\\.000)?Z$/", "toISOString().replace(/(\\.\\d+)?Z$/"],
  ],
  check_route: [["any sender", "words.mjs", " && CARDS[type].from.some((sender) => sender === from)", ""]],
  ack_required: [["all", "words.mjs", "CARDS[type].timeout !== null", "true"]],
  ack_timeout: [
    ["one default", "words.mjs", "return isType(type) ? CARDS[type].timeout : null", "return 300"],
    ["the explicit one is ignored", "words.mjs", 'if (typeof explicit === "number") return explicit;', ""],
    ["without requires_ack", "words.mjs", "if (isRequired !== true) return null;", ""],
  ],
  ack: [["names the task", "messages.mjs", "msg_id: id, task_id: taskId, actor", "msg_id: taskId, task_id: taskId, actor"], ["by anyone", "messages.mjs", "if (to !== actor)", "if (to === actor && false)"]],
  engine_new: [["the setting is ignored", "methods.mjs", "new System(now, heartbeatSeconds)", "new System(now)"]],
  engine_feed: [
    ["a branch is refused silently", "roles.mjs", 'code === "branch_forbidden"', 'code === "none"'],
    ["a refusal is not logged", "engine.mjs", "this.log(defect, `refused", "void (`refused"],
    ["no ACK", "engine.mjs", "if (message.requires_ack) this.put", "if (!message.requires_ack) this.put"],
    ["repetitions are acted on", "engine.mjs", "if (known !== undefined) {", "if (known !== undefined && false) {"],
    ["the order of members counts", "engine.mjs", "names.every((name) => Object.hasOwn(other, name)", "names.every((name, index) => others[index] === name && Object.hasOwn(other, name)"],
    ["dispatch before approval", "roles.mjs", 'else Object.assign(task, { plan, status: "awaiting_approval" });', 'else this.#dispatch(Object.assign(task, { plan }), /** @type {any} */ (plan), []);'],
    ["any subtask", "rules.mjs", "if (!plan.subtasks.some(", "if (false && !plan.subtasks.some("],
    ["guesses true", "roles.mjs", "criteria_met = criteria.map(() => null)", "criteria_met = criteria.map(() => true)"],
    ["a result before all work", "roles.mjs", "if (task.open.length > 0) return this.#work(task);", "this.#work(task);"],
    ["review on the first of two", "roles.mjs", "task.results.size === task.dispatch?.payload.subtasks.length", "task.results.size > 0"],
    ["the CI gate is missing", "roles.mjs", 'task.ci?.xcode_cloud === "failed"', "false"],
    ["no lock warning", "roles.mjs", "const WARN_FROM = 2", "const WARN_FROM = 9"],
    ["never a lock", "roles.mjs", "const LOCK_ABOVE = 3", "const LOCK_ABOVE = 9"],
    ["a lock at two", "roles.mjs", "const LOCK_ABOVE = 3", "const LOCK_ABOVE = 1"],
    ["a lock without stop", "engine.mjs", "if (isStopped) task.isSuspended = true;", ""],
    ["low confidence is ignored", "roles.mjs", "const LOW_CONFIDENCE = 0.8", "const LOW_CONFIDENCE = 0"],
    ["the threshold is inclusive", "roles.mjs", "payload.confidence < LOW_CONFIDENCE", "payload.confidence <= LOW_CONFIDENCE"],
    ["a count that starts at one", "roles.mjs", "reject_count: task.rejects,", "reject_count: task.rejects + 1,"],
    ["review without context", "roles.mjs", "if (missing.length > 0) {", "if (missing.length > 2) {"],
    ["a suspension is ignored", "engine.mjs", "if (task.isSuspended) task.held.push(action);\n    else action();", "action();"],
    ["what was held is lost", "engine.mjs", "if (task.isSuspended) task.held.push(action);\n    else action();", "if (!task.isSuspended) action();"],
    ["every role resumes", "engine.mjs", 'if (actor !== "admin")', 'if (actor === "nobody")'],
    ["a warning suspends", "engine.mjs", 'task.isSuspended ||= message.payload.severity === "critical"', 'task.isSuspended ||= message.payload.severity !== "info"'],
    ["ids collide", "engine.mjs", "while (this.known.has(msgId(type, task.id, now))) now += 1;", ""],
  ],
  engine_advance: [
    ["timeouts in milliseconds", "engine.mjs", "this.later(seconds * 1000", "this.later(seconds"],
    ["anyone acknowledges", "engine.mjs", "if (this.#awaited.get(id)?.to === actor) this.#awaited.delete(id);", "this.#awaited.delete(id);"],
    ["never reported", "engine.mjs", "if (!this.#awaited.delete(message.msg_id)) return;", "return;"],
    ["reported again", "engine.mjs", 'else this.escalate("ack_timeout"', 'else this.expectAck(message), this.escalate("ack_timeout"'],
    ["reported at the end", "engine.mjs", "this.now = Math.max(this.now, next.due);", "this.now = end;"],
    ["out of order", "engine.mjs", "one.due - other.due || ", ""],
    ["the heartbeat is not reset", "engine.mjs", "ssot_write: ({ actor, task_id: taskId }) => this.wrote(actor, taskId)", "ssot_write: () => {}"],
    ["the heartbeat is reset by anyone", "roles.mjs", "if (assignment.agent !== actor) continue;", ""],
    ["five minutes", "words.mjs", "HEARTBEAT_SECONDS = 1800", "HEARTBEAT_SECONDS = 300"],
    ["silence is not reported", "roles.mjs", "found.isReported = true;", "return;"],
    ["silence without an assignment", "roles.mjs", "this.#assigned.delete(`${message.from} ${task.id}`);", ""],
  ],
  engine_state: [["a constant status", "engine.mjs", "status: task.status,\n    risk_level", 'status: "planned",\n    risk_level'], ["never suspended", "engine.mjs", 'lock_state: task.isLocked ? "halted" : "active"', 'lock_state: "halted"']],
  engine_close: [["it stays open", "methods.mjs", 'engines.delete(rpc.text(params, "engine"));', ""]],
};

provenTests("task-amp", real, CHECKS, BUGS);
