/**
 * Times: RFC 3339 in UTC (E57). They are compared as instants and returned as written (E58).
 *
 * @import { Clock, Instant } from "../types.js"
 */

const FORM = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|\+00:00)$/;

/** @type {Instant} */
export const DAY = 86_400_000_000_000n;

/**
 * @param {string} text
 * @returns {Instant | null} null if it is not a time, or not in UTC
 */
export function instant(text) {
  const found = FORM.exec(text);
  if (found === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = found.slice(1, 7).map(Number);
  // Not Date.UTC, which reads the years up to 99 as those of another century.
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  // Date carries overflows into the next unit, so the date is valid only if it stays the same.
  const same =
    date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day &&
    date.getUTCHours() === hour && date.getUTCMinutes() === minute && date.getUTCSeconds() === second;
  return same ? BigInt(date.getTime()) * 1_000_000n + BigInt((found[7] ?? "").padEnd(9, "0")) : null;
}

/**
 * The instant of a text that is known to be a time.
 *
 * @param {string} text
 * @returns {Instant}
 */
export function certain(text) {
  const found = instant(text);
  if (found === null) throw new TypeError(`not a time: ${text}`);
  return found;
}

/**
 * @param {string | null} fixed
 * @returns {Clock}
 */
export function clock(fixed) {
  return {
    fixed,
    now() {
      return this.fixed ?? new Date().toISOString();
    },
  };
}
