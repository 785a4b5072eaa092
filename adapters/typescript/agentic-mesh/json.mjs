/**
 * JSON text to values and back, without loss (RFC 8259). A relay passes numbers on by their spelling, and JSON.parse would
 * lose digits, repeated names, the order of numeric names and `__proto__`.
 *
 * @import { Members, Value } from "../mesh-types.js"
 */

/** Deeper values are refused, so that the stack does not overflow. */
export const MAX_DEPTH = 1000;

/** Exponents beyond this are not worked out: nothing that counts is so large. */
const MAX_EXPONENT = 400;

/** Bytes that are not exactly one JSON text, or that repeat a member name (E64). */
export class NotJson extends Error {}

/** A number by its spelling. */
export class Numeral {
  /** @param {string | number | bigint} spelling */
  constructor(spelling) {
    this.spelling = String(spelling);
  }

  /** The exact value as digits times a power of ten. */
  #scaled() {
    const [mantissa = "", power = "0"] = this.spelling.toLowerCase().split("e");
    const [whole = "", fraction = ""] = mantissa.split(".");
    return { digits: BigInt(whole.replace("-", "") + fraction) * (mantissa.startsWith("-") ? -1n : 1n), power: Number(power) - fraction.length };
  }

  /** The value if it is whole: 5.0 and 1e1 are (E21). @returns {bigint | null} */
  integer() {
    const { digits, power } = this.#scaled();
    if (digits === 0n) return 0n;
    if (Math.abs(power) > MAX_EXPONENT) return null;
    const factor = 10n ** BigInt(Math.abs(power));
    if (power >= 0) return digits * factor;
    return digits % factor === 0n ? digits / factor : null;
  }

  /** Whether the exact value is in 0 to 1, both included (E59). */
  isShare() {
    const { digits, power } = this.#scaled();
    if (digits <= 0n) return digits === 0n;
    if (power > 0) return false;
    if (power < -MAX_EXPONENT) return String(digits).length <= -power;
    return digits <= 10n ** BigInt(-power);
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false });
const BLANK = /[ \t\n\r]*/y;
const DIGITS = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const QUOTED = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;

/**
 * The value in UTF-8 bytes. A byte order mark in front is skipped (E68).
 *
 * @param {Uint8Array} bytes
 * @returns {Value}
 */
export function parse(bytes) {
  let text;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new NotJson("not UTF-8");
  }
  const reader = new Reader(text);
  const value = reader.value(0);
  if (reader.peek() !== "") reader.fail("text after the value");
  return value;
}

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  /**
   * @param {string} reason
   * @returns {never}
   */
  fail(reason) {
    throw new NotJson(`${reason} at ${this.at}`);
  }

  /** @param {RegExp} pattern */
  take(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** The next character that is not white space. */
  peek() {
    this.take(BLANK);
    return this.text.charAt(this.at);
  }

  /** @param {string} character */
  skips(character) {
    const there = this.peek() === character;
    if (there) this.at += 1;
    return there;
  }

  /**
   * @param {number} depth
   * @returns {Value}
   */
  value(depth) {
    if (depth > MAX_DEPTH) this.fail("nested too deeply");
    const first = this.peek();
    if (first === '"') return this.string();
    if (first === "{") return this.object(depth);
    if (first === "[") return this.array(depth);
    for (const [word, value] of /** @type {const} */ ([["true", true], ["false", false], ["null", null]])) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return new Numeral(this.take(DIGITS) ?? this.fail("no value"));
  }

  /** @param {number} depth */
  object(depth) {
    /** @type {Members} */
    const members = new Map();
    this.skips("{");
    if (this.skips("}")) return members;
    for (;;) {
      this.peek();
      const name = this.string();
      if (members.has(name)) this.fail("a member name twice");
      if (!this.skips(":")) this.fail("no colon");
      members.set(name, this.value(depth + 1));
      if (this.skips("}")) return members;
      if (!this.skips(",")) this.fail("no end of an object");
    }
  }

  /** @param {number} depth */
  array(depth) {
    /** @type {Value[]} */
    const items = [];
    this.skips("[");
    if (this.skips("]")) return items;
    for (;;) {
      items.push(this.value(depth + 1));
      if (this.skips("]")) return items;
      if (!this.skips(",")) this.fail("no end of an array");
    }
  }

  string() {
    // The pattern is that of RFC 8259, so JSON.parse only has to decode the escapes.
    return /** @type {string} */ (JSON.parse(this.take(QUOTED) ?? this.fail("no string")));
  }
}

/**
 * @param {Value} value
 * @returns {string}
 */
export function stringify(value) {
  if (value instanceof Map) return `{${Array.from(value, ([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(",")}}`;
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  return value instanceof Numeral ? value.spelling : JSON.stringify(value);
}

/**
 * A deep copy of an object.
 *
 * @param {Members} members
 * @returns {Members}
 */
export const clone = (members) => new Map(Array.from(members, ([name, member]) => [name, copied(member)]));

/** What is neither an object nor an array never changes. @param {Value} value @returns {Value} */
const copied = (value) => (value instanceof Map ? clone(value) : Array.isArray(value) ? value.map(copied) : value);

/**
 * A value of JSON.parse in the form of this module.
 *
 * @param {unknown} value
 * @returns {Value}
 */
export function fromPlain(value) {
  if (typeof value === "number") return new Numeral(value);
  if (Array.isArray(value)) return value.map(fromPlain);
  if (typeof value === "object" && value !== null) return new Map(Object.entries(value).map(([name, member]) => [name, fromPlain(member)]));
  return /** @type {Value} */ (value ?? null);
}

/** @param {Record<string, Value>} members @returns {Members} */
export const object = (members) => new Map(Object.entries(members));

/** @param {string} pointer */
export const tokens = (pointer) => pointer.split("/").slice(1).map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"));

/**
 * The value on a path of names, or undefined.
 *
 * @param {Value | undefined} value
 * @param {readonly string[]} path
 * @returns {Value | undefined}
 */
export function at(value, path) {
  for (const token of path) {
    if (value instanceof Map) value = value.get(token);
    else if (Array.isArray(value) && /^(?:0|[1-9][0-9]*)$/.test(token)) value = value[Number(token)];
    else return undefined;
  }
  return value;
}
