/**
 * JSON Schema, as far as declarations of capabilities need it (section 2.2, E84): dialect 2020-12, `definitions` accepted.
 *
 * @import { Json, Members } from "../meshai-types.js"
 */
import { isObject, same } from "./json.mjs";
import { isTexts, isWhole } from "./words.mjs";

const MAX_DEPTH = 64;

/** @type {Readonly<Record<string, (value: Json) => boolean>>} */
const IS = {
  object: isObject,
  array: Array.isArray,
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: isWhole,
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
};
const isSize = (/** @type {Json} */ value) => isWhole(value) && value >= 0;
const isNumber = (/** @type {Json} */ value) => typeof value === "number";

/** The form of the value of each keyword; `schema`, `schemas` and `named` hold further schemas. @type {Readonly<Record<string, string | ((value: Json) => boolean)>>} */
const KEYWORDS = {
  type: (value) => [value].flat().every((name) => typeof name === "string" && Object.hasOwn(IS, name)),
  $ref: (value) => typeof value === "string",
  required: isTexts,
  enum: Array.isArray,
  pattern: (value) => typeof value === "string" && compiled(value) !== null,
  minLength: isSize,
  maxLength: isSize,
  minItems: isSize,
  maxItems: isSize,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  items: "schema",
  not: "schema",
  additionalProperties: "schema",
  prefixItems: "schemas",
  allOf: "schemas",
  anyOf: "schemas",
  oneOf: "schemas",
  properties: "named",
  patternProperties: "named",
  definitions: "named",
  $defs: "named",
};

/** @param {string} pattern */
function compiled(pattern) {
  try {
    return new RegExp(pattern, "u");
  } catch {
    return null;
  }
}

/**
 * Why this is not a schema, or null.
 *
 * @param {Json} schema
 * @param {number} [depth]
 * @returns {string | null}
 */
export function flaw(schema, depth = 0) {
  if (typeof schema === "boolean") return null;
  if (!isObject(schema)) return "a schema is an object or a boolean";
  if (depth > MAX_DEPTH) return "nested too deeply";
  for (const [name, value] of Object.entries(schema)) {
    const form = Object.hasOwn(KEYWORDS, name) ? KEYWORDS[name] : undefined;
    if (typeof form === "function" && !form(value)) return `\`${name}\` has an invalid value`;
    if (form === "schemas" && !Array.isArray(value)) return `\`${name}\` is an array of schemas`;
    if (form === "named" && !isObject(value)) return `\`${name}\` is an object of schemas`;
    const inner = typeof form === "string" ? (form === "schema" ? [value] : Object.values(/** @type {Members} */ (value))) : [];
    for (const part of inner) {
      const found = flaw(part, depth + 1);
      if (found !== null) return found;
    }
  }
  return null;
}

/** A `$ref` that points outside the schema. */
class Unresolved extends Error {}

/**
 * @param {string} reference
 * @param {Json} root
 */
function target(reference, root) {
  if (reference !== "#" && !reference.startsWith("#/")) throw new Unresolved();
  let found = root;
  for (const token of reference.split("/").slice(1)) {
    const name = token.replaceAll("~1", "/").replaceAll("~0", "~");
    const holder = /** @type {Members} */ (found);
    if (typeof found !== "object" || found === null || !Object.hasOwn(holder, name)) throw new Unresolved();
    found = holder[name] ?? null;
  }
  return found;
}

/**
 * Whether each `$ref` points inside the schema.
 *
 * @param {Json} schema
 * @param {Json} [root]
 * @returns {boolean}
 */
export function resolves(schema, root = schema) {
  if (typeof schema !== "object" || schema === null) return true;
  try {
    const reference = /** @type {Members} */ (schema)["$ref"];
    if (typeof reference === "string") target(reference, root);
  } catch {
    return false;
  }
  return Object.values(schema).every((part) => resolves(part, root));
}

/**
 * The first mismatch, or null. A schema with a `$ref` that does not resolve matches everything (E84).
 *
 * @param {Json} value
 * @param {Json} schema
 */
export function mismatch(value, schema) {
  try {
    return new Check(schema).of(value, schema, "", 0);
  } catch (error) {
    if (error instanceof Unresolved) return null;
    throw error;
  }
}

class Check {
  /** @param {Json} root */
  constructor(root) {
    this.root = root;
  }

  /**
   * @param {Json} value
   * @param {Json} schema
   * @param {string} at
   * @param {number} depth
   * @returns {string | null}
   */
  of(value, schema, at, depth) {
    if (schema === false) return `${at || "/"} is not allowed`;
    if (!isObject(schema)) return null;
    if (depth > MAX_DEPTH) throw new Unresolved();
    const inner = (/** @type {Json} */ part, inside = value, place = at) => this.of(inside, part, place, depth + 1);
    const fits = (/** @type {Json} */ part) => inner(part) === null;
    const list = (/** @type {string} */ name) => /** @type {Json[]} */ (schema[name] ?? []);
    if (typeof schema["$ref"] === "string") {
      const found = inner(target(schema["$ref"], this.root));
      if (found !== null) return found;
    }
    const types = [schema["type"] ?? []].flat();
    const wrong =
      (types.length > 0 && !types.some((name) => IS[String(name)]?.(value)) && `is not of type ${types.join(" or ")}`) ||
      ("enum" in schema && !list("enum").some((item) => same(item, value)) && "is not a listed value") ||
      ("const" in schema && !same(schema["const"] ?? null, value) && "is not the required value") ||
      (!list("allOf").every(fits) && "does not match `allOf`") ||
      ("anyOf" in schema && !list("anyOf").some(fits) && "does not match `anyOf`") ||
      ("oneOf" in schema && list("oneOf").filter(fits).length !== 1 && "does not match `oneOf`") ||
      ("not" in schema && fits(schema["not"] ?? null) && "matches `not`") ||
      outside(value, schema);
    if (wrong) return `${at || "/"} ${wrong}`;
    if (Array.isArray(value)) {
      const first = list("prefixItems");
      return firstOf(value, (item, index) => inner(first[index] ?? schema["items"] ?? true, item, `${at}/${index}`));
    }
    if (!isObject(value)) return null;
    const missing = list("required").find((name) => !Object.hasOwn(value, String(name)));
    if (missing !== undefined) return `${at}/${missing} is missing`;
    const named = /** @type {Members} */ (schema["properties"] ?? {});
    const patterns = Object.entries(/** @type {Members} */ (schema["patternProperties"] ?? {}));
    return firstOf(Object.entries(value), ([name, member]) => {
      const parts = patterns.filter(([pattern]) => compiled(pattern)?.test(name)).map(([, part]) => part);
      if (Object.hasOwn(named, name)) parts.push(named[name] ?? null);
      if (parts.length === 0) parts.push(schema["additionalProperties"] ?? true);
      return firstOf(parts, (part) => inner(part, member, `${at}/${name}`));
    });
  }
}

/**
 * @template T
 * @param {T[]} items
 * @param {(item: T, index: number) => string | null} check
 */
function firstOf(items, check) {
  for (const [index, item] of items.entries()) {
    const found = check(item, index);
    if (found !== null) return found;
  }
  return null;
}

/**
 * Length, pattern and bounds.
 *
 * @param {Json} value
 * @param {Members} schema
 */
function outside(value, schema) {
  const bound = (/** @type {string} */ name, /** @type {number} */ usual) => {
    const given = schema[name];
    return typeof given === "number" ? given : usual;
  };
  const size = typeof value === "string" ? [...value].length : Array.isArray(value) ? value.length : null;
  if (size !== null) {
    const unit = Array.isArray(value) ? "Items" : "Length";
    if (size < bound(`min${unit}`, 0) || size > bound(`max${unit}`, Infinity)) return "has a wrong size";
  }
  const pattern = schema["pattern"];
  if (typeof value === "string" && typeof pattern === "string" && compiled(pattern)?.test(value) === false) return "does not match the pattern";
  if (typeof value !== "number") return null;
  const inside =
    value >= bound("minimum", -Infinity) && value <= bound("maximum", Infinity) && value > bound("exclusiveMinimum", -Infinity) && value < bound("exclusiveMaximum", Infinity);
  return inside ? null : "is out of bounds";
}
