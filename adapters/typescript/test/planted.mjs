/**
 * Bugs planted in a copy of a library: a text of its source is replaced, the copy is loaded, and the check of an operation has to
 * fail on it.
 *
 * @import { Method } from "../types.js"
 */
import { ok } from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import test from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";

/** @typedef {ReadonlyMap<string, Method>} Methods */
/** A bug: its name, the file, the text there, and what stands there instead. @typedef {[name: string, file: string, from: string, to: string]} Bug */

const HERE = fileURLToPath(new URL("..", import.meta.url));

/**
 * One test for each check and one for each bug.
 *
 * @param {string} library the folder
 * @param {Methods} methods of the library as it is
 * @param {Record<string, (methods: Methods) => void>} checks by operation
 * @param {Record<string, Bug[]>} bugs by operation
 */
export function provenTests(library, methods, checks, bugs) {
  test(`${library}: every operation has a check and a bug`, () => {
    const names = [...methods.keys()].filter((name) => name.startsWith(`${library}/`)).map((name) => name.slice(library.length + 1));
    for (const name of names) ok(Object.hasOwn(checks, name) && (bugs[name]?.length ?? 0) > 0, name);
  });
  for (const [operation, check] of Object.entries(checks)) {
    test(`${library}/${operation}`, () => check(methods));
    for (const [name, file, from, to] of bugs[operation] ?? []) {
      test(`${library}/${operation} catches ${name}`, async () => {
        const folder = mkdtempSync(`${tmpdir()}/planted-`);
        try {
          for (const part of ["rpc.mjs", library]) cpSync(`${HERE}/${part}`, `${folder}/${part}`, { recursive: true });
          const source = readFileSync(`${folder}/${library}/${file}`, "utf8");
          ok(source.split(from).length === 2, `the text of the bug stands ${source.split(from).length - 1} times in ${file}`);
          writeFileSync(`${folder}/${library}/${file}`, source.replace(from, () => to));
          /** @type {{ methods: Methods }} */
          const { methods: copy } = await import(pathToFileURL(`${folder}/${library}/methods.mjs`).href);
          ok(fails(() => check(copy)), "the planted bug is not caught");
        } finally {
          rmSync(folder, { recursive: true });
        }
      });
    }
  }
}

/** @param {() => void} body */
function fails(body) {
  try {
    body();
    return false;
  } catch {
    return true;
  }
}
