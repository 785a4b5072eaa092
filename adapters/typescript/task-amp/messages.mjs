/**
 * Building messages and acknowledgements (section 00; E18).
 *
 * @import { Defect, Json, Message } from "../task-types.js"
 */
import { defectsOf } from "./rules.mjs";
import { isType, msgId, requiresAck, stamp, VERSION } from "./words.mjs";

/** Thrown for a message that would not be valid. */
export class Invalid extends Error {
  /** @param {Defect[]} defects */
  constructor(defects) {
    super(defects.map(({ code, path }) => `${path}: ${code}`).join(", "));
    this.defects = defects;
  }
}

/** Thrown where another than the addressee acknowledges. */
export class NotAddressed extends Error {}

/**
 * @param {object} parts
 * @param {string} parts.type
 * @param {string} parts.from
 * @param {string} parts.to
 * @param {string} parts.taskId
 * @param {unknown} parts.payload
 * @param {number} parts.now
 * @param {Json} [parts.requiresAck]
 * @param {Json} [parts.timeout]
 * @param {Json} [parts.context]
 * @returns {Message}
 */
export function build({ type, from, to, taskId, payload, now, requiresAck: isRequired = null, timeout = null, context = [] }) {
  const message = {
    msg_id: msgId(type, taskId, now),
    protocol_version: VERSION,
    type,
    from,
    to,
    task_id: taskId,
    timestamp: stamp(now),
    requires_ack: isRequired ?? (isType(type) && requiresAck(type)),
    ...(timeout === null ? {} : { ack_timeout_sec: timeout }),
    context_ref: context,
    payload,
  };
  const defects = defectsOf(/** @type {Json} */ (/** @type {unknown} */ (message)));
  if (defects.length > 0) throw new Invalid(defects);
  return /** @type {Message} */ (message);
}

/**
 * @param {Pick<Message, "msg_id" | "task_id" | "to">} message
 * @param {string} actor
 * @param {number} now
 * @param {string} [status]
 */
export function ack({ msg_id: id, task_id: taskId, to }, actor, now, status = "received") {
  if (to !== actor) throw new NotAddressed(`the message is addressed to ${to}`);
  return { msg_id: id, task_id: taskId, actor, ack_status: status, ts: stamp(now), note: "" };
}
