// The shapes of the library for the Agent Mesh Protocol (MeshAI) v1.0. Sections are counted as in E23, E-numbers are those of
// suites/meshai/errata.md.

/** A JSON value. Objects have no prototype, so that no member name is special. */
export type Json = null | boolean | number | string | Json[] | Members;
export interface Members {
  [name: string]: Json;
}

/** Section 6.2. */
export type Code =
  | "AGENT_NOT_FOUND"
  | "CAPABILITY_NOT_FOUND"
  | "AUTHENTICATION_FAILED"
  | "RATE_LIMIT_EXCEEDED"
  | "TIMEOUT"
  | "INVALID_SCHEMA"
  | "CONTEXT_NOT_FOUND"
  | "INSUFFICIENT_RESOURCES";

export type MessageType = "request" | "response" | "event" | "error";

/** The parts of a message that passed the checks of a request or an event. */
export interface Asked {
  readonly id: string;
  readonly sender: string;
  readonly agent: string | null;
  readonly capability: string | null;
  readonly headers: Members;
  readonly payload: Members;
  readonly timeout: number;
}

/** A defect of a declaration, and its place: a JSON pointer. */
export interface Problem {
  path: string;
  reason: string;
}

/** What the owner of an agent decides. */
export interface Settings {
  readonly apiKey?: string | undefined;
  readonly jwtKey?: string | undefined;
  readonly hmacKey?: string | undefined;
  readonly signatureRequired?: boolean;
  readonly enforcesRegistration?: boolean;
  readonly rate?: { readonly requests: number; readonly windowMs: number } | undefined;
}

/** What a fixture does (binding, section 11). */
export interface Behaviour {
  readonly kind: string;
  readonly result: Json;
  readonly ms: number;
}

/** Section 5.1, with the access lists of section 3.4 (E48). */
export interface Context {
  readonly id: string;
  readonly created: number;
  readonly parent: string | null;
  readonly root: string;
  session: string | null;
  expires: string | null;
  shared: Members;
  /** By agent. */
  private: Map<string, Members>;
  access: Members | null;
}

/** Milliseconds since 1970. */
export type Clock = () => number;

export interface Outcome {
  status: string;
  result?: Json;
  error?: Members;
}
