/**
 * The processing model of section 4.7: nine steps in order, and one fault at most.
 *
 * @import { NodeSetup, Outcome } from "../mesh-types.js"
 */
import { blocksOf, checkUnderstood, processBlocks } from "./blocks.mjs";
import * as emit from "./emit.mjs";
import { Fault, RECEIVER } from "./fault.mjs";
import { check } from "./graph.mjs";
import { checkBody, checkTtl, input, read } from "./message.mjs";

/**
 * @param {Uint8Array} bytes
 * @param {NodeSetup} node
 * @returns {Outcome}
 */
export function processMessage(bytes, node) {
  /** @type {Outcome} */
  const out = {
    kind: "fault", fault: null, input: null, forwarded: null, reply: null, processed: [], bodyProcessed: false, memorygramUsed: false, ttlAfter: null,
  };
  try {
    out.input = input(bytes);
    steps(out, node);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    out.kind = "fault";
    out.fault = { code: error.code, reason: error.message, types: error.types };
  }
  return out;
}

/**
 * @param {Outcome} out
 * @param {NodeSetup} node
 */
function steps(out, node) {
  const message = read(out.input); // 1 and 3; 2 is node.roles
  out.ttlAfter = message.ttl - 1n; // 4
  checkTtl(out.ttlAfter);
  const blocks = blocksOf(message.top, node); // 5
  checkUnderstood(blocks, node); // 6
  if (node.validates && !message.isEncrypted) {
    check(message.graph); // 7
    out.memorygramUsed = true;
  }
  const { processed, reinserted } = processBlocks(blocks, node, message); // 8
  out.processed = processed;
  if (node.isIntermediary) {
    out.forwarded = emit.forwarded(message, node, new Set(processed), reinserted); // 9
    out.kind = "forwarded";
    return;
  }
  checkBody(message.body);
  const task = /** @type {string} */ (message.body.get("task"));
  if (node.tasks.get(task) === "refuse") throw new Fault(RECEIVER, "this task is refused");
  out.bodyProcessed = true;
  out.kind = "delivered";
  if (task === "echo") out.reply = emit.reply(message);
}
