/**
 * Signatures and tokens (section 7; E69 to E72).
 *
 * @import { Members } from "../meshai-types.js"
 */
import { createHmac, timingSafeEqual } from "node:crypto";

import { canonical, copied, isObject, joined, members, parse } from "./json.mjs";

const ALGORITHM = "HMAC-SHA256";
const AUDIENCE = "amp-mesh";

/** The message without its signature; headers that become empty stay (E71). @param {Members} message */
export function signedText(message) {
  const { headers } = message;
  if (!isObject(headers)) return canonical(message);
  const { signature: _, ...others } = headers;
  return canonical(joined(message, { headers: joined(others) }));
}

/**
 * @param {string} text
 * @param {Uint8Array} key
 */
const digest = (text, key) => createHmac("sha256", key).update(Buffer.from(text)).digest();

/**
 * @param {Uint8Array} one
 * @param {Uint8Array} other
 */
const equal = (one, other) => one.length === other.length && timingSafeEqual(one, other);

/**
 * @param {string} one
 * @param {string} other
 */
export const sameKey = (one, other) => equal(Buffer.from(one), Buffer.from(other));

/**
 * @param {Members} envelope with a message
 * @param {Uint8Array} key
 */
export function sign(envelope, key) {
  const signed = copied(envelope);
  const message = /** @type {Members} */ (signed["message"]);
  if (!isObject(message["headers"])) message["headers"] = members();
  const value = digest(signedText(message), key).toString("base64");
  message["headers"]["signature"] = joined({ algorithm: ALGORITHM, value });
  return signed;
}

/**
 * Why the signature does not verify, or null. The value is base64, or hexadecimal in lower case (E71).
 *
 * @param {Members} message
 * @param {Uint8Array} key
 */
export function unverified(message, key) {
  const signature = isObject(message["headers"]) ? message["headers"]["signature"] : undefined;
  if (!isObject(signature)) return "the message has no signature";
  if (signature["algorithm"] !== ALGORITHM) return "unknown algorithm";
  const { value } = signature;
  if (typeof value !== "string") return "the value is not a text";
  const expected = digest(signedText(message), key);
  const matches = [expected.toString("base64"), expected.toString("hex")].map((spelling) => sameKey(value, spelling));
  return matches.includes(true) ? null : "the value is another one";
}

// --- Tokens: JWT with HS256 (E70) -----------------------------------------------------------------------------------------

/** @param {Uint8Array} data */
const part = (data) => Buffer.from(data).toString("base64url");

/**
 * @param {Members} claims
 * @param {Uint8Array} key
 */
export function makeToken(claims, key) {
  const signed = [{ alg: "HS256", typ: "JWT" }, claims].map((value) => part(Buffer.from(JSON.stringify(value)))).join(".");
  return `${signed}.${part(digest(signed, key))}`;
}

/**
 * The claims, or why the token is not valid.
 *
 * @param {string} token
 * @param {Uint8Array} key
 * @param {number} now
 * @returns {{ claims: Members } | { reason: string }}
 */
export function checkToken(token, key, now) {
  const parts = token.split(".");
  const [first, second, third] = parts.map((text) => Buffer.from(text, "base64url"));
  // Other alphabets, padding, and bits beyond the last byte do not come back as they were.
  const isWritten = parts.length === 3 && parts.every((text) => part(Buffer.from(text, "base64url")) === text);
  if (!isWritten || first === undefined || second === undefined || third === undefined) return { reason: "not a token" };
  const [header, claims] = [object(first), object(second)];
  if (header === null || claims === null) return { reason: "not a token" };
  if (header["alg"] !== "HS256" || "crit" in header) return { reason: "not a token by HS256" };
  if (!equal(third, digest(`${parts[0]}.${parts[1]}`, key))) return { reason: "the signature is another one" };
  const { exp, nbf, aud = AUDIENCE } = claims;
  if (typeof exp !== "number" || exp * 1000 <= now) return { reason: "expired, or without an end" };
  if (nbf !== undefined && !(typeof nbf === "number" && nbf * 1000 <= now)) return { reason: "not valid yet" };
  if (![aud].flat().includes(AUDIENCE)) return { reason: "for another audience" };
  return { claims };
}

/** @param {Uint8Array} data */
function object(data) {
  try {
    const value = parse(data);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}
