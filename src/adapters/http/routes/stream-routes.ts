import type { IncomingMessage } from 'node:http';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';
import { headerValues } from '../headers.ts';
import { namespaceRoute, type Route } from '../route.ts';
import { streamQuery } from '../schemas/executions.ts';
import { writeStream } from '../write-stream.ts';
import { executionIdOf } from './execution-routes.ts';

const SEQ = /^\d{1,15}$/;

/** After which seq to go on. A reader that reconnects sends Last-Event-ID with the address it first asked: the id is newer. */
const positionOf = (request: IncomingMessage, after: string | undefined): Result<number, ApiError> => {
  const lastIds = headerValues(request, 'last-event-id');
  const text = lastIds[0] ?? after ?? '0';
  if (lastIds.length <= 1 && SEQ.test(text)) return ok(Number(text));
  return err({ code: 'INVALID_CURSOR', message: 'The position in a stream is the seq of an event.' });
};

const stream = namespaceRoute({
  method: 'GET',
  path: '/executions/:id/stream',
  summary: 'Follow the log of a run as server-sent events; ends after the terminal fact.',
  scope: 'executions:read',
  query: streamQuery,
  replies: { 200: 'text/event-stream' },
  handle: async ({ useCases, namespace, params, query, principal, request, signal, streams, limits }) => {
    const id = executionIdOf(params.id);
    if (!id.ok) return id;
    const after = positionOf(request, query.after);
    if (!after.ok) return after;
    const giveBack = streams.take(principal.id);
    if (giveBack === undefined) {
      const details = { limit: limits.streamsPerPrincipalMax, retryAfterSeconds: 1 };
      return err({ code: 'LIMIT_EXCEEDED', message: 'Too many streams are open.', details });
    }
    signal.addEventListener('abort', giveBack, { once: true });
    const items = await useCases.executions.stream(namespace, id.value, after.value, signal).catch((cause) => {
      giveBack();
      throw cause;
    });
    if (!items.ok) {
      giveBack();
      return items;
    }
    return ok({
      kind: 'stream',
      start: (response) => writeStream(response, items.value, limits).finally(giveBack),
    });
  },
});

export const streamRoutes: readonly Route[] = [stream];
