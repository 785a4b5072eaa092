// Tests of the library for behaviour that proofmark does not check, or checks with one value only.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import test from "node:test";

import * as backup from "../agentic/backup.mjs";
import { canonicalize, contentHash, verify } from "../agentic/canonical.mjs";
import { MAX_DEPTH, object, parse, stringify } from "../agentic/json.mjs";
import { factIssues, packageIssues } from "../agentic/schema.mjs";
import { Store } from "../agentic/store.mjs";
import { certain, DAY, instant } from "../agentic/time.mjs";

/** @import { Json } from "../types.js" */

const read = (/** @type {string} */ text) => parse(Buffer.from(text));

/** @param {Record<string, Json | undefined>} [other] */
const aPackage = (other = {}) =>
  object({
    package_id: "pkg_1",
    project_id: "proj_1",
    relay_version: "0.1",
    title: "t",
    status: "draft",
    package_type: "standard",
    review_type: "none",
    created_at: "2026-01-02T03:04:05Z",
    created_by: object({ id: "a", type: "agent", session_id: "s" }),
    ...other,
  });

/**
 * @param {Json} value
 * @param {string} [validFrom]
 */
const told = (value, validFrom) =>
  object({ project_id: "proj_1", subject: "s", predicate: "p", value, valid_from: validFrom });

test("invalid JSON is refused", () => {
  const texts = [
    "", " ", "{", "[1,]", '{"a":1,}', "{'a':1}", "01", "+1", ".5", "1.", "1e", "-", "NaN", "Infinity", "tru", '"\t"', '"\\x41"',
    '"\\u12g4"', "1 2", '"a', "\ufeff1", '{"a":1,"\\u0061":2}', '{"a" 1}', "[1 2]", '"\\ud800"', '"\\udc00\\ud800"', "1e400",
    "9".repeat(400), "\u00a01", "[1}", "\u0661",
  ];
  const bytes = ["22ff22", "22eda08022", "c0af", "fffe3100"];
  for (const text of [...texts.map((text) => Buffer.from(text)), ...bytes.map((digits) => Buffer.from(digits, "hex"))]) {
    throws(() => parse(text), { code: "not_canonicalizable" }, text.toString());
  }
});

test("a value is written as it was read", () => {
  const text = '{"__proto__":{"b":1},"10":-0,"9":[null,true,"\\u0000\\"é🚀"],"":0.1}';
  equal(stringify(read(text)), text);
  equal(canonicalize(read(text)), '{"":0.1,"10":0,"9":[null,true,"\\u0000\\"é🚀"],"__proto__":{"b":1}}');
});

test("depth is limited, and every depth up to the limit works", () => {
  const deep = (/** @type {number} */ depth) => '{"k":['.repeat(depth / 2) + "1" + "]}".repeat(depth / 2);
  equal(canonicalize(read(deep(MAX_DEPTH))), deep(MAX_DEPTH));
  equal(stringify(read(deep(MAX_DEPTH))), deep(MAX_DEPTH));
  throws(() => read(deep(MAX_DEPTH + 2)), { code: "not_canonicalizable" });
  throws(() => read(deep(2_000_000)), { code: "not_canonicalizable" });
});

test("long strings with many escapes are read", () => {
  equal(read(`"${"\\n".repeat(1_000_000)}"`), "\n".repeat(1_000_000));
});

test("times are checked by the calendar and compared as instants", () => {
  for (const text of ["2024-02-29T00:00:00Z", "0000-02-29T00:00:00Z", "0099-12-31T23:59:59.123456789Z", "2026-01-01T00:00:00+00:00"]) {
    ok(instant(text) !== null, text);
  }
  for (const text of [
    "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01", "2026-01-01T00:00:00",
    "2026-01-01T00:00:00+01:00", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00Z\n", "2026-01-01T00:00:60Z",
  ]) {
    equal(instant(text), null, text);
  }
  equal(certain("2026-01-01T00:00:00Z"), certain("2026-01-01T00:00:00.000Z"));
  ok(certain("1969-12-31T23:59:59.25Z") < certain("1969-12-31T23:59:59.3Z"));
  equal(certain("2024-03-01T00:00:00Z") - 366n * DAY, certain("2023-03-01T00:00:00Z"));
});

test("issues say where", () => {
  const issues = packageIssues(aPackage({ title: "", deliverables: [object({ path: "../x", type: 1 })] }));
  deepEqual(issues.map(({ pointer }) => pointer), ["/title", "/deliverables/0/path", "/deliverables/0/type"]);
  equal(packageIssues([])[0]?.pointer, "");
  equal(packageIssues(aPackage({ title: "🚀".repeat(200) })).length, 0);
  equal(factIssues(null).length, 1);
});

test("hashes are compared as digests", () => {
  const digits = contentHash(aPackage()).slice("sha256:".length);
  ok(verify(aPackage(), digits.toUpperCase()) && verify(aPackage(), `sha256:${digits}`));
  ok(!verify(aPackage(), digits.slice(1)) && !verify(aPackage(), "") && !verify(aPackage(), `sha1:${digits}`));
});

test("a refused assertion changes nothing, a number becomes its text", () => {
  const store = new Store("2026-01-10T00:00:00Z");
  store.assertFact(told(97.5, "2026-01-05T00:00:00Z"));
  throws(() => store.assertFact(told("two", "2026-01-04T00:00:00Z")), { code: "fact_conflict" });
  throws(() => store.assertFact(told(true)), { code: "invalid_schema" });
  deepEqual(store.queryFacts("proj_1", { includeEnded: true }).map(({ value }) => value), ["97.5"]);
});

test("a fact that never began has no negative interval", () => {
  const store = new Store("2026-01-10T00:00:00Z");
  store.assertFact(told("one", "2026-02-01T00:00:00Z"));
  equal(store.invalidateFact("proj_1", "s", "p"), 1);
  const [fact] = store.queryFacts("proj_1", { includeEnded: true });
  equal(fact?.validTo, fact?.validFrom);
  store.assertFact(told("two"));
});

test("an import is all or nothing", () => {
  const store = new Store(null);
  const { members } = store.assertFact(told("one", "2026-01-05T00:00:00Z"));
  const other = new Map(members).set("fact_id", "fact_2");
  const lines = `${stringify(aPackage({ package_id: "pkg_2" }))}\n${stringify(other)}\n`;
  throws(() => backup.read(store, Buffer.from(lines)), { code: "fact_conflict" });
  throws(() => store.intact("pkg_2"), { code: "package_not_found" });
});

test("an export imported into an empty store is exported unchanged", () => {
  const store = new Store(null);
  store.deposit("proj_1", aPackage({ "x-n": 1.5, fact_id: "no fact", content_md: "one\n\u2028two" }));
  store.assertFact(told("one", "2026-01-05T00:00:00Z"));
  store.assertFact(told("two"));
  const lines = backup.write(store, "proj_1");
  const copy = new Store(null);
  for (let round = 0; round < 2; round += 1) {
    deepEqual(backup.read(copy, Buffer.from(lines)), { packages: 1, facts: 2, sessions: 1 });
  }
  equal(backup.write(copy, "proj_1"), lines);
});
