/**
 * The methods of the adapter: params to calls of the library, results and refusals back.
 *
 * Replace this file to test your own library.
 *
 * @import { Json, JsonObject, Method, Params, StoredPackage } from "../types.js"
 */
import * as rpc from "../rpc.mjs";
import * as backup from "./backup.mjs";
import { canonicalize, contentHash, verify } from "./canonical.mjs";
import { parse, stringify } from "./json.mjs";
import * as names from "./refusal.mjs";
import { factIssues, packageIssues, readFact, readPackage } from "./schema.mjs";
import { mayMove, Store } from "./store.mjs";
import { instant } from "./time.mjs";

const ABOUT = { name: "agentic-typescript", version: "0.1.0" };
const LEVEL = "L3";

/** The number of each refusal. @type {ReadonlyMap<string, number>} */
const NUMBERS = new Map([
  [names.INVALID_SCHEMA, -32001],
  [names.DUPLICATE_PACKAGE_ID, -32002],
  [names.PACKAGE_NOT_FOUND, -32005],
  [names.INVALID_TRANSITION, -32007],
  [names.HASH_MISMATCH, -32008],
  [names.NOT_CANONICALIZABLE, -32009],
  [names.FACT_CONFLICT, -32010],
]);

// --- Params and results -----------------------------------------------------------------------------------------------------

/** @type {Map<string, Store>} */
const stores = new Map();
let opened = 0;

/** @param {Params} params */
function storeOf(params) {
  const store = stores.get(rpc.text(params, "store"));
  if (store === undefined) throw new rpc.RpcError(rpc.INVALID_PARAMS, "unknown store");
  return store;
}

/**
 * The value of json_hex. The library parses the original bytes, so that its parser is tested.
 *
 * @param {Params} params
 */
const json = (params) => parse(rpc.bytes(params, "json_hex"));

/** @param {Params} params */
const project = (params) => rpc.text(params, "project_id");

/** @param {Params} params */
const packageId = (params) => rpc.text(params, "package_id");

/**
 * @param {Params} params
 * @param {string} name
 */
function time(params, name) {
  const text = rpc.optionalText(params, name);
  if (text === undefined) return { text: null, at: undefined };
  const at = instant(text);
  if (at === null) throw new rpc.RpcError(rpc.INVALID_PARAMS, `${name} must be an RFC 3339 time in UTC`);
  return { text, at };
}

/** @param {string} text */
const hex = (text) => Buffer.from(text, "utf8").toString("hex");

/** @param {Json} value */
const jsonHex = (value) => hex(stringify(value));

/** @param {readonly { members: JsonObject }[]} records */
const listed = (records) => records.map(({ members }) => jsonHex(members));

/** @param {StoredPackage} stored */
const withHash = ({ content, hash }) => ({ package_hex: jsonHex(content.members), hash });

/** @param {ReturnType<typeof packageIssues>} errors */
const verdict = (errors) => ({ valid: errors.length === 0, errors });

// --- The methods ------------------------------------------------------------------------------------------------------------
// Leave out unsupported methods: they are reported as not claimed. A made-up answer fails.

/** @type {Record<string, Method>} */
const METHODS = {
  describe: () => ({ ...ABOUT, protocols: ["agentic"], operations: Array.from(methods.keys()) }),
  "agentic/hello": () => ({ ...ABOUT, level: LEVEL, methods: Array.from(methods.keys()) }),

  "agentic/canonicalize": (params) => ({ canonical_hex: hex(canonicalize(json(params))) }),
  "agentic/content_hash": (params) => ({ hash: contentHash(json(params)) }),
  "agentic/verify": (params) => ({ match: verify(json(params), rpc.text(params, "hash")) }),
  "agentic/validate_package": (params) => verdict(packageIssues(json(params))),
  "agentic/validate_fact": (params) => verdict(factIssues(json(params))),
  "agentic/roundtrip_package": (params) => ({ json_hex: jsonHex(readPackage(json(params)).members) }),
  "agentic/roundtrip_fact": (params) => ({ json_hex: jsonHex(readFact(json(params)).members) }),
  "agentic/transition_allowed": (params) => ({ allowed: mayMove(rpc.text(params, "from"), rpc.text(params, "to")) }),

  "agentic/open"(params) {
    const store = new Store(time(params, "now").text);
    opened += 1;
    stores.set(`s${opened}`, store);
    return { store: `s${opened}` };
  },
  "agentic/close"(params) {
    storeOf(params);
    stores.delete(rpc.text(params, "store"));
    return {};
  },
  "agentic/set_now"(params) {
    rpc.text(params, "now");
    storeOf(params).clock.fixed = time(params, "now").text;
    return {};
  },
  "agentic/create_project"(params) {
    const name = rpc.optionalText(params, "name");
    storeOf(params).ensureProject(project(params), name === undefined ? [] : [["name", name]]);
    return {};
  },
  "agentic/archive_project": (params) => ({ archived_at: storeOf(params).archive(project(params)) }),
  "agentic/restore_project"(params) {
    storeOf(params).restore(project(params));
    return { archived_at: null };
  },

  "agentic/deposit"(params) {
    const { stored, created } = storeOf(params).deposit(project(params), json(params));
    return { ...withHash(stored), created };
  },
  "agentic/pull_latest"(params) {
    const limit = rpc.optionalInteger(params, "limit");
    return { packages: listed(storeOf(params).latest(project(params), limit)) };
  },
  "agentic/pull_specific": (params) => withHash(storeOf(params).intact(packageId(params))),
  "agentic/pull_relevant"(params) {
    const limit = rpc.optionalInteger(params, "limit");
    return { packages: listed(storeOf(params).relevant(project(params), rpc.text(params, "query"), limit)) };
  },
  "agentic/orient"(params) {
    const bundle = storeOf(params).orient(project(params), rpc.optionalInteger(params, "window_days"));
    return { bundle_hex: jsonHex(bundle) };
  },
  "agentic/orchestrate"(params) {
    const only = rpc.optionalText(params, "project_id");
    const focus = rpc.optionalText(params, "focus");
    return { bundle_hex: jsonHex(storeOf(params).orchestrate(only, focus, rpc.optionalInteger(params, "snippets"))) };
  },

  "agentic/assert_fact": (params) => ({ fact_hex: jsonHex(storeOf(params).assertFact(json(params)).members) }),
  "agentic/invalidate_fact"(params) {
    const subject = rpc.text(params, "subject");
    const predicate = rpc.text(params, "predicate");
    const value = rpc.optionalText(params, "object");
    return { count: storeOf(params).invalidateFact(project(params), subject, predicate, value) };
  },
  "agentic/query_facts"(params) {
    const found = storeOf(params).queryFacts(project(params), {
      subject: rpc.optionalText(params, "subject"),
      predicate: rpc.optionalText(params, "predicate"),
      asOf: time(params, "as_of").at,
      includeEnded: rpc.optionalBoolean(params, "include_ended"),
    });
    return { facts: listed(found) };
  },

  "agentic/flag_for_review"(params) {
    // A package has no member for the note (E72), and this library does not show it.
    rpc.optionalText(params, "note");
    return withHash(storeOf(params).flag(packageId(params), params["review_type"]));
  },
  "agentic/transition": (params) => withHash(storeOf(params).transition(packageId(params), params["status"])),
  "agentic/awaiting_review": (params) => ({ packages: listed(storeOf(params).awaitingReview(project(params))) }),

  "agentic/export": (params) => ({ ndjson_hex: hex(backup.write(storeOf(params), project(params))) }),
  "agentic/import": (params) => backup.read(storeOf(params), rpc.bytes(params, "ndjson_hex")),
  "agentic/tamper"(params) {
    storeOf(params).tamper(packageId(params), json(params));
    return {};
  },
  "agentic/list_sessions": (params) => ({ sessions: storeOf(params).sessionsOf(project(params)).map(jsonHex) }),
};

/**
 * The method, with the refusals of the library as errors of JSON-RPC.
 *
 * @param {Method} method
 * @returns {Method}
 */
const refusing = (method) => (params) => {
  try {
    return method(params);
  } catch (error) {
    if (!(error instanceof names.Refusal)) throw error;
    const { code, message, pointer } = error;
    const data = pointer === undefined ? { code } : { code, pointer };
    throw new rpc.RpcError(NUMBERS.get(code) ?? rpc.INTERNAL_ERROR, message, data);
  }
};

/** @type {ReadonlyMap<string, Method>} */
export const methods = new Map(Object.entries(METHODS).map(([name, method]) => [name, refusing(method)]));
