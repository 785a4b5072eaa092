/**
 * Contexts, the five operations on them, and update events (sections 3.4 and 5; E47 to E60).
 *
 * @import { Clock, Context, Json, Members } from "../meshai-types.js"
 */
import { randomUUID } from "node:crypto";

import { contentProblems } from "./declare.mjs";
import { copied, isObject, joined, members } from "./json.mjs";
import { instant, isText, malformed, Refusal, stamp } from "./words.mjs";

const AT = "/message/payload/parameters";

/** @param {string} reason */
const denied = (reason) => new Refusal("AUTHENTICATION_FAILED", reason, undefined, true);

/**
 * The ids on an access list, or null where none restricts the operation.
 *
 * @param {Members | null} access
 * @param {string} operation
 */
function listed(access, operation) {
  const list = access?.[operation];
  return Array.isArray(list) ? list : null;
}

export class Contexts {
  /** @type {Map<string, Context>} */
  #stored = new Map();
  #now;

  /** @param {Clock} now */
  constructor(now) {
    this.#now = now;
  }

  static OPERATIONS = /** @type {const} */ (["create", "get", "update", "merge", "fork"]);

  /**
   * The context that results, as the agent may see it.
   *
   * @param {typeof Contexts.OPERATIONS[number]} operation
   * @param {string} agent
   * @param {Members} parameters
   */
  call(operation, agent, parameters) {
    return view(this[operation](agent, parameters), agent);
  }

  /**
   * A context update: found by the id, else by the session (E53).
   *
   * @param {string} agent
   * @param {Json | undefined} given
   */
  event(agent, given) {
    if (!isObject(given)) throw malformed("/message/payload/context", "an object is required");
    this.#change(agent, this.#find(given["id"], given["session_id"]), given);
  }

  /** @param {string} agent @param {Members} parameters */
  create(agent, { context: given = members() }) {
    const content = accepted(given, agent);
    const { session_id: session = null, expires_at: expires = null, access_control: access = null } = content;
    const owned = isObject(content["agent_memory"]) ? Object.entries(content["agent_memory"]) : [];
    return this.#keep({
      session: /** @type {string | null} */ (session),
      expires: /** @type {string | null} */ (expires),
      shared: /** @type {Members} */ (content["shared_memory"] ?? members()),
      private: new Map(/** @type {[string, Members][]} */ (owned)),
      access: /** @type {Members | null} */ (access),
    });
  }

  /** @param {string} agent @param {Members} parameters */
  get(agent, { context_id: id, session_id: session }) {
    return this.#readable(agent, this.#find(id, session));
  }

  /** @param {string} agent @param {Members} parameters */
  update(agent, { context_id: id, context: given }) {
    return this.#change(agent, this.#find(id), given);
  }

  /** The later value wins (E55). @param {string} agent @param {Members} parameters */
  merge(agent, { context_ids: ids }) {
    if (!Array.isArray(ids) || ids.length === 0) throw malformed(`${AT}/context_ids`, "a list of context ids is required");
    const sources = ids.map((id) => this.#find(id)).map((source) => this.#readable(agent, source));
    const sessions = new Set(sources.map(({ session }) => session));
    const ends = sources.flatMap(({ expires }) => (expires === null ? [] : [expires])).sort((one, other) => Number(instant(one)) - Number(instant(other)));
    const own = joined(...sources.map((source) => source.private.get(agent) ?? {}));
    return this.#keep({
      session: sessions.size === 1 ? (sources[0]?.session ?? null) : null,
      expires: ends[0] ?? null, // nothing outlives its source
      shared: joined(...sources.map(({ shared }) => shared)),
      private: new Map([[agent, own]]),
      access: common(sources, agent),
    });
  }

  /** @param {string} agent @param {Members} parameters */
  fork(agent, { context_id: id }) {
    const parent = this.#readable(agent, this.#find(id));
    const own = parent.private.get(agent) ?? members();
    const { session, expires, shared } = parent;
    return this.#keep({ session, expires, shared, private: new Map([[agent, own]]), access: common([parent], agent) }, parent);
  }

  /**
   * @param {Omit<Context, "id" | "created" | "parent" | "root">} content
   * @param {Context} [parent]
   */
  #keep({ session, expires, shared, private: owned, access }, parent) {
    const id = randomUUID();
    /** @type {Context} */
    const context = {
      id,
      created: this.#now(),
      parent: parent?.id ?? null,
      root: parent?.root ?? id,
      session,
      expires,
      shared: copied(shared),
      private: new Map([...owned].map(([agent, memory]) => [agent, copied(memory)])),
      access: access === null ? null : copied(access),
    };
    this.#stored.set(id, context);
    return context;
  }

  /**
   * The context with this id, else the oldest of this session. An expired one does not exist (E58).
   *
   * @param {Json | undefined} id
   * @param {Json} [session]
   */
  #find(id, session) {
    const now = this.#now();
    for (const { id: key, expires } of this.#stored.values()) {
      if (expires !== null && Number(instant(expires)) <= now) this.#stored.delete(key);
    }
    const key = id ?? session ?? null;
    if (!isText(key)) throw malformed(AT, "the id of a context is a non-empty text");
    const context = (id ?? null) !== null ? this.#stored.get(key) : [...this.#stored.values()].find((context) => context.session === key);
    if (context === undefined) throw new Refusal("CONTEXT_NOT_FOUND", "the context does not exist");
    return context;
  }

  /** @param {string} agent @param {Context} context */
  #readable(agent, context) {
    if (listed(context.access, "read")?.includes(agent) === false) throw denied(`${agent} may not read the context`);
    return context;
  }

  /**
   * Named keys are set, the others stay (E54).
   *
   * @param {string} agent
   * @param {Context} context
   * @param {Json | undefined} given
   */
  #change(agent, context, given) {
    if (listed(context.access, "write")?.includes(agent) === false) throw denied(`${agent} may not change the context`);
    const { shared_memory: shared, agent_memory: owned, access_control: access, expires_at: expires } = accepted(given, agent);
    if (isObject(shared)) Object.assign(context.shared, shared);
    if (isObject(owned)) context.private.set(agent, joined(context.private.get(agent) ?? {}, /** @type {Members} */ (owned[agent] ?? {})));
    if (isObject(access)) context.access = access;
    if (typeof expires === "string") context.expires = expires;
    return context;
  }
}

/**
 * A copy of what an agent may set. Private state is set by its owner alone.
 *
 * @param {Json | undefined} given
 * @param {string} agent
 */
function accepted(given, agent) {
  const [problem] = contentProblems(given);
  if (problem !== undefined) throw malformed(`${AT}${problem.path}`, problem.reason);
  const content = copied(/** @type {Members} */ (given));
  const owned = content["agent_memory"];
  if (isObject(owned) && Object.keys(owned).some((owner) => owner !== agent)) throw denied("private state is changed by its owner alone");
  return content;
}

/**
 * What an agent sees: no private state of others (E52), and no shared state that it may not read.
 *
 * @param {Context} context
 * @param {string} agent
 */
function view(context, agent) {
  const own = context.private.get(agent);
  const isReader = listed(context.access, "read")?.includes(agent) ?? true;
  const seen = joined({
    id: context.id,
    created_at: stamp(context.created),
    shared_memory: isReader ? context.shared : members(),
    agent_memory: own !== undefined && Object.keys(own).length > 0 ? joined({ [agent]: own }) : members(),
    lineage: joined({ parent_context: context.parent, root_context: context.root }),
  });
  if (context.session !== null) seen["session_id"] = context.session;
  if (context.expires !== null) seen["expires_at"] = context.expires;
  if (context.access !== null) seen["access_control"] = context.access;
  return copied(seen);
}

/**
 * The access lists of a context that is made of others: its readers are the common readers of all,
 * and its creator may write it.
 *
 * @param {Context[]} sources
 * @param {string} agent
 */
function common(sources, agent) {
  const lists = members();
  for (const operation of ["read", "write"]) {
    const given = sources.flatMap(({ access }) => [listed(access, operation) ?? []].filter(() => listed(access, operation) !== null));
    const [first, ...others] = given;
    if (first !== undefined) lists[operation] = first.filter((id) => others.every((list) => list.includes(id)));
  }
  const { write } = lists;
  if (Array.isArray(write) && !write.includes(agent)) write.push(agent);
  return Object.keys(lists).length > 0 ? lists : null;
}
