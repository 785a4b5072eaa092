/**
 * The four roles (sections 01 to 05 and their boxes). None works on files: `work` and `review` ask the program around the engine,
 * which has to check that `repo` contains .git and to watch `forbidden_actions`.
 *
 * @import { Defect, Json, Message, Task } from "../task-types.js"
 */
import { BadEvent, Engine } from "./engine.mjs";
import { Invalid } from "./messages.mjs";
import { isObject, misfits, payloadDefects } from "./rules.mjs";
import { partsOf } from "./words.mjs";

/** @typedef {import("./engine.mjs").Event} Event */

const LOCK_ABOVE = 3; // rejects (E44)
const WARN_FROM = 2;
const LOW_CONFIDENCE = 0.8;

/** Throws if the payload is not one that the role may send. @param {"task_result" | "review_verdict"} type @param {any} payload @param {any} plan */
function demand(type, payload, plan) {
  const defects = payloadDefects(type, payload);
  if (defects.length === 0) defects.push(...misfits(type, payload, plan));
  if (defects.length > 0) throw new Invalid(defects);
}

/** The given ones of some members. @param {Event} event @param {...string} names */
const given = (event, ...names) => Object.fromEntries(names.flatMap((name) => (event[name] === undefined ? [] : [[name, event[name]]])));

export class Executor extends Engine {
  /** @param {number} now */
  constructor(now) {
    super("executor", now);
    this.handlers["work_done"] = (event) => this.#workDone(event);
  }

  /** A protected branch is refused with an escalation. @param {Json} message @param {Defect[]} defects @override */
  refused(message, defects) {
    const parts = isObject(message) ? partsOf(message["msg_id"]) : null;
    if (parts === null || !isObject(message) || message["to"] !== this.role || !defects.some(({ code }) => code === "branch_forbidden")) return;
    const id = String(message["msg_id"]);
    this.escalate("branch_violation", this.task(parts.taskId), `The dispatch ${id} is on a protected branch. It is not worked on.`, [id], "info", ["Reissue it on a feature branch"]);
  }

  /** A new dispatch ends the waiting state, and takes the place of an open one. @param {Task} task @param {Message} message @override */
  receive(task, message) {
    const open = message.payload.subtasks.map((/** @type {any} */ subtask) => subtask.subtask_id);
    Object.assign(task, { dispatch: message, plan: message.payload, status: "executing", last: message.msg_id, done: [], open });
    this.acknowledge(message, "started");
    this.#work(task);
  }

  /** @param {Task} task */
  #work(task) {
    const [subtask] = task.open;
    if (subtask !== undefined) this.put({ kind: "work", task_id: task.id, subtask_id: subtask });
  }

  /** @param {Event} event */
  #workDone(event) {
    const { subtask_id: subtask, task_id: id } = event;
    const task = [...this.tasks.values()].find(({ id: other, open }) => open[0] === subtask && (id === undefined || id === other));
    if (task === undefined || subtask === undefined) throw new BadEvent("no work on this subtask is open");
    this.whenRunning(task, () => this.#report(task, event));
  }

  /** All work is done before the first result goes out: afterwards the branch stays untouched (E78). @param {Task} task @param {Event} event */
  #report(task, event) {
    const { outcome, files_changed = [], lines_added = 0, lines_removed = 0, work_log = [] } = event;
    const criteria = task.plan.acceptance_criteria;
    // What was not verified is null, not true.
    const { criteria_met = criteria.map(() => null), notes = criteria.map(() => "Left to the review.") } = event;
    const payload = {
      subtask_id: event["subtask_id"],
      completion_status: outcome,
      diff_summary: { files_changed, lines_added, lines_removed },
      self_assessment: { criteria_met, notes },
      work_log,
      ...(outcome === "complete" ? {} : { blockers: ["The work stopped without a stated reason."] }),
      ...given(event, "commit_hash", "blockers"),
    };
    demand("task_result", payload, task.plan);
    task.open.shift();
    task.done.push(payload);
    if (task.open.length > 0) return this.#work(task);
    task.status = "awaiting_review";
    for (const result of task.done.splice(0)) this.send("task_result", "coordinator", task, result, task.dispatch === null ? [] : [task.dispatch.msg_id]);
  }
}

export class Coordinator extends Engine {
  /** @param {number} now */
  constructor(now) {
    super("coordinator", now);
    this.handlers["plan"] = ({ task_id: id, plan }) => this.#plan(this.task(String(id)), plan);
    this.handlers["approve"] = ({ task_id: id }) => this.whenRunning(this.task(String(id)), () => this.#approved(this.task(String(id))));
    this.handlers["ci"] = ({ task_id: id, status }) => void (this.task(String(id)).ci = status);
  }

  /** @param {Task} task @param {Json} plan */
  #plan(task, plan) {
    const [defect] = payloadDefects("task_dispatch", plan);
    if (defect !== undefined) this.log(defect, "the plan cannot be dispatched", plan);
    else Object.assign(task, { plan, status: "awaiting_approval" });
  }

  /** @param {Task} task */
  #approved(task) {
    if (task.status === "awaiting_approval") this.#dispatch(task, task.plan, []);
  }

  /** @param {Task} task @param {object} payload @param {string[]} context */
  #dispatch(task, payload, context) {
    const dispatch = this.send("task_dispatch", "executor", task, payload, context);
    Object.assign(task, { dispatch, request: null, status: "dispatched" });
    task.results.clear();
    this.expectAck(dispatch);
  }

  /** The plan once more, with what there is to repair. @param {Task} task @param {string} reason @param {string} cause */
  #again(task, reason, cause) {
    this.#dispatch(task, { ...task.plan, description: `${task.plan.description}\n\n${reason}` }, [cause]);
  }

  /** @param {Task} task @param {Message} message @override */
  receive(task, message) {
    if (message.type === "task_result") this.#result(task, message);
    else this.#verdict(task, message);
  }

  /** @param {Task} task @param {Message} message */
  #result(task, message) {
    const { payload, msg_id: id } = message;
    const [defect] = task.dispatch === null ? [{ code: "unknown_task", path: "/task_id" }] : misfits("task_result", payload, task.dispatch.payload);
    if (defect !== undefined) return this.log(defect, "it answers no dispatch", message); // E69
    this.acknowledge(message);
    task.last = id;
    if (payload.completion_status === "complete") {
      task.results.set(payload.subtask_id, message);
      if (task.request === null && task.results.size === task.dispatch?.payload.subtasks.length) this.#completed(task, message);
      return;
    }
    const reasons = payload.blockers.join("; ");
    task.partials += 1;
    if (payload.completion_status === "partial" && task.partials === 1) return this.#again(task, `The work was partial: ${reasons}`, id);
    task.status = payload.completion_status;
    this.escalate("unknown", task, `The subtask ${payload.subtask_id} is ${payload.completion_status}: ${reasons}`, [id], "warning", ["Reissue the task", "Terminate it"]);
  }

  /** @param {Task} task @param {Message} message */
  #completed(task, { msg_id: id }) {
    if (task.ci?.xcode_cloud === "failed") return this.#again(task, "The CI failed: repair its errors.", id);
    if (task.dispatch === null) return;
    const { msg_id: dispatchId, payload } = task.dispatch;
    const request = this.send(
      "review_request",
      "reviewer",
      task,
      {
        original_dispatch_ref: dispatchId,
        task_result_ref: id,
        review_scope: "full",
        diff_url: `${payload.repo}/.git/${id}.diff`,
        reject_count: task.rejects,
        ...(task.rejects >= WARN_FROM ? { coordinator_notes: `Lock is approaching: ${task.rejects} rejects.` } : {}),
        ...(task.ci === null ? {} : { ci_status: task.ci }),
      },
      [dispatchId, ...[...task.results.values()].map((result) => result.msg_id)],
    );
    Object.assign(task, { request, status: "in_review" });
    this.expectAck(request);
  }

  /** @param {Task} task @param {Message} message */
  #verdict(task, message) {
    const { payload, msg_id: id } = message;
    if (task.request === null) return this.log({ code: "unresolved_ref", path: "/task_id" }, "no review was asked for", message);
    this.acknowledge(message);
    Object.assign(task, { request: null, last: id, status: payload.decision === "rejected" ? "rejected" : "approved" });
    if (payload.decision !== "rejected") return;
    task.rejects += 1;
    task.rejections.push(id);
    const forward = () => {
      const issues = payload.issues.map((/** @type {any} */ issue) => `${issue.file}: ${issue.description} (${issue.suggested_fix})`);
      this.#again(task, `The review rejected the work: ${issues.join("; ")}`, id);
    };
    if (payload.confidence < LOW_CONFIDENCE) this.escalate("unknown", task, `The verdict ${id} has a confidence of ${payload.confidence}; it is forwarded to the Executor.`, [id]);
    if (task.rejects <= LOCK_ABOVE) return forward();
    Object.assign(task, { isLocked: true, status: "locked" });
    const affected = [...(task.dispatch === null ? [] : [task.dispatch.msg_id]), ...task.rejections];
    this.escalate("hallucination_lock", task, `${task.id} was rejected ${task.rejects} times. It is suspended.`, affected, "critical", ["Review the diff", "Split the task", "Terminate it"]);
    task.held.push(forward);
  }
}

export class Reviewer extends Engine {
  /** @param {number} now */
  constructor(now) {
    super("reviewer", now);
    this.handlers["review_done"] = (event) => {
      const task = this.tasks.get(event["task_id"]);
      if (task === undefined || task.request === null) throw new BadEvent("no review of this task is open");
      this.whenRunning(task, () => this.#judge(task, event));
    };
  }

  /** @param {Task} task @param {Message} message @override */
  receive(task, message) {
    const { original_dispatch_ref: dispatchRef, task_result_ref: resultRef, reject_count: rejects } = message.payload;
    const missing = [dispatchRef, resultRef].filter((ref) => !this.known.has(ref));
    if (missing.length > 0) {
      this.log({ code: "unresolved_ref", path: "/payload/original_dispatch_ref" }, `not readable: ${missing.join(", ")}`, message);
      this.escalate("unknown", task, `${message.msg_id} cannot be reviewed: ${missing.join(", ")} cannot be read.`, [message.msg_id], "info", ["Store the messages and ask again"]);
      return;
    }
    Object.assign(task, { request: message, dispatch: this.known.get(dispatchRef) ?? null, status: "in_review", rejects, last: message.msg_id });
    this.acknowledge(message);
    this.put({ kind: "review", task_id: task.id });
  }

  /** @param {Task} task @param {Event} event */
  #judge(task, event) {
    if (task.dispatch === null || task.request === null) throw new BadEvent("no review of this task is open");
    const { decision, confidence } = event;
    const criteria = task.dispatch.payload.acceptance_criteria;
    const results = criteria.map((/** @type {string} */ criterion) => ({ criterion, passed: decision !== "rejected", evidence: "The work was judged as a whole." }));
    const { issues = [], ...more } = given(event, "issues", "direct_fixes", "architecture_notes");
    const payload = { decision, criteria_results: event["criteria_results"] ?? results, confidence, ...(issues.length > 0 ? { issues } : {}), ...more };
    demand("review_verdict", payload, task.dispatch.payload);
    this.send("review_verdict", "coordinator", task, payload, [task.request.msg_id]);
    Object.assign(task, { request: null, status: decision });
  }
}

/** Watches all: acknowledgements that are missing, and agents that are silent (E62). */
export class System extends Engine {
  /** Assignments by agent and task. @type {Map<string, { agent: string, task: Task, message: string, last: number, isReported: boolean }>} */
  #assigned = new Map();

  /** @param {number} now @param {number} [heartbeatSeconds] */
  constructor(now, heartbeatSeconds) {
    super("system", now, heartbeatSeconds);
  }

  /** @param {Task} task @param {Message} message @override */
  seen(task, message) {
    this.wrote(message.from);
    if (message.type === "escalation") return;
    task.last = message.msg_id;
    this.expectAck(message);
    if (message.type === "task_result" || message.type === "review_verdict") {
      this.#assigned.delete(`${message.from} ${task.id}`);
      return;
    }
    const at = `${message.to} ${task.id}`;
    this.#assigned.set(at, { agent: message.to, task, message: message.msg_id, last: this.now, isReported: false });
    this.later(this.heartbeatMs, () => this.#look(at));
  }

  /** @param {unknown} actor @override */
  wrote(actor) {
    for (const [at, assignment] of this.#assigned) {
      if (assignment.agent !== actor) continue;
      Object.assign(assignment, { last: this.now, isReported: false });
      this.later(this.heartbeatMs, () => this.#look(at));
    }
  }

  /** @param {string} at */
  #look(at) {
    const found = this.#assigned.get(at);
    if (found === undefined || found.isReported || this.now < found.last + this.heartbeatMs) return;
    if (found.task.isSuspended) return this.later(this.heartbeatMs, () => this.#look(at));
    found.isReported = true;
    this.escalate("heartbeat_timeout", found.task, `The ${found.agent} has written nothing for ${this.heartbeatMs / 60_000} minutes.`, [found.message], "info", ["Restart the agent"]);
  }
}
