// The loop: input that a correct harness never sends.
import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";

import * as rpc from "../rpc.mjs";

/** @import { Method } from "../types.js" */

/** @type {Map<string, Method>} */
const METHODS = new Map([["echo", (params) => params]]);

/** @param {string | Uint8Array} line */
const ask = (line) => {
  const answer = rpc.answer(METHODS, typeof line === "string" ? Buffer.from(line) : line);
  return answer === null ? null : JSON.parse(answer);
};

test("a call is answered under its id", () => {
  const answer = ask('{"jsonrpc":"2.0","id":"a","method":"echo","params":{"__proto__":1,"x":[1]}}');
  equal(JSON.stringify(answer), '{"jsonrpc":"2.0","id":"a","result":{"__proto__":1,"x":[1]}}');
});

test("invalid JSON has no id", () => {
  for (const line of ["{", Buffer.from("ff", "hex"), '{"id":NaN}', "\ufeff{}", "[".repeat(200_000)]) {
    const { id, error } = ask(line);
    deepEqual([id, error.code], [null, rpc.PARSE_ERROR]);
  }
});

test("errors have the codes of JSON-RPC", () => {
  for (const [line, id, code] of /** @type {const} */ ([
    ["[]", null, rpc.INVALID_REQUEST],
    ['{"id":1,"method":"echo"}', 1, rpc.INVALID_REQUEST],
    ['{"jsonrpc":"2.0","id":{},"method":"echo"}', null, rpc.INVALID_REQUEST],
    ['{"jsonrpc":"2.0","id":1,"method":7}', 1, rpc.INVALID_REQUEST],
    ['{"jsonrpc":"2.0","id":2,"method":"toString"}', 2, rpc.METHOD_NOT_FOUND],
    ['{"jsonrpc":"2.0","id":2,"method":"echo","params":[]}', 2, rpc.INVALID_PARAMS],
  ])) {
    const answer = ask(line);
    deepEqual([answer.id, answer.error.code], [id, code], line);
  }
});

test("a notification is not answered", () => equal(ask('{"jsonrpc":"2.0","method":"echo"}'), null));

test("params of other types are refused", () => {
  const params = { text: 1, hex: "abc", spaced: "ab cd", number: 1.5, word: "x" };
  for (const [read, name] of /** @type {const} */ ([
    [rpc.text, "text"],
    [rpc.text, "absent"],
    [rpc.text, "constructor"],
    [rpc.optionalText, "text"],
    [rpc.bytes, "hex"],
    [rpc.bytes, "spaced"],
    [rpc.optionalInteger, "number"],
    [rpc.optionalBoolean, "word"],
  ])) {
    throws(() => read(params, name), { code: rpc.INVALID_PARAMS }, `${read.name} ${name}`);
  }
});

/**
 * @param {string} methods
 * @param {string} input
 */
function run(methods, input) {
  const script = `import { serve } from "./rpc.mjs"; await serve(new Map(Object.entries(${methods})));`;
  const cwd = new URL("..", import.meta.url);
  return spawnSync(process.execPath, ["--input-type=module", "-e", script], { input, maxBuffer: 2 ** 28, cwd });
}

test("prints and crashes of a library do not reach the answers", () => {
  const call = (/** @type {number} */ id, /** @type {string} */ method) => `{"jsonrpc":"2.0","id":${id},"method":"${method}"}\n`;
  const done = run(
    '{ bad() { console.log("heard"); throw new TypeError("x"); }, good: () => ({}) }',
    `${call(1, "bad")}\n \r\n${call(2, "good")}`,
  );
  equal(done.status, 0);
  const [first, second] = done.stdout.toString().trim().split("\n").map((line) => JSON.parse(line));
  deepEqual([first.id, first.error.code], [1, rpc.INTERNAL_ERROR]);
  deepEqual(second, { jsonrpc: "2.0", id: 2, result: {} });
  ok(done.stderr.toString().includes("heard") && done.stderr.toString().includes("TypeError: x"));
});

test("long lines, and an end without a line feed", () => {
  const text = "é🚀".repeat(2_000_000);
  const done = run("{ echo: (params) => params }", JSON.stringify({ jsonrpc: "2.0", id: 1, method: "echo", params: { text } }));
  equal(done.status, 0);
  ok(JSON.parse(done.stdout.toString()).result.text === text);
});
