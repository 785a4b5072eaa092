// The part of Node that the adapter and its tests use.

interface Buffer extends Uint8Array<ArrayBuffer> {
  equals(other: Uint8Array): boolean;
  toString(encoding?: "utf8" | "hex" | "base64" | "base64url"): string;
  indexOf(value: number, from?: number): number;
  subarray(start?: number, end?: number): Buffer;
}

declare const Buffer: {
  from(text: string, encoding?: "utf8" | "hex" | "base64" | "base64url"): Buffer;
  from(bytes: Uint8Array): Buffer;
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
  readonly env: Readonly<Record<string, string | undefined>>;
  exit(code: number): never;
};

declare class TextDecoder {
  constructor(label: string, options: { fatal: boolean; ignoreBOM: boolean });
  decode(bytes: Uint8Array): string;
}

declare class URL {
  constructor(url: string, base?: string | URL);
  readonly hostname: string;
  readonly href: string;
}

declare const performance: { now(): number };

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
  interface Hmac {
    update(data: Uint8Array): Hmac;
    digest(): Buffer;
  }
  export function createHmac(name: "sha256", key: Uint8Array): Hmac;
  export function timingSafeEqual(one: Uint8Array, other: Uint8Array): boolean;
  export function randomBytes(count: number): Buffer;
  export function randomUUID(): string;
  interface Cipher {
    update(data: Uint8Array): Buffer;
    final(): Buffer;
    getAuthTag(): Buffer;
    setAuthTag(tag: Uint8Array): void;
  }
  export function createCipheriv(name: "aes-256-gcm", key: Uint8Array, nonce: Uint8Array): Cipher;
  export function createDecipheriv(name: "aes-256-gcm", key: Uint8Array, nonce: Uint8Array): Cipher;
  export function randomInt(below: number): number;
}

declare module "node:fs" {
  export function cpSync(from: string, to: string, options: { recursive: boolean }): void;
  export function mkdtempSync(prefix: string): string;
  export function readFileSync(path: string | URL, encoding: "utf8"): string;
  export function rmSync(path: string, options: { recursive: boolean }): void;
  export function writeFileSync(path: string, text: string): void;
}

declare module "node:os" {
  export function tmpdir(): string;
}

declare module "node:url" {
  export function fileURLToPath(url: URL): string;
  export function pathToFileURL(path: string): URL;
}

declare function structuredClone<T>(value: T): T;

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
  export function notEqual(actual: unknown, expected: unknown, message?: string): void;
  export function equal(actual: unknown, expected: unknown, message?: string): void;
  export function deepEqual(actual: unknown, expected: unknown, message?: string): void;
  export function throws(body: () => unknown, expected: object, message?: string): void;
  export function ok(value: unknown, message?: string): asserts value;
}
