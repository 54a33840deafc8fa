import { z } from 'zod';
import { err, ok } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type Method, type Route } from '../../route.ts';
import { otherwise, text } from '../schemas/fields.ts';

const SCOPES = { read: 'eventHandlers:read', write: 'eventHandlers:write' } as const;
const NO_BROKER =
  'No broker is connected in this version; events go through conductor: and internal: sinks, and from outside.';
/** Sinks that need no broker. */
const OWN = /^(?:conductor|internal)(?::|$)/;

const list = conductorRoute({
  method: 'GET',
  path: '/event/queue/config',
  summary: 'The brokers that are set up: none in this version.',
  scope: SCOPES.read,
  handle: async () => ok(json(200, {})),
});

const CONFIG = '/event/queue/config/:queueType/:queueName';

/** There is none to read or delete, and none can be put. */
const none = (method: Method, code: ApiError['code'], scope: typeof SCOPES.read | typeof SCOPES.write): Route =>
  conductorRoute({
    method,
    path: CONFIG,
    summary: 'The configuration of a broker: none can be set up in this version.',
    scope,
    ...(method === 'PUT' ? { body: z.unknown(), bodyKind: 'payload' as const, bodyIsData: true } : {}),
    handle: async ({ params: { queueType, queueName } }) =>
      err({ code, message: `There is no configuration of ${queueType}:${queueName}. ${NO_BROKER}` }),
  });

const connectivity = conductorRoute({
  method: 'POST',
  path: '/event/queue/connectivity',
  summary: 'Whether messages can be sent to a sink.',
  scope: SCOPES.read,
  body: z.object({ sink: otherwise(text, '') }),
  bodyKind: 'payload',
  handle: async ({ body: { sink } }) =>
    ok(json(200, OWN.test(sink) ? { successful: true } : { successful: false, reason: NO_BROKER })),
});

export const queueConfigRoutes: readonly Route[] = [
  list,
  none('GET', 'NOT_FOUND', SCOPES.read),
  none('PUT', 'VALIDATION_FAILED', SCOPES.write),
  none('DELETE', 'NOT_FOUND', SCOPES.write),
  connectivity,
];
