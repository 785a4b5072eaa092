/**
 * Sessions of a project (section 5.5): started by the first package that names one, or read from a backup.
 *
 * @import { ContextPackage, JsonObject } from "../types.js"
 */
import { randomInt } from "node:crypto";

import { object } from "./json.mjs";
import { strings } from "./schema.mjs";

const ADJECTIVES = ["brisk", "clear", "deep", "fair", "golden", "kind", "light", "mild", "proud", "swift", "warm", "wise"];
const NOUNS = ["alder", "brook", "cedar", "dune", "ember", "finch", "grove", "hare", "island", "lark", "meadow", "wren"];

/** @param {readonly string[]} words */
const any = (words) => words[randomInt(words.length)];

export class Sessions {
  constructor() {
    /** @type {Map<string, JsonObject>} */
    this.byId = new Map();
  }

  all() {
    return Array.from(this.byId.values());
  }

  /** @param {ContextPackage} content a package that was just deposited */
  note({ createdBy: { id, type, sessionId }, members, packageId, projectId }) {
    if (sessionId === null) return;
    let session = this.byId.get(sessionId);
    if (session === undefined) {
      session = object({
        session_id: sessionId,
        project_id: projectId,
        actor_id: id,
        actor_type: type,
        callsign: `${any(ADJECTIVES)}-${any(NOUNS)}`,
        started_at: members.get("created_at"),
        ended_at: null,
        packages_deposited: [],
      });
      this.byId.set(sessionId, session);
    }
    // A session belongs to one actor. Packages of other actors are not part of it.
    if (session.get("actor_id") === id && session.get("actor_type") === type) {
      session.set("packages_deposited", [...strings(session, "packages_deposited"), packageId]);
    }
  }
}
