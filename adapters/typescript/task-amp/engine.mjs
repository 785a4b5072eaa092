/**
 * A role as an engine: events go in, what the role writes comes out; time passes only when it is told to. An engine knows what it
 * was fed, as a role knows what it reads in the SSOT.
 *
 * @import { Defect, Json, Message, Output, Task, Type } from "../task-types.js"
 */
import { createHash } from "node:crypto";

import { ack, build } from "./messages.mjs";
import { defectsOf, isObject } from "./rules.mjs";
import { HEARTBEAT_SECONDS, msgId, stamp, timeoutOf } from "./words.mjs";

/** An event that the engine cannot read. */
export class BadEvent extends Error {}

/** @typedef {Record<string, any>} Event */

/** The first of several members. @param {Event} event @param {...string} names */
const either = (event, ...names) => names.map((name) => event[name]).find((value) => value !== undefined);

export class Engine {
  /** @type {Map<string, Task>} */
  tasks = new Map();
  /** Messages by id. @type {Map<string, Message>} */
  known = new Map();
  /** @type {Output[]} */
  #outputs = [];
  /** @type {{ due: number, order: number, fire: () => void }[]} */
  #timers = [];
  #order = 0;
  /** Messages whose ACK is awaited. @type {Map<string, Message>} */
  #awaited = new Map();

  /**
   * @param {string} role
   * @param {number} now
   * @param {number} [heartbeatSeconds]
   */
  constructor(role, now, heartbeatSeconds = HEARTBEAT_SECONDS) {
    this.role = role;
    this.now = now;
    this.heartbeatMs = heartbeatSeconds * 1000;
  }

  /** What this role does with each kind of event. @type {Record<string, (event: Event) => void>} */
  handlers = {
    message: ({ message }) => this.#message(message),
    ack: ({ ack: given }) => this.#acknowledged(given),
    ssot_write: ({ actor, task_id: taskId }) => this.wrote(actor, taskId),
    control: (event) => this.#control(event),
  };

  /** @param {unknown} event */
  feed(event) {
    const handler = isObject(event) && Object.hasOwn(this.handlers, String(event["kind"])) ? this.handlers[String(event["kind"])] : undefined;
    if (handler === undefined) throw new BadEvent(`not an event of the role ${this.role}`);
    try {
      handler(/** @type {Event} */ (event));
    } catch (error) {
      this.#outputs = [];
      throw error instanceof TypeError ? new BadEvent(`members are missing: ${error.message}`) : error;
    }
    return this.#outputs.splice(0);
  }

  /** What falls due happens at its own time, in order. @param {number} ms */
  advance(ms) {
    const end = this.now + ms;
    for (;;) {
      this.#timers.sort((one, other) => one.due - other.due || one.order - other.order);
      const [next] = this.#timers;
      if (next === undefined || next.due > end) break;
      this.#timers.shift();
      this.now = Math.max(this.now, next.due);
      next.fire();
    }
    this.now = end;
    return this.#outputs.splice(0);
  }

  /** @param {number} ms @param {() => void} fire */
  later(ms, fire) {
    this.#timers.push({ due: this.now + ms, order: (this.#order += 1), fire });
  }

  /** @param {string} id @returns {Task} */
  task(id) {
    const known = this.tasks.get(id);
    if (known !== undefined) return known;
    /** @type {Task} */
    const task = {
      id,
      created: this.now,
      updated: this.now,
      status: "planned",
      rejects: 0,
      isSuspended: false,
      isLocked: false,
      last: null,
      plan: null,
      dispatch: null,
      request: null,
      results: new Map(),
      rejections: [],
      partials: 0,
      ci: null,
      held: [],
      open: [],
      done: [],
    };
    this.tasks.set(id, task);
    return task;
  }

  // --- Outputs --------------------------------------------------------------------------------------------------------------

  /** @param {Output} output */
  put(output) {
    this.#outputs.push(output);
  }

  /**
   * @param {Type} type
   * @param {string} to
   * @param {Task} task
   * @param {object} payload
   * @param {string[]} [context]
   */
  send(type, to, task, payload, context = []) {
    let now = this.now;
    while (this.known.has(msgId(type, task.id, now))) now += 1; // two messages in one millisecond (E10)
    const message = build({ type, from: this.role, to, taskId: task.id, payload, now, context });
    this.known.set(message.msg_id, message);
    task.updated = this.now;
    this.put({ kind: "message", message });
    return message;
  }

  /** @param {Message} message @param {string} [status] */
  acknowledge(message, status) {
    if (message.requires_ack) this.put({ kind: "ack", ack: ack(message, this.role, this.now, status) });
  }

  /** @param {Defect} defect @param {string} detail @param {Json | object} body */
  log({ code, path }, detail, body) {
    const id = isObject(body) ? body["msg_id"] : undefined;
    const digest = createHash("sha256").update(Buffer.from(JSON.stringify(body ?? null))).digest("hex");
    this.put({
      kind: "error_log",
      entry: { ts: stamp(this.now), receiver: this.role, code, path, detail, msg_id: typeof id === "string" ? id : null, body_sha256: digest },
    });
  }

  /**
   * Reports to the Admin. Above the level of information the task stops until the Admin resumes it (E56).
   *
   * @param {string} type
   * @param {Task} task
   * @param {string} description
   * @param {string[]} affected
   * @param {"info" | "warning" | "critical"} [severity]
   * @param {string[]} [actions]
   */
  escalate(type, task, description, affected, severity = "info", actions) {
    const isStopped = severity !== "info";
    this.send("escalation", "admin", task, {
      escalation_type: type,
      severity,
      triggered_by: this.role,
      description,
      affected_msgs: affected,
      system_state_snapshot: { task_status: task.status, reject_count: task.rejects, last_successful_msg_id: task.last },
      auto_suspended: isStopped,
      ...(actions === undefined ? {} : { suggested_actions: actions }),
    });
    if (isStopped) task.isSuspended = true;
  }

  // --- Messages -------------------------------------------------------------------------------------------------------------

  /** @param {Json} given */
  #message(given) {
    const [defect, ...others] = defectsOf(given);
    if (defect !== undefined) {
      this.log(defect, `refused, with ${others.length + 1} defects`, given);
      this.refused(given, [defect, ...others]);
      return;
    }
    const message = /** @type {Message} */ (/** @type {unknown} */ (given));
    const known = this.known.get(message.msg_id);
    // Another message under a used id does not replace the first; a repeated one is not acted on again (E10).
    if (known !== undefined) {
      if (!isSame(known, message)) this.log({ code: "duplicate_msg_id", path: "/msg_id" }, "the id is that of another message", given);
      return;
    }
    this.known.set(message.msg_id, message);
    const task = this.task(message.task_id);
    this.seen(task, message);
    if (message.type === "escalation") task.isSuspended ||= message.payload.severity === "critical";
    else if (message.to === this.role) this.whenRunning(task, () => this.receive(task, message));
  }

  /** Does it now, or once the Admin has ended the suspension of the task. @param {Task} task @param {() => void} action */
  whenRunning(task, action) {
    if (task.isSuspended) task.held.push(action);
    else action();
  }

  /** A message that is not valid, after it was logged. @param {Json} _message @param {Defect[]} _defects */
  refused(_message, _defects) {}

  /** Every valid message, to any addressee. @param {Task} _task @param {Message} _message */
  seen(_task, _message) {}

  /** A valid message to this role, about a running task. @param {Task} _task @param {Message} _message */
  receive(_task, _message) {}

  // --- Acknowledgements -----------------------------------------------------------------------------------------------------

  /** Reports the message if its ACK is not there in time. @param {Message} message */
  expectAck(message) {
    const seconds = timeoutOf(message);
    if (seconds === null) return;
    this.#awaited.set(message.msg_id, message);
    this.later(seconds * 1000, () => {
      const task = this.task(message.task_id);
      if (!this.#awaited.delete(message.msg_id)) return;
      // Halted agents do not acknowledge: the time starts anew with the work.
      if (task.isSuspended) task.held.push(() => this.expectAck(message));
      else this.escalate("ack_timeout", task, `${message.to} has not acknowledged ${message.msg_id} within ${seconds} s`, [message.msg_id], "info", ["Check the agent"]);
    });
  }

  /** Under any of the names that may be read (E85). @param {Event} given */
  #acknowledged(given) {
    const id = either(given, "msg_id", "message_id", "ack_of", "ack_for", "ref");
    const actor = either(given, "actor", "from", "by", "role");
    // An ACK of another than the addressee does not count (E20).
    if (this.#awaited.get(id)?.to === actor) this.#awaited.delete(id);
    this.wrote(actor, given["task_id"]);
  }

  /** A sign of life of an agent. @param {unknown} _actor @param {unknown} _taskId */
  wrote(_actor, _taskId) {}

  // --- The Admin ------------------------------------------------------------------------------------------------------------

  /** @param {Event} event */
  #control(event) {
    const { actor, task_id: taskId, control_type: type, payload } = event;
    const task = this.task(String(taskId));
    if (actor !== "admin") {
      this.log({ code: "writer_mismatch", path: "/actor" }, "only the Admin controls a task", event);
    } else if (type === "STOP") {
      task.isSuspended = true;
    } else if (type === "RESUME") {
      const held = task.held.splice(0);
      task.isSuspended = task.isLocked = false;
      if (payload?.instruction === "cancel") this.#cancel(task);
      else for (const action of held) this.whenRunning(task, action);
    } else {
      throw new BadEvent(`unknown control ${type}`);
    }
  }

  /** @param {Task} task */
  #cancel(task) {
    Object.assign(task, { status: "cancelled", dispatch: null, request: null, open: [], done: [] });
    for (const [id, message] of this.#awaited) if (message.task_id === task.id) this.#awaited.delete(id);
  }
}

/** Equality of JSON values, whatever the order of members. @param {unknown} one @param {unknown} other @returns {boolean} */
function isSame(one, other) {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return one === other;
  const [names, others] = [Object.keys(one), Object.keys(other)];
  const member = (/** @type {object} */ value, /** @type {string} */ name) => /** @type {Event} */ (value)[name];
  return Array.isArray(one) === Array.isArray(other) && names.length === others.length && names.every((name) => Object.hasOwn(other, name) && isSame(member(one, name), member(other, name)));
}

/** The task record (binding, section 6). @param {Task} task */
export function recordOf(task) {
  const { risk_level: risk = null, branch = null, repo = null } = task.plan ?? {};
  return {
    task_id: task.id,
    status: task.status,
    risk_level: risk,
    branch,
    repo,
    reject_count: task.rejects,
    lock_state: task.isLocked ? "halted" : "active",
    suspended: task.isSuspended,
    last_successful_msg_id: task.last,
    created_at: stamp(task.created),
    updated_at: stamp(task.updated),
  };
}
