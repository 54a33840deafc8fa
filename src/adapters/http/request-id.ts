import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/** What may be echoed and written to a log line without being quoted. */
const SAFE_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** The caller's X-Request-Id when it is safe to repeat, else a new one. */
export const requestIdOf = (request: IncomingMessage): string => {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SAFE_ID.test(given) ? given : randomUUID();
};
