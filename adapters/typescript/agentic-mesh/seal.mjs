/**
 * Encryption markers (section Security): a single field, or the MemoryGram as a whole. The draft names no algorithm; this is
 * AES-256-GCM under a random key for each recipient that lives as long as the process. Real keys come from elsewhere (BYOE).
 *
 * @import { Members, Value } from "../mesh-types.js"
 */
import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

import { at, object, parse, stringify, tokens } from "./json.mjs";

/** Directly at the end of a name, without a variation selector (E39). */
export const LOCK = "\u{1f510}";
const ALGORITHM = "A256GCM";

/** @type {Map<string, Buffer>} */
const keys = new Map();

/** @param {string} recipient */
function keyOf(recipient) {
  const key = keys.get(recipient) ?? randomBytes(32);
  keys.set(recipient, key);
  return key;
}

/** @param {Value} value @param {string} recipient */
function sealed(value, recipient) {
  const nonce = randomBytes(12);
  const cipher = createCipheriv("aes-256-gcm", keyOf(recipient), nonce);
  const secret = Buffer.concat([nonce, cipher.update(Buffer.from(stringify(value))), cipher.final(), cipher.getAuthTag()]);
  return object({ encryptedFor: recipient, alg: ALGORITHM, ciphertext: secret.toString("base64") });
}

/** The value, for the recipient in this process. @param {Members} value */
export function opened(value) {
  const bytes = Buffer.from(String(value.get("ciphertext")), "base64");
  const cipher = createDecipheriv("aes-256-gcm", keyOf(String(value.get("encryptedFor"))), bytes.subarray(0, 12));
  cipher.setAuthTag(bytes.subarray(-16));
  return parse(Buffer.concat([cipher.update(bytes.subarray(12, -16)), cipher.final()]));
}

/**
 * Replaces a member by a marked one at the same place; false if there is no such member.
 *
 * @param {Value} message
 * @param {string} pointer
 * @param {string} recipient
 */
export function encryptField(message, pointer, recipient) {
  const path = tokens(pointer);
  const name = path.pop() ?? "";
  const holder = at(message, path);
  if (!(holder instanceof Map) || !holder.has(name)) return false;
  const members = [...holder];
  holder.clear();
  for (const [other, value] of members) {
    if (other === name) holder.set(name + LOCK, sealed(value, recipient));
    else holder.set(other, value);
  }
  return true;
}

/**
 * Replaces the MemoryGram by its ciphertext, and says so in Header.encryption; false if there is no MemoryGram.
 *
 * @param {Value} message
 * @param {string} recipient
 */
export function encryptSection(message, recipient) {
  const envelope = at(message, ["Envelope"]);
  const header = at(envelope, ["Header"]);
  const graph = at(envelope, ["MemoryGram"]);
  if (!(envelope instanceof Map) || !(header instanceof Map) || graph === undefined) return false;
  envelope.set("MemoryGram", sealed(graph, recipient));
  const before = header.get("encryption");
  header.set("encryption", new Map([["type", "BYOE"], ...(before instanceof Map ? before : []), ["section", "MemoryGram"], ["alg", ALGORITHM]]));
  return true;
}
