/**
 * Messages that a node emits: forwarded copies (4.8.2), replies and faults (4.10).
 *
 * @import { Members, Message, NodeSetup, Value } from "../mesh-types.js"
 */
import { randomUUID } from "node:crypto";

import { blocksOf, place } from "./blocks.mjs";
import { at, clone, Numeral, object, tokens } from "./json.mjs";

/**
 * The copy for the next hop. ttl, traceId and header blocks change, and nothing else (4.8.2.1).
 *
 * @param {Message} message
 * @param {NodeSetup} node
 * @param {ReadonlySet<number>} processed
 * @param {ReadonlyMap<number, Members>} reinserted
 * @returns {Members}
 */
export function forwarded(message, node, processed, reinserted) {
  const copy = clone(message.top);
  const found = place(copy, node);
  if (found !== null) {
    // The table of 4.8.1.
    const kept = blocksOf(copy, node).flatMap(({ index, isTargeted, relayable, members }) => {
      const again = reinserted.get(index);
      if (again !== undefined) return [clone(again)];
      return !isTargeted || (relayable && !processed.has(index)) ? [members] : [];
    });
    found.holder.set(found.name, kept);
  }
  const header = /** @type {Members} */ (at(copy, ["Envelope", "Header"]));
  header.set("ttl", new Numeral(message.ttl - 1n));
  header.set("traceId", `${header.get("traceId")}>${lastPart(node.uri)}`); // E23: changed, and it contains the old one
  return copy;
}

/** @param {string} uri */
const lastPart = (uri) => uri.split(/[:/]/).filter(Boolean).at(-1) ?? uri;

/** @param {Value} inbound the message that is answered */
function headerFor(inbound) {
  const trace = at(inbound, ["Envelope", "Header", "traceId"]);
  const roles = at(inbound, ["Envelope", "Header", "roles"]);
  return newHeader({ traceId: typeof trace === "string" ? trace : randomUUID(), roles: Array.isArray(roles) ? [...roles] : [] });
}

/** @param {Record<string, Value>} known */
const newHeader = (known) =>
  object({ messageId: randomUUID(), traceId: randomUUID(), roles: [], routingIntent: "direct", ttl: new Numeral(8), ...known });

/**
 * @param {Members} header
 * @param {Members} body
 * @param {Value} [graph]
 */
const wrapped = (header, body, graph = object({ nodes: [], edges: [], mode: "snapshot", encoding: "json" })) =>
  object({ Envelope: object({ Header: header, Body: body, MemoryGram: graph }) });

/** The answer to the task echo. @param {Message} message */
export function reply(message) {
  const context = message.body.get("context");
  const echo = context instanceof Map ? clone(context) : object({});
  return wrapped(headerFor(message.top), object({ task: "echo", expectedOutput: ["echo"], context: object({ echo }) }));
}

/**
 * @param {{ code: string, reason: string, types?: readonly string[] }} problem
 * @param {NodeSetup} node
 * @param {Value} inbound
 */
export function fault({ code, reason, types = [] }, node, inbound) {
  const about = object({ code: object({ value: code }), reason: [object({ text: reason, lang: "en" })], node: node.uri });
  if (types.length > 0) about.set("detail", object({ blocks: [...types] }));
  return wrapped(headerFor(inbound), object({ fault: about }));
}

/**
 * A new message; what the Header needs and is not given is made up.
 *
 * @param {{ header: Members, body: Members | null, graph: Members | null, blocks: Value[] | null }} parts
 * @param {NodeSetup} node
 */
export function built({ header, body, graph, blocks }, node) {
  const message = wrapped(newHeader(Object.fromEntries(header)), body ?? object({ task: "echo", expectedOutput: [] }), graph ?? undefined);
  if (blocks !== null) {
    const path = tokens(node.blocksAt);
    const name = path.pop() ?? "";
    const holder = at(message, path);
    if (holder instanceof Map) holder.set(name, blocks);
  }
  return message;
}
