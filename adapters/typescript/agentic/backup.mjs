/**
 * Export and import (sections 10.1 and 10.3, E69): NDJSON, a record of a wire format on each line.
 *
 * @import { ContextPackage, Counts, Fact, Json, JsonObject } from "../types.js"
 */
import { canonicalize, contentHash } from "./canonical.mjs";
import { parse, stringify } from "./json.mjs";
import { DUPLICATE_PACKAGE_ID, FACT_CONFLICT, INVALID_SCHEMA, Refusal } from "./refusal.mjs";
import { readFact, readPackage, readSession } from "./schema.mjs";
import { Store } from "./store.mjs";

/**
 * @param {Store} store
 * @param {string} projectId
 * @returns {string}
 */
export function write(store, projectId) {
  const project = store.projects.get(projectId);
  if (project === undefined) return "";
  const records = [
    project.record,
    // Throws if a package is not intact: a backup is complete or fails.
    ...project.packageIds.map((packageId) => store.intact(packageId).content.members),
    ...project.facts.all().map((fact) => fact.members),
    ...project.sessions.all(),
  ];
  return records.map((record) => `${stringify(record)}\n`).join("");
}

/**
 * @typedef {{ kind: "package", content: ContextPackage } | { kind: "fact", fact: Fact }
 *   | { kind: "session", session: ReturnType<typeof readSession> } | { kind: "project", id: string, members: JsonObject }} Entry
 */

/**
 * Imports every record, or none if one is invalid or conflicts with the store.
 *
 * @param {Store} store
 * @param {Buffer} bytes
 * @returns {Counts}
 */
export function read(store, bytes) {
  const entries = lines(bytes).map(readEntry);
  check(store, entries);
  const counts = { packages: 0, facts: 0, sessions: 0 };
  for (const entry of entries) {
    switch (entry.kind) {
      case "project":
        store.ensureProject(entry.id, entry.members);
        break;
      case "package":
        counts.packages += 1;
        if (!store.packages.has(entry.content.packageId)) store.add(entry.content);
        break;
      case "fact": {
        counts.facts += 1;
        const { facts } = store.ensureProject(entry.fact.projectId).facts;
        // Ids and times stay as they are (section 10.1).
        if (!facts.has(entry.fact.factId)) facts.set(entry.fact.factId, entry.fact);
        break;
      }
      case "session":
        counts.sessions += 1;
        store.ensureProject(entry.session.projectId).sessions.byId.set(entry.session.sessionId, entry.session.members);
        break;
    }
  }
  return counts;
}

/**
 * The lines that are not blank, with their numbers. Only a line feed ends one: there are others inside strings.
 *
 * @param {Buffer} bytes
 */
function lines(bytes) {
  /** @type {{ number: number, line: Buffer }[]} */
  const found = [];
  for (let start = 0, number = 1; start < bytes.length; number += 1) {
    const feed = bytes.indexOf(0x0a, start);
    const stop = feed < 0 ? bytes.length : feed;
    const line = bytes.subarray(start, stop);
    if (line.some((byte) => ![0x09, 0x0d, 0x20].includes(byte))) found.push({ number, line });
    start = stop + 1;
  }
  return found;
}

/**
 * @param {{ number: number, line: Buffer }} line
 * @returns {Entry}
 */
function readEntry({ number, line }) {
  try {
    return recognise(unwrap(parse(line)));
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(INVALID_SCHEMA, `line ${number}: ${error.message}`, error.pointer);
  }
}

/** @param {Json} value */
function unwrap(value) {
  if (!(value instanceof Map)) throw new Refusal(INVALID_SCHEMA, "not an object", "");
  if (["package_id", "fact_id", "session_id", "project_id", "id"].some((name) => value.has(name))) return value;
  const inner = ["package", "fact", "session", "project", "data"].map((name) => value.get(name));
  return inner.find((record) => record instanceof Map) ?? value;
}

/**
 * A record is identified by its ids. One without the rest is an invalid record of its kind (E97).
 *
 * @param {JsonObject} record
 * @returns {Entry}
 */
function recognise(record) {
  if (record.has("package_id") && (record.has("title") || !record.has("fact_id"))) {
    return { kind: "package", content: readPackage(record) };
  }
  if (record.has("fact_id")) return { kind: "fact", fact: readFact(record) };
  if (record.has("session_id") && record.has("started_at")) return { kind: "session", session: readSession(record) };
  const id = record.get("project_id") ?? record.get("id");
  if (typeof id !== "string") throw new Refusal(INVALID_SCHEMA, "neither a package, a fact, a session nor a project", "");
  return { kind: "project", id, members: record };
}

/**
 * @param {Store} store
 * @param {readonly Entry[]} entries
 */
function check(store, entries) {
  /** @type {Map<string, string>} */
  const hashes = new Map();
  // Facts of the backup and of the store, by id.
  const facts = new Map(Array.from(store.projects.values()).flatMap((project) => Array.from(project.facts.facts)));
  for (const entry of entries) {
    if (entry.kind === "package") {
      const { packageId, members } = entry.content;
      const known = store.packages.get(packageId);
      if (known !== undefined) store.refuseOther(known, entry.content);
      const hash = contentHash(members);
      if (known === undefined && (hashes.get(packageId) ?? hash) !== hash) {
        throw new Refusal(DUPLICATE_PACKAGE_ID, `${packageId} is there twice`, "/package_id");
      }
      hashes.set(packageId, hash);
    } else if (entry.kind === "fact") {
      const { fact } = entry;
      const same = facts.get(fact.factId);
      if (same !== undefined && canonicalize(same.members) !== canonicalize(fact.members)) {
        throw new Refusal(FACT_CONFLICT, `${fact.factId} is the id of another fact`, "/fact_id");
      }
      facts.set(fact.factId, fact);
    }
  }
  const current = new Set();
  for (const { projectId, subject, predicate, validTo } of facts.values()) {
    if (validTo !== null) continue;
    const key = JSON.stringify([projectId, subject, predicate]);
    if (current.has(key)) throw new Refusal(FACT_CONFLICT, "a second current fact of one subject and predicate", "/valid_to");
    current.add(key);
  }
}
