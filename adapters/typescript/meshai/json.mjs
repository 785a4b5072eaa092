/**
 * JSON text to values and back (RFC 8259), and the canonical form that signatures are over (RFC 8785).
 *
 * @import { Json, Members } from "../meshai-types.js"
 */

const MAX_DEPTH = 500;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const SPACE = /[ \t\n\r]*/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4}))*"/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/;

/** Bytes that are not one JSON text in UTF-8 (E03, E08). */
export class NotJson extends Error {}

/**
 * @param {unknown} value
 * @returns {value is Members}
 */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** @returns {Members} */
export const members = () => Object.create(null);

/**
 * An object with the members of others, the later ones first.
 *
 * @param {...(Members | Record<string, Json>)} parts
 * @returns {Members}
 */
export const joined = (...parts) => Object.assign(members(), ...parts);

/**
 * @param {Uint8Array} data
 * @returns {Json}
 */
export function parse(data) {
  let text = "";
  try {
    text = UTF8.decode(data);
  } catch {
    throw new NotJson("not UTF-8");
  }
  const reader = new Reader(text);
  const value = reader.value(0);
  reader.skip();
  if (reader.at < text.length) throw new NotJson("text after the value");
  return value;
}

/** JSON.parse takes repeated names, and objects with a prototype. */
class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  skip() {
    this.match(SPACE);
  }

  /** @param {RegExp} pattern */
  match(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.at += found.length;
    return found;
  }

  /** @param {string} mark */
  took(mark) {
    this.skip();
    if (!this.text.startsWith(mark, this.at)) return false;
    this.at += mark.length;
    return true;
  }

  /** @param {string} mark */
  demand(mark) {
    if (!this.took(mark)) throw new NotJson(`no ${mark} at character ${this.at}`);
  }

  /**
   * @param {number} depth
   * @returns {Json}
   */
  value(depth) {
    if (depth > MAX_DEPTH) throw new NotJson("nested too deeply");
    if (this.took("{")) return this.object(depth);
    if (this.took("[")) return this.array(depth);
    if (this.took("true")) return true;
    if (this.took("false")) return false;
    if (this.took("null")) return null;
    if (this.text[this.at] === '"') return this.string();
    const number = Number(this.match(NUMBER) ?? NaN);
    if (!Number.isFinite(number)) throw new NotJson(`no value at character ${this.at}`);
    return number;
  }

  string() {
    this.skip();
    const found = this.match(STRING);
    if (found === undefined) throw new NotJson(`no text at character ${this.at}`);
    /** @type {string} */
    const value = JSON.parse(found);
    if (LONE.test(value)) throw new NotJson("half of a character");
    return value;
  }

  /** @param {number} depth */
  object(depth) {
    const object = members();
    if (this.took("}")) return object;
    do {
      const name = this.string();
      if (name in object) throw new NotJson("a member name is repeated");
      this.demand(":");
      object[name] = this.value(depth + 1);
    } while (this.took(","));
    this.demand("}");
    return object;
  }

  /** @param {number} depth */
  array(depth) {
    /** @type {Json[]} */
    const array = [];
    if (this.took("]")) return array;
    do array.push(this.value(depth + 1));
    while (this.took(","));
    this.demand("]");
    return array;
  }
}

/**
 * A value of JSON.parse in the form of this module.
 *
 * @param {unknown} value
 * @returns {Json}
 */
export function fromPlain(value) {
  if (Array.isArray(value)) return value.map(fromPlain);
  if (!isObject(value)) return /** @type {Json} */ (value ?? null);
  const object = members();
  for (const [name, member] of Object.entries(value)) object[name] = fromPlain(member);
  return object;
}

/**
 * A deep copy.
 *
 * @template {Json} T
 * @param {T} value
 */
export const copied = (value) => /** @type {T} */ (fromPlain(value));

/** @param {Json} value */
export const bytesOf = (value) => Buffer.from(JSON.stringify(value));

/**
 * RFC 8785: ECMAScript writes numbers and texts, and sorts names by UTF-16 code units.
 *
 * @param {Json} value
 * @returns {string}
 */
export function canonical(value) {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (!isObject(value)) return JSON.stringify(value);
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`).join(",")}}`;
}

/**
 * Equality of JSON values.
 *
 * @param {Json} one
 * @param {Json} other
 */
export const same = (one, other) => canonical(one) === canonical(other);
