/**
 * The methods of the adapter: params to calls of the library, and answers back to JSON-RPC.
 *
 * Replace this file to test your own library.
 *
 * @import { Method, Params } from "../types.js"
 * @import { Json, Members, Problem, Settings } from "../meshai-types.js"
 */
import * as rpc from "../rpc.mjs";
import { Agent, AGENT_ID, ENDPOINTS, IDENTITY, pause } from "./agent.mjs";
import { Calls, outcome, participate } from "./client.mjs";
import { Contexts } from "./contexts.mjs";
import { capabilityProblems, contextProblems, identityProblems } from "./declare.mjs";
import * as envelopes from "./envelope.mjs";
import { bytesOf, fromPlain, isObject, joined } from "./json.mjs";
import { found } from "./registry.mjs";
import * as security from "./security.mjs";
import { FAMILIES, instant, malformed, Refusal, STATUS_OF, TAXONOMY, VERSION } from "./words.mjs";

const REJECTED = -32001;
const DENIED = -32003;

/** What this library declares where it takes part in a mesh. */
const DECLARED = fromPlain({
  id: "text-analysis",
  version: "1.0",
  description: "Counts characters and words of a text.",
  input_schema: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  output_schema: { type: "object" },
  constraints: { max_input_length: 10000, supported_languages: ["en"], response_time_ms: 1000 },
});

/** The authentication methods that the environment puts in force, for a target file with the same keys. @type {Settings} */
const CONFIGURED = { apiKey: process.env["MESHAI_API_KEY"], jwtKey: process.env["MESHAI_JWT_KEY"], hmacKey: process.env["MESHAI_HMAC_KEY"] };

// The state between two calls.
let agent = new Agent(CONFIGURED);
let calls = new Calls();

// --- Params -----------------------------------------------------------------------------------------------------------------

/** @param {string} message */
const wrong = (message) => new rpc.RpcError(rpc.INVALID_PARAMS, message);

/** @param {Params} params @param {string} name @returns {Json} */
const value = (params, name) => (Object.hasOwn(params, name) ? fromPlain(params[name]) : null);

/** @param {Params} params @param {string} name */
function object(params, name) {
  const found = value(params, name);
  if (!isObject(found)) throw wrong(`${name} must be an object`);
  return found;
}

/** @param {Params} params @param {string} name */
function list(params, name) {
  const found = value(params, name);
  if (!Array.isArray(found)) throw wrong(`${name} must be an array`);
  return found;
}

/** @param {Params} params @param {string} name */
function time(params, name) {
  const found = instant(rpc.text(params, name));
  if (found === null) throw wrong(`${name} must be an RFC 3339 time`);
  return found;
}

/** An envelope of which no more is needed than a message: signatures do not depend on the rest. @param {Params} params */
function loose(params) {
  const envelope = envelopes.body(rpc.bytes(params, "raw"));
  const message = isObject(envelope) ? envelope["message"] : undefined;
  if (!isObject(envelope) || !isObject(message)) throw malformed("/message", "an object is required");
  return { envelope, message };
}

/** @param {Json} json */
const hex = (json) => bytesOf(json).toString("hex");

/** @param {Problem[]} problems */
const validity = (problems) => ({ valid: problems.length === 0, problems });

// --- Methods ----------------------------------------------------------------------------------------------------------------

/** @type {Record<string, Method>} */
const METHODS = {
  info: () => ({
    name: "meshai-typescript",
    version: "0.1.0",
    roles: ["agent", "registry", "context-store", "client"],
    protocols: FAMILIES.map((family) => `${family}/${VERSION}`),
    transports: ["http"],
    auth: ["api_key", "jwt", "hmac"],
    canonical: "jcs",
    encoding: "base64",
    features: { registry: true, context: true, negotiation: true, delegation: true },
    operations: [...methods.keys()].sort(),
  }),

  reset: (params) => {
    const part = (/** @type {Json | undefined} */ holder, /** @type {string} */ name) => {
      const inner = isObject(holder) ? holder[name] : undefined;
      return isObject(inner) ? inner : {};
    };
    const key = (/** @type {Json | undefined} */ given) => (typeof given === "string" ? given : undefined);
    const config = part(/** @type {Json} */ (fromPlain(params)), "config");
    const auth = part(config, "auth");
    const { requests, window_ms: windowMs } = part(config, "rate_limit");
    const hmac = part(auth, "hmac");
    agent = new Agent({
      apiKey: key(part(auth, "api_key")["value"]),
      jwtKey: key(part(auth, "jwt")["key"]),
      hmacKey: key(hmac["key"]),
      signatureRequired: hmac["required"] === true,
      enforcesRegistration: config["enforce_registration"] === true,
      rate: typeof requests === "number" && typeof windowMs === "number" ? { requests, windowMs } : undefined,
    });
    calls = new Calls();
    if (params["now"] !== undefined) agent.setClock(time(params, "now"));
    return {};
  },

  set_clock: (params) => {
    agent.setClock(time(params, "now"));
    return {};
  },

  define_capability: (params) => {
    agent.offer(object(params, "capability"), object(params, "behaviour"));
    return {};
  },

  parse: (params) => {
    const envelope = envelopes.body(rpc.bytes(params, "raw"));
    envelopes.checked(envelope);
    return { envelope };
  },

  encode: (params) => ({ raw: hex(object(params, "envelope")) }),

  build: (params) => {
    const kind = rpc.text(params, "kind");
    if (!envelopes.KINDS.includes(kind)) throw wrong(`unknown kind ${kind}`);
    const fields = object(params, "fields");
    const answered = fields["request_raw"] === undefined ? null : envelopes.body(rpc.bytes(fields, "request_raw"));
    return { raw: hex(envelopes.build(kind, fields, AGENT_ID, agent.now(), answered)) };
  },

  handle: (params) => {
    const { raw, status } = agent.handle(rpc.bytes(params, "raw"), rpc.optionalText(params, "authorization"));
    return { raw: raw === null ? null : raw.toString("hex"), http_status: status };
  },

  outbox: () => ({ sent: agent.sent().map(({ to, raw }) => ({ to, raw: raw.toString("hex") })) }),

  validate_identity: (params) => validity(identityProblems(value(params, "agent"), true)),
  validate_capability: (params) => validity(capabilityProblems(value(params, "capability"), rpc.optionalBoolean(params, "strict"))),
  validate_context: (params) => validity(contextProblems(value(params, "context"))),

  taxonomy: () => ({ groups: TAXONOMY }),
  error_codes: () => ({ codes: Object.keys(STATUS_OF) }),

  match: (params) => ({
    ids: found(value(params, "query"), list(params, "agents")).map((entry) => /** @type {Members} */ (/** @type {Members} */ (entry)["agent"])["id"]),
  }),

  context: (params) => {
    const operation = Contexts.OPERATIONS.find((name) => name === rpc.text(params, "op"));
    if (operation === undefined) throw wrong("unknown operation");
    return { context: agent.contexts.call(operation, rpc.text(params, "agent_id"), object(params, "parameters")) };
  },

  canonical: (params) => {
    const { message } = object(params, "envelope");
    if (!isObject(message)) throw wrong("the envelope has no message");
    return { bytes: Buffer.from(security.signedText(message)).toString("hex") };
  },

  sign: (params) => ({ raw: hex(security.sign(loose(params).envelope, rpc.bytes(params, "key"))) }),

  verify: (params) => {
    const reason = security.unverified(loose(params).message, rpc.bytes(params, "key"));
    return reason === null ? { valid: true } : { valid: false, reason };
  },

  make_jwt: (params) => ({ token: security.makeToken(object(params, "claims"), rpc.bytes(params, "key")) }),

  check_jwt: (params) => {
    const now = params["now"] === undefined ? agent.now() : time(params, "now");
    const checked = security.checkToken(rpc.text(params, "token"), rpc.bytes(params, "key"), now);
    return { valid: "claims" in checked, ...checked };
  },

  negotiate_version: (params) => ({ agreed: envelopes.agreed(list(params, "offered")) }),

  participate: (params) => {
    const requests = list(params, "requests").filter(isObject);
    // The agent signs up under the id that its requests come from (2.1).
    const source = requests[0]?.["source"];
    const id = (isObject(source) ? source["agent_id"] : undefined) ?? AGENT_ID;
    const isRegistered = rpc.text(params, "registry_answer") === "success";
    return { sent: participate(joined(IDENTITY, { id }), ENDPOINTS, [DECLARED], isRegistered, requests, agent.now()).map(hex) };
  },

  invoke: (params) => {
    const delay = rpc.optionalInteger(params, "delay_ms") ?? 0;
    const asked = envelopes.build("request", object(params, "fields"), AGENT_ID, agent.now());
    const done = outcome(String(/** @type {Members} */ (asked["message"])["id"]), rpc.bytes(params, "peer_reply"));
    if (rpc.text(params, "mode") === "async") return { handle: calls.start(done, delay) };
    pause(delay);
    return { outcome: done };
  },

  poll: (params) => {
    const done = calls.poll(rpc.text(params, "handle"));
    if (done === undefined) throw wrong("unknown handle");
    return done === null ? { done: false } : { done: true, outcome: done };
  },
};

/** A method whose refusals are errors (binding, section 11). @param {Method} method @returns {Method} */
const refusing = (method) => (params) => {
  try {
    return method(params);
  } catch (error) {
    throw error instanceof Refusal ? new rpc.RpcError(error.isDenied ? DENIED : REJECTED, error.message, error.error()) : error;
  }
};

/** @type {Map<string, Method>} */
export const methods = new Map(Object.entries(METHODS).map(([name, method]) => [`meshai/${name}`, refusing(method)]));
methods.set("describe", () => ({ name: "proofmark-meshai-typescript", version: "0.1.0", protocols: ["meshai"], operations: [...methods.keys()].sort() }));
