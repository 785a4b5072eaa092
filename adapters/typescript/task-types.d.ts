// The shapes of the library for the Agent Message Protocol, AMP v1.0. Sections are those of the document, E-numbers those of
// suites/task-amp/errata.md.

/** A JSON value, as JSON.parse reads it. */
export type Json = null | boolean | number | string | Json[] | Members;
export interface Members {
  [name: string]: Json;
}

export type Type = "task_dispatch" | "task_result" | "review_request" | "review_verdict" | "escalation";
export type Role = "coordinator" | "executor" | "reviewer" | "system";

/** A defect of a message, and its place: a JSON pointer. */
export interface Defect {
  code: string;
  path: string;
}

/** A message that passed the rules (section 00). */
export interface Message {
  msg_id: string;
  protocol_version: string;
  type: Type;
  from: string;
  to: string;
  task_id: string;
  timestamp: string;
  requires_ack: boolean;
  ack_timeout_sec?: number;
  context_ref?: string[];
  payload: any;
}

/** What an engine puts out (binding, section 11). */
export type Output =
  | { kind: "message"; message: Message }
  | { kind: "ack"; ack: object }
  | { kind: "error_log"; entry: object }
  | { kind: "work"; task_id: string; subtask_id: string }
  | { kind: "review"; task_id: string };

/** What a role knows of a task. */
export interface Task {
  readonly id: string;
  readonly created: number;
  updated: number;
  status: string;
  rejects: number;
  isSuspended: boolean;
  isLocked: boolean;
  /** The last message of the task that was taken. */
  last: string | null;
  /** The payload that is to be dispatched, or was. */
  plan: any;
  dispatch: Message | null;
  /** The open review request. */
  request: Message | null;
  /** Complete results of the current dispatch, by subtask. */
  results: Map<string, Message>;
  rejections: string[];
  partials: number;
  ci: any;
  /** What waits for the end of a suspension. */
  held: (() => void)[];
  /** Subtasks without a result, in order. */
  open: string[];
  /** Payloads of results that are not sent yet. */
  done: object[];
}
