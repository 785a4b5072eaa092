/**
 * Canonical form and content hash (section 6.6, appendix A).
 *
 * @import { Json } from "../types.js"
 */
import { createHash } from "node:crypto";

/**
 * @param {Json} value
 * @returns {string}
 */
export function canonicalize(value) {
  if (value instanceof Map) {
    // A null member is removed, at any depth (E04); an object that loses all its members stays.
    const names = Array.from(value.keys()).filter((name) => value.get(name) !== null);
    return `{${byBytes(names)
      .map((name) => `${JSON.stringify(name)}:${canonicalize(value.get(name) ?? null)}`)
      .join(",")}}`;
  }
  // A null element is not a member and stays (E04).
  if (Array.isArray(value)) return `[${value.map(canonicalize).join(",")}]`;
  // Strings and numbers of ECMAScript are those of RFC 8785, section 3.2.2: only necessary escapes, in the shortest
  // form; a number is printed as its double (E06, E07), negative zero as 0.
  return JSON.stringify(value);
}

/**
 * Names in the order of their UTF-8 bytes. Comparing strings would compare UTF-16 units (E05).
 *
 * @param {string[]} names
 */
function byBytes(names) {
  return names
    .map((name) => ({ name, bytes: Buffer.from(name, "utf8") }))
    .sort((one, other) => Buffer.compare(one.bytes, other.bytes))
    .map(({ name }) => name);
}

/**
 * The hash of an unchanged package; defaults are not filled in (E09).
 *
 * @param {Json} value
 */
export function contentHash(value) {
  return `sha256:${createHash("sha256").update(Buffer.from(canonicalize(value), "utf8")).digest("hex")}`;
}

/**
 * Whether that is the hash of the package, with or without its prefix, in letters of either case (E03).
 *
 * @param {Json} value
 * @param {string} claimed
 */
export function verify(value, claimed) {
  const found = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(claimed);
  return found?.[1] !== undefined && contentHash(value) === `sha256:${found[1].toLowerCase()}`;
}
