// The part of Node that the adapter and its tests use.

interface Buffer extends Uint8Array<ArrayBuffer> {
  equals(other: Uint8Array): boolean;
  toString(encoding?: "utf8" | "hex" | "base64"): string;
  indexOf(value: number, from?: number): number;
  subarray(start?: number, end?: number): Buffer;
}

declare const Buffer: {
  from(text: string, encoding?: "utf8" | "hex"): Buffer;
  compare(one: Uint8Array, other: Uint8Array): number;
  concat(parts: readonly Uint8Array[]): Buffer;
};

interface NodeWritable {
  write(data: string): boolean;
  on(event: "error", listener: (error: Error & { code?: string }) => void): void;
  once(event: "drain", listener: () => void): void;
}

declare const process: {
  readonly stdin: AsyncIterable<Buffer>;
  readonly stdout: NodeWritable;
  readonly stderr: NodeWritable;
  readonly execPath: string;
  exit(code: number): never;
};

declare class TextDecoder {
  constructor(label: string, options: { fatal: boolean; ignoreBOM: boolean });
  decode(bytes: Uint8Array): string;
}

declare class URL {
  constructor(url: string, base: string);
}

interface ImportMeta {
  readonly url: string;
}

interface Console {
  log(...values: unknown[]): void;
  error(...values: unknown[]): void;
}

declare var console: Console;

declare module "node:console" {
  export const Console: new (output: NodeWritable) => Console;
}

declare module "node:crypto" {
  interface Hash {
    update(data: Uint8Array): Hash;
    digest(encoding: "hex"): string;
  }
  export function createHash(name: "sha256"): Hash;
  export function randomBytes(count: number): Buffer;
  export function randomInt(below: number): number;
}

declare module "node:child_process" {
  export function spawnSync(
    program: string,
    args: string[],
    options: { input: string | Uint8Array; maxBuffer: number; cwd?: URL },
  ): { status: number | null; stdout: Buffer; stderr: Buffer };
}

declare module "node:test" {
  export default function test(name: string, body: () => void | Promise<void>): void;
}

declare module "node:assert/strict" {
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
  export function throws(body: () => unknown, expected: object, message?: string): void;
  export function ok(value: unknown, message?: string): asserts value;
}
