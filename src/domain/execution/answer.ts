import type { JsonValue } from '../kernel/json.ts';
import { err, type Result } from '../kernel/result.ts';
import type { WorkflowEvent } from './events.ts';
import type { ExecutionRequest, Rejection } from './requests.ts';

/** What a request leads to: facts, or why there are none. */
export type Answer = Result<readonly WorkflowEvent[], Rejection>;
export type RequestOf<T extends ExecutionRequest['type']> = Extract<ExecutionRequest, { type: T }>;

export const reject = (
  code: Rejection['code'],
  message: string,
  details?: JsonValue,
): Readonly<{ ok: false; error: Rejection }> =>
  err(details === undefined ? { code, message } : { code, message, details });

/** Who asks for it, and why, for the fact. */
export const askedBy = ({ by, reason }: Readonly<{ by: string; reason?: string }>): { by: string; reason?: string } =>
  reason === undefined ? { by } : { by, reason };
