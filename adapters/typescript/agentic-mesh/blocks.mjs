/**
 * Header blocks: place, targeting, understanding and processing (sections 4.3, 4.4 and 4.8.1).
 *
 * @import { Block, Members, Message, NodeSetup, Value } from "../mesh-types.js"
 */
import { Fault, MUST_UNDERSTAND, RECEIVER, SENDER } from "./fault.mjs";
import * as graphs from "./graph.mjs";
import { at, tokens } from "./json.mjs";

export const ULTIMATE_RECEIVER = "urn:agentic:mesh:role:ultimateReceiver";

/**
 * The object that holds the array of blocks, and its name there; null if there is no array.
 *
 * @param {Members} top
 * @param {NodeSetup} node
 * @returns {{ holder: Members, name: string } | null}
 */
export function place(top, node) {
  const path = tokens(node.blocksAt);
  const name = path.pop() ?? "";
  const holder = at(top, path);
  return holder instanceof Map && holder.has(name) ? { holder, name } : null;
}

/**
 * All blocks. Whether they are for this node is settled here, once for the whole message (4.2).
 *
 * @param {Members} top
 * @param {NodeSetup} node
 * @returns {Block[]}
 */
export function blocksOf(top, node) {
  const found = place(top, node);
  if (found === null) return [];
  const values = found.holder.get(found.name);
  if (!Array.isArray(values)) throw new Fault(SENDER, "the header blocks are not an array");
  return values.map((value, index) => block(value, index, node));
}

/**
 * @param {Value} value
 * @param {number} index
 * @param {NodeSetup} node
 * @returns {Block}
 */
function block(value, index, node) {
  if (!(value instanceof Map)) throw new Fault(SENDER, `header block ${index} is not an object`);
  const type = value.get("type");
  const role = value.has("role") ? value.get("role") : ULTIMATE_RECEIVER;
  if (typeof type !== "string") throw new Fault(SENDER, `header block ${index} has no type`);
  if (typeof role !== "string") throw new Fault(SENDER, `the role of header block ${index} is not a string`);
  return {
    index,
    members: value,
    type,
    role,
    mandatory: value.get("mustUnderstand") === true,
    relayable: value.get("relay") === true,
    isTargeted: node.roles.includes(role),
  };
}

/**
 * The mandatory blocks for this node that it does not understand (steps 5 and 6).
 *
 * @param {readonly Block[]} blocks
 * @param {NodeSetup} node
 */
export const notUnderstood = (blocks, node) => blocks.filter((one) => one.isTargeted && one.mandatory && !node.understands.has(one.type));

/**
 * One fault for all of them.
 *
 * @param {readonly Block[]} blocks
 * @param {NodeSetup} node
 */
export function checkUnderstood(blocks, node) {
  const types = new Set(notUnderstood(blocks, node).map((one) => one.type));
  if (types.size > 0) throw new Fault(MUST_UNDERSTAND, "a mandatory header block is not understood", [...types]);
}

/**
 * Step 8: processes what is understood. The indices of the processed blocks, and those that are put back.
 *
 * @param {readonly Block[]} blocks
 * @param {NodeSetup} node
 * @param {Message} message
 */
export function processBlocks(blocks, node, message) {
  /** @type {number[]} */
  const processed = [];
  /** @type {Map<number, Members>} */
  const reinserted = new Map();
  for (const one of blocks) {
    const behaviour = node.understands.get(one.type);
    if (!one.isTargeted || behaviour === undefined) continue;
    const content = one.members.get("content");
    const parameter = (/** @type {string} */ name) => (content instanceof Map ? content.get(name) : undefined);
    if (behaviour === "fail" && parameter("fail") === true) throw new Fault(RECEIVER, "the header block could not be processed");
    if (node.isIntermediary) {
      if (message.graph instanceof Map && !message.isEncrypted) {
        if (behaviour === "annotate") graphs.annotate(message.graph, node.uri);
        if (behaviour === "augment") graphs.note(message.graph, node.uri);
      }
      const context = message.body.get("context");
      const member = parameter("member");
      if (behaviour === "redact" && context instanceof Map && typeof member === "string") context.delete(member);
    }
    processed.push(one.index);
    if (behaviour === "reinsert") reinserted.set(one.index, one.members);
  }
  return { processed, reinserted };
}
