// The shapes of the library for the Agentic Mesh Protocol. Section numbers are those of the draft v0.1, E-numbers those of
// suites/agentic-mesh/errata.md.

import type { Numeral } from "./agentic-mesh/json.mjs";

/** A JSON value without loss: objects keep the order of their members, numbers their spelling. */
export type Value = null | boolean | string | Numeral | Value[] | Members;
export interface Members extends Map<string, Value> {}

/** Section 4.10, and codes of applications. */
export type Code = string;

export type Behaviour = "noop" | "reinsert" | "fail" | "annotate" | "augment" | "redact";

/** What a node is told at installation (4.2). */
export interface NodeSetup {
  readonly uri: string;
  readonly isIntermediary: boolean;
  /** All roles that the node acts in, the core ones included. */
  readonly roles: readonly string[];
  readonly understands: ReadonlyMap<string, Behaviour>;
  readonly validates: boolean;
  /** A JSON pointer: the place of the array of header blocks (E01). */
  readonly blocksAt: string;
  readonly tasks: ReadonlyMap<string, string>;
}

/** One header block as the rules see it: absent flags are false (E31), an absent role is ultimateReceiver (E30). */
export interface Block {
  readonly index: number;
  readonly members: Members;
  readonly type: string;
  readonly role: string;
  readonly mandatory: boolean;
  readonly relayable: boolean;
  readonly isTargeted: boolean;
}

/** The parts of a message that passed steps 1 and 3 of section 4.7. */
export interface Message {
  readonly top: Members;
  readonly header: Members;
  readonly body: Members;
  readonly graph: Value;
  readonly ttl: bigint;
  readonly isEncrypted: boolean;
}

/** What a node did with a message. */
export interface Outcome {
  kind: "delivered" | "forwarded" | "fault";
  fault: { code: Code; reason: string; types: readonly string[] } | null;
  /** The input, if it was JSON. */
  input: Value;
  forwarded: Members | null;
  reply: Members | null;
  processed: number[];
  bodyProcessed: boolean;
  memorygramUsed: boolean;
  ttlAfter: bigint | null;
}
