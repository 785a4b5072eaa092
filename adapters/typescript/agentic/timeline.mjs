/**
 * The facts of a project over time (section 7).
 *
 * @import { Assertion, Clock, Fact, FactQuestion, Instant, Json, JsonObject } from "../types.js"
 */
import { randomBytes } from "node:crypto";

import { FACT_CONFLICT, Refusal } from "./refusal.mjs";
import { readFact } from "./schema.mjs";
import { certain } from "./time.mjs";

export class Timeline {
  /** @param {Clock} clock */
  constructor(clock) {
    this.clock = clock;
    /** By id. Ended facts stay, and only the end of a fact ever changes (section 3). @type {Map<string, Fact>} */
    this.facts = new Map();
  }

  all() {
    return Array.from(this.facts.values());
  }

  /** A fact is current until an end is set, whatever the time (section 7.3, E39). */
  current() {
    return this.all().filter((fact) => fact.validTo === null);
  }

  /**
   * @param {string} subject
   * @param {string} predicate
   */
  history(subject, predicate) {
    return this.all().filter((fact) => fact.subject === subject && fact.predicate === predicate);
  }

  /**
   * Section 8.6. This is atomic: the old fact ends and the new one begins, or this throws before either.
   *
   * @param {Assertion} assertion
   * @param {Json | undefined} author who made the source package, and so the assertion (section 7.2)
   * @returns {Fact}
   */
  assert(assertion, author) {
    const now = this.clock.now();
    const beginning = assertion.validFrom ?? now;
    const start = certain(beginning);
    const history = this.history(assertion.subject, assertion.predicate);
    if (history.some((fact) => start < (fact.validTo ?? fact.validFrom) && fact.validFrom !== fact.validTo)) {
      // Accepting it would leave a negative interval, or two facts that are valid at once (section 10.1, E42).
      throw new Refusal(FACT_CONFLICT, "valid_from is before a later known time", "/valid_from");
    }
    // Null is the same as an absent member.
    /** @type {JsonObject} */
    const members = new Map(Array.from(assertion.members).filter(([, value]) => value !== null));
    members.set("fact_id", `fact_${randomBytes(16).toString("hex")}`);
    members.set("value", assertion.value);
    members.set("valid_from", beginning);
    members.set("valid_to", null);
    members.set("created_at", now);
    if (author !== undefined && !members.has("asserted_by")) members.set("asserted_by", author);
    const fact = readFact(members);
    for (const old of history) if (old.validTo === null) end(old, beginning);
    this.facts.set(fact.factId, fact);
    return fact;
  }

  /**
   * Section 8.7. Ends the current facts, of that value if one is given (E49), and returns their number.
   *
   * @param {string} subject
   * @param {string} predicate
   * @param {string} [value]
   */
  invalidate(subject, predicate, value) {
    const now = this.clock.now();
    const matching = this.history(subject, predicate).filter(
      (fact) => fact.validTo === null && (value === undefined || fact.value === value),
    );
    for (const fact of matching) {
      // A future fact is cancelled: its interval is empty.
      const later = fact.validFrom > certain(now);
      end(fact, later ? /** @type {string} */ (fact.members.get("valid_from")) : now);
    }
    return matching.length;
  }

  /**
   * Current facts, or those of an instant, or all of them; in the order of their starts.
   *
   * @param {FactQuestion} question
   */
  query({ subject, predicate, asOf, includeEnded = false }) {
    return this.all()
      .filter((fact) => subject === undefined || fact.subject === subject)
      .filter((fact) => predicate === undefined || fact.predicate === predicate)
      .filter((fact) => (asOf === undefined ? includeEnded || fact.validTo === null : holds(fact, asOf)))
      .sort((one, other) => Number(one.validFrom > other.validFrom) - Number(one.validFrom < other.validFrom));
  }
}

/**
 * @param {Fact} fact
 * @param {string} when
 */
function end(fact, when) {
  fact.members.set("valid_to", when);
  fact.validTo = certain(when);
}

/**
 * The interval includes its start and excludes its end (section 7.3).
 *
 * @param {Fact} fact
 * @param {Instant} then
 */
function holds(fact, then) {
  return fact.validFrom <= then && (fact.validTo === null || then < fact.validTo);
}
