import type { JsonValue } from './json.ts';
import { err, ok, type Result } from './result.ts';

/** Deepest JSON taken in or written out. `[]` and `{}` have depth 1, plain values 0. */
export const JSON_DEPTH_MAX = 100;

export interface JsonLimits {
  readonly bytesMax: number;
  readonly depthMax: number;
}

export interface JsonLimitProblem {
  readonly code: 'PAYLOAD_TOO_LARGE' | 'NESTING_TOO_DEEP';
  readonly message: string;
}

/**
 * The size in bytes of a value as JSON text in UTF-8, without building that text. Stops as soon as a limit is passed, so
 * a value that holds itself many times over costs no more than the limit. Errors: PAYLOAD_TOO_LARGE, NESTING_TOO_DEEP.
 */
export const measureJson = (value: JsonValue, limits: JsonLimits): Result<number, JsonLimitProblem> => {
  const measure = new Measure(limits);
  measure.add(value, 0);
  return measure.problem === undefined ? ok(measure.bytes) : err(measure.problem);
};

class Measure {
  bytes = 0;
  problem: JsonLimitProblem | undefined;
  private readonly limits: JsonLimits;

  constructor(limits: JsonLimits) {
    this.limits = limits;
  }

  add(value: JsonValue, depth: number): void {
    if (typeof value === 'string') this.grow(jsonTextBytes(value));
    else if (typeof value === 'number') this.grow(String(value).length);
    else if (typeof value === 'boolean') this.grow(value ? 4 : 5);
    else if (value === null) this.grow(4);
    else if (depth >= this.limits.depthMax) {
      this.problem ??= { code: 'NESTING_TOO_DEEP', message: `nested deeper than ${this.limits.depthMax}` };
    } else if (Array.isArray(value)) this.addList(value, depth + 1);
    else this.addObject(value as { readonly [key: string]: JsonValue }, depth + 1);
  }

  private addList(values: readonly JsonValue[], depth: number): void {
    this.grow(2 + Math.max(values.length - 1, 0));
    for (const value of values) {
      if (this.problem !== undefined) return;
      this.add(value, depth);
    }
  }

  private addObject(object: { readonly [key: string]: JsonValue }, depth: number): void {
    const keys = Object.keys(object);
    this.grow(2 + Math.max(keys.length - 1, 0));
    for (const key of keys) {
      if (this.problem !== undefined) return;
      this.grow(jsonTextBytes(key) + 1);
      this.add(object[key] ?? null, depth);
    }
  }

  private grow(bytes: number): void {
    this.bytes += bytes;
    if (this.bytes <= this.limits.bytesMax) return;
    this.problem ??= { code: 'PAYLOAD_TOO_LARGE', message: `larger than ${this.limits.bytesMax} bytes as JSON` };
  }
}

const SHORT_ESCAPES = new Set([...'"\\\b\f\n\r\t'].map((char) => char.charCodeAt(0)));

/** Bytes of a text as a quoted JSON string. */
const jsonTextBytes = (text: string): number => {
  let bytes = text.length + 2;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code >= 0x20 && code < 0x80 && code !== 0x22 && code !== 0x5c) continue;
    if (code < 0x80) bytes += SHORT_ESCAPES.has(code) ? 1 : code < 0x20 ? 5 : 0;
    else if (code < 0x800) bytes += 1;
    else if (code < 0xd800 || code > 0xdfff) bytes += 2;
    else if (isPairAt(text, at, code)) {
      bytes += 2;
      at += 1;
    } else bytes += 5;
  }
  return bytes;
};

const isPairAt = (text: string, at: number, code: number): boolean => {
  const next = text.charCodeAt(at + 1);
  return code < 0xdc00 && next >= 0xdc00 && next <= 0xdfff;
};

/** Where `jsonBytes` stops counting: far above every limit there is, and still a bounded amount of work. */
const COUNTED_LIMITS: JsonLimits = { bytesMax: 64 * 1024 * 1024, depthMax: JSON_DEPTH_MAX * 10 };

/**
 * The size in bytes of a value as JSON text in UTF-8; infinite for one beyond 64 MiB or 1,000 levels, which no limit
 * admits anyway.
 */
export const jsonBytes = (value: JsonValue): number => {
  const measured = measureJson(value, COUNTED_LIMITS);
  return measured.ok ? measured.value : Number.POSITIVE_INFINITY;
};
