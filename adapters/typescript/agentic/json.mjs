/**
 * JSON text to values and back. JSON.parse is not suitable: it accepts duplicate names and unpaired surrogates,
 * treats `__proto__` specially and sorts names that look like numbers (E08).
 *
 * @import { Json, JsonObject } from "../types.js"
 */
import { NOT_CANONICALIZABLE, Refusal } from "./refusal.mjs";

/** Deeper values are refused, so that the stack does not overflow. */
export const MAX_DEPTH = 1000;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

const SPACE = /[ \t\n\r]*/y;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]*/y;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))/y;
const LETTERS = new Map([["b", "\b"], ["f", "\f"], ["n", "\n"], ["r", "\r"], ["t", "\t"]]);

/**
 * @param {Uint8Array} bytes
 * @returns {Json}
 */
export function parse(bytes) {
  let text;
  try {
    text = UTF8.decode(bytes);
  } catch {
    throw new Refusal(NOT_CANONICALIZABLE, "not UTF-8");
  }
  return new Parser(text).document();
}

class Parser {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
  }

  document() {
    const value = this.value(0);
    if (this.peek() !== "") this.fail("more than one value");
    return value;
  }

  /**
   * @param {string} reason
   * @returns {never}
   */
  fail(reason) {
    throw new Refusal(NOT_CANONICALIZABLE, `${reason} at ${this.at}`);
  }

  /**
   * The match of the expression at this position, which is then skipped.
   *
   * @param {RegExp} expression
   */
  match(expression) {
    expression.lastIndex = this.at;
    const found = expression.exec(this.text);
    if (found !== null) this.at = expression.lastIndex;
    return found;
  }

  /** The next character that is not white space; empty at the end. */
  peek() {
    this.match(SPACE);
    return this.text.charAt(this.at);
  }

  /** @param {string} character */
  skip(character) {
    if (this.peek() !== character) return false;
    this.at += 1;
    return true;
  }

  /**
   * @param {number} depth
   * @returns {Json}
   */
  value(depth) {
    if (depth > MAX_DEPTH) this.fail("nested too deeply");
    switch (this.peek()) {
      case "{":
        return this.object(depth + 1);
      case "[":
        return this.array(depth + 1);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  /** @param {number} depth */
  object(depth) {
    /** @type {JsonObject} */
    const members = new Map();
    this.skip("{");
    if (this.skip("}")) return members;
    do {
      this.peek();
      const name = this.string();
      if (members.has(name)) this.fail("a duplicate name");
      if (!this.skip(":")) this.fail("no colon");
      members.set(name, this.value(depth));
    } while (this.skip(","));
    if (!this.skip("}")) this.fail("no end of an object");
    return members;
  }

  /** @param {number} depth */
  array(depth) {
    /** @type {Json[]} */
    const items = [];
    this.skip("[");
    if (this.skip("]")) return items;
    do {
      items.push(this.value(depth));
    } while (this.skip(","));
    if (!this.skip("]")) this.fail("no end of an array");
    return items;
  }

  /**
   * @template {boolean | null} T
   * @param {string} word
   * @param {T} value
   */
  word(word, value) {
    if (!this.text.startsWith(word, this.at)) this.fail("no value");
    this.at += word.length;
    return value;
  }

  number() {
    const found = this.match(NUMBER) ?? this.fail("no value");
    const value = Number(found[0]);
    // E07: numbers beyond a double have no canonical form.
    if (!Number.isFinite(value)) this.fail("a number that is too large");
    return value;
  }

  string() {
    if (this.text.charAt(this.at) !== '"') this.fail("no string");
    this.at += 1;
    let value = "";
    for (;;) {
      value += this.match(PLAIN)?.[0] ?? "";
      if (this.text.charAt(this.at) === '"') break;
      const [, unit, letter = ""] = this.match(ESCAPE) ?? this.fail("an unterminated string, or an unescaped character in it");
      value += unit === undefined ? (LETTERS.get(letter) ?? letter) : String.fromCharCode(Number.parseInt(unit, 16));
    }
    this.at += 1;
    if (!value.isWellFormed()) this.fail("an unpaired surrogate");
    return value;
  }
}

/**
 * The text of a value for clients: nothing is renamed, sorted, filled in or left out (section 6).
 *
 * @param {Json} value
 * @returns {string}
 */
export function stringify(value) {
  if (value instanceof Map) {
    return `{${Array.from(value, ([name, member]) => `${JSON.stringify(name)}:${stringify(member)}`).join(",")}}`;
  }
  if (Array.isArray(value)) return `[${value.map(stringify).join(",")}]`;
  return Object.is(value, -0) ? "-0" : JSON.stringify(value);
}

/**
 * An object with these members; those that are undefined are left out.
 *
 * @param {Record<string, Json | undefined>} members
 * @returns {JsonObject}
 */
export function object(members) {
  return new Map(
    Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [/** @type {const} */ ([name, value])])),
  );
}
