/**
 * Search (mode relevant, section 8.2): packages and queries as vectors of words, compared by their angle.
 *
 * @import { ContextPackage } from "../types.js"
 */
import { strings } from "./schema.mjs";

/**
 * The words of a text, a plural `s` apart.
 *
 * @param {string} text
 */
function words(text) {
  const found = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return found.map((word) => (word.length > 3 ? word.replace(/s$/u, "") : word));
}

/** @param {ContextPackage} content */
export function textOf({ title, members }) {
  const single = ["description", "handoff_note", "content_md", "topic"].map((name) => members.get(name));
  const many = ["tags", "decisions_made", "open_questions"].flatMap((name) => strings(members, name));
  return [title, ...single.filter((part) => typeof part === "string" && part !== ""), ...many].join("\n");
}

/**
 * @param {readonly string[]} found
 * @param {(word: string) => number} weight
 */
function vector(found, weight) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const word of found) counts.set(word, (counts.get(word) ?? 0) + 1);
  for (const [word, count] of counts) counts.set(word, (1 + Math.log(count)) * weight(word));
  const length = Math.hypot(...counts.values()) || 1;
  return { counts, length };
}

/**
 * The packages that share a word with the query, nearest first.
 *
 * @param {readonly ContextPackage[]} packages
 * @param {string} query
 */
export function rank(packages, query) {
  const texts = packages.map((content) => words(textOf(content)));
  /** @type {Map<string, number>} */
  const having = new Map();
  for (const text of texts) for (const word of new Set(text)) having.set(word, (having.get(word) ?? 0) + 1);
  const rarity = (/** @type {string} */ word) => Math.log(1 + packages.length / (having.get(word) ?? packages.length));
  const wanted = vector(words(query), rarity);
  return packages
    .map((content, index) => {
      const { counts, length } = vector(texts[index] ?? [], rarity);
      let product = 0;
      for (const [word, weight] of wanted.counts) product += weight * (counts.get(word) ?? 0);
      return { content, score: product / (length * wanted.length) };
    })
    .filter(({ score }) => score > 0)
    .sort((one, other) => other.score - one.score);
}
