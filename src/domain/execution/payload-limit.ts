import type { JsonValue } from '../kernel/json.ts';
import { JSON_DEPTH_MAX, type JsonLimits, measureJson } from '../kernel/json-depth.ts';

/** Largest input or output of a task, and largest output of a run, as JSON. */
export const PAYLOAD_BYTES_MAX = 10 * 1024 * 1024;

/** Values of the history beyond this, as JSON, are kept apart from its rows. */
export const PAYLOAD_INLINE_BYTES_MAX = 256 * 1024;

const LIMITS: JsonLimits = { bytesMax: PAYLOAD_BYTES_MAX, depthMax: JSON_DEPTH_MAX };

/** What is wrong with the size or the nesting of a payload, as the end of a sentence; undefined when it fits. */
export const payloadProblem = (value: JsonValue): string | undefined => {
  const measured = measureJson(value, LIMITS);
  return measured.ok ? undefined : measured.error.message;
};
