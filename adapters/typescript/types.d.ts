// The shapes of the library. Section numbers are those of The Agentic Protocol v0.1, E-numbers those of
// suites/agentic/errata.md.

/** A JSON value. Objects are maps: they keep the order of their members, and no name is special to JavaScript. */
export type Json = null | boolean | number | string | Json[] | JsonObject;
export interface JsonObject extends Map<string, Json> {}

/** Nanoseconds since 1970. */
export type Instant = bigint;

export type Status = "draft" | "awaiting_review" | "revision_requested" | "complete";
export type ActorType = "human" | "agent" | "script";
export type Reviewer = "human" | "agent";

/** A defect of a value, and its place: a JSON pointer (RFC 6901). */
export interface Issue {
  pointer: string;
  reason: string;
}

/** Section 6.2. */
export interface Actor {
  readonly id: string;
  readonly type: ActorType;
  readonly sessionId: string | null;
}

/** Section 6. `members` is the package; the rest is what the library reads from it. */
export interface ContextPackage {
  readonly members: JsonObject;
  readonly packageId: string;
  readonly projectId: string;
  readonly title: string;
  readonly status: Status;
  readonly createdAt: Instant;
  readonly createdBy: Actor;
  readonly openQuestions: readonly string[];
}

/** Section 7. `members` is the fact; the rest is what the library reads from it. */
export interface Fact {
  readonly members: JsonObject;
  readonly factId: string;
  readonly projectId: string;
  readonly subject: string;
  readonly predicate: string;
  readonly value: string;
  readonly validFrom: Instant;
  /** Null while the fact is current (section 7.3). */
  validTo: Instant | null;
}

/** Section 8.6. */
export interface Assertion {
  readonly members: JsonObject;
  readonly projectId: string;
  readonly subject: string;
  readonly predicate: string;
  readonly value: string;
  readonly validFrom: string | null;
  readonly sourcePackageId: string | null;
}

/** A stored package, and its hash (section 6.6). */
export interface StoredPackage {
  content: ContextPackage;
  hash: string;
  /** Of the deposited package, for comparison with a repeated deposit (section 11.2). */
  readonly depositedHash: string;
}

export interface FactQuestion {
  subject?: string | undefined;
  predicate?: string | undefined;
  asOf?: Instant | undefined;
  includeEnded?: boolean;
}

export interface Counts {
  packages: number;
  facts: number;
  sessions: number;
}

export interface Clock {
  /** The set time, or null for that of this machine. */
  fixed: string | null;
  now(): string;
}

/** Params and results of JSON-RPC are JSON as read by JSON.parse. */
export type Params = Readonly<Record<string, unknown>>;
export type Method = (params: Params) => object;
