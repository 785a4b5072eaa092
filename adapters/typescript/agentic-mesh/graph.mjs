/**
 * MemoryGrams: validity (2.3, 3.1, 3.2), and what an intermediary may do to them (4.8.3).
 *
 * @import { Members, Value } from "../mesh-types.js"
 */
import { Fault, INVALID_MEMORYGRAM } from "./fault.mjs";
import { Numeral, object } from "./json.mjs";

/** The member of metadata that identifies an addition (E17). */
const MARK = "addedBy";

/** @type {(reason: string) => Fault} */
const invalid = (reason) => new Fault(INVALID_MEMORYGRAM, reason);

/** @type {Readonly<Record<string, (value: Value) => boolean>>} */
const IS = {
  string: (value) => typeof value === "string",
  array: Array.isArray,
  object: (value) => value instanceof Map,
  share: (value) => value instanceof Numeral && value.isShare(),
};

/**
 * @param {Value} holder
 * @param {string} word
 * @param {readonly string[]} required
 * @param {Readonly<Record<string, keyof typeof IS>>} kinds
 * @returns {Members}
 */
function checked(holder, word, required, kinds) {
  if (!(holder instanceof Map)) throw invalid(`${word} is not an object`);
  for (const name of required) if (!holder.has(name)) throw invalid(`${word} has no ${name}`);
  for (const [name, kind] of Object.entries(kinds)) {
    const value = holder.get(name);
    if (value !== undefined && !IS[kind]?.(value)) throw invalid(`${name} of ${word} is not valid`);
  }
  return holder;
}

/** Throws the fault for the first defect. @param {Value} graph */
export function check(graph) {
  const members = checked(graph, "a MemoryGram", [], { nodes: "array", edges: "array", mode: "string", encoding: "string" });
  const seen = new Set();
  for (const item of list(members, "nodes")) {
    const id = checked(item, "a node", ["id"], { id: "string", type: "string", metadata: "object" }).get("id");
    if (seen.has(id)) throw invalid("two nodes have one id");
    seen.add(id);
  }
  // An edge may name nodes that are not there: a MemoryGram is a partial snapshot (E14).
  for (const item of list(members, "edges")) {
    checked(item, "an edge", ["source", "target"], { source: "string", target: "string", weight: "share", context: "string", metadata: "object" });
  }
}

/**
 * @param {Members} graph
 * @param {string} name
 * @returns {Value[]}
 */
function list(graph, name) {
  const items = graph.get(name);
  return Array.isArray(items) ? items : [];
}

/** @param {Members} graph @param {string} name */
const objects = (graph, name) => list(graph, name).filter((item) => item instanceof Map);

/** @param {Members} graph @returns {string[]} */
export const ids = (graph) => objects(graph, "nodes").flatMap((node) => {
  const id = node.get("id");
  return typeof id === "string" ? [id] : [];
});

/**
 * Rule 2: appends the node to processedBy. Metadata that is there stays.
 *
 * @param {Members} graph
 * @param {string} uri
 * @param {ReadonlySet<unknown> | null} only ids of nodes, or null for all
 */
export function annotate(graph, uri, only = null) {
  const now = `${new Date().toISOString().slice(0, 19)}Z`;
  for (const node of objects(graph, "nodes")) {
    if (only !== null && !only.has(node.get("id"))) continue;
    if (!node.has("metadata")) node.set("metadata", new Map());
    const metadata = node.get("metadata");
    if (!(metadata instanceof Map)) continue;
    const before = metadata.get("processedBy");
    metadata.set("processedBy", [...(Array.isArray(before) ? before : []), uri]);
    metadata.set("processingTimestamp", now);
  }
}

/**
 * Rule 4: adds nodes and edges, each marked. An id that is taken gets a number, in the added edges as well.
 *
 * @param {Members} graph
 * @param {string} uri
 * @param {readonly Value[]} nodes
 * @param {readonly Value[]} edges
 */
export function augment(graph, uri, nodes, edges) {
  const taken = new Set(ids(graph));
  /** @type {Map<Value | undefined, string>} */
  const renamed = new Map();
  for (const node of nodes) {
    if (!(node instanceof Map)) continue;
    const wish = node.get("id");
    const added = marked(node, uri);
    if (typeof wish === "string") {
      let id = wish;
      for (let count = 2; taken.has(id); count += 1) id = `${wish}-${count}`;
      taken.add(id);
      renamed.set(wish, id);
      added.set("id", id);
    }
    append(graph, "nodes", added);
  }
  for (const edge of edges) {
    if (!(edge instanceof Map)) continue;
    const added = marked(edge, uri);
    for (const end of ["source", "target"]) {
      const id = renamed.get(edge.get(end));
      if (id !== undefined) added.set(end, id);
    }
    append(graph, "edges", added);
  }
}

/** @param {Members} item @param {string} uri @returns {Members} */
function marked(item, uri) {
  const metadata = item.get("metadata");
  return new Map([...item, ["metadata", new Map([...(metadata instanceof Map ? metadata : []), [MARK, uri]])]]);
}

/** @param {Members} graph @param {string} name @param {Members} item */
function append(graph, name, item) {
  graph.set(name, [...list(graph, name), item]);
}

/** The node and the edge that the augment block adds. @param {Members} graph @param {string} uri */
export function note(graph, uri) {
  const [first] = ids(graph);
  const edge = first === undefined ? [] : [object({ source: first, target: "note", context: "noted in transit" })];
  augment(graph, uri, [object({ id: "note", type: "note" })], edge);
}

/**
 * Rule 3: removes nodes, and the edges that would end at them. All others stay.
 *
 * @param {Members} graph
 * @param {ReadonlySet<unknown>} gone
 */
export function drop(graph, gone) {
  /** @type {(item: Value, names: string[]) => boolean} */
  const names = (item, members) => item instanceof Map && members.some((member) => gone.has(item.get(member)));
  if (graph.has("nodes")) graph.set("nodes", list(graph, "nodes").filter((node) => !names(node, ["id"])));
  if (graph.has("edges")) graph.set("edges", list(graph, "edges").filter((edge) => !names(edge, ["source", "target"])));
}
