import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { ok } from '../../../../domain/kernel/result.ts';
import { conductorRoute, json, NOTHING, openConductorRoute, type Route } from '../../route.ts';
import { object, query } from '../schemas/fields.ts';

const PAYLOADS = '/api/external/payloads';

const KINDS = ['WORKFLOW_INPUT', 'WORKFLOW_OUTPUT', 'TASK_INPUT', 'TASK_OUTPUT'] as const;

const locationQuery = z.object({
  path: query.text,
  operation: query.text.transform((text) => text?.toUpperCase() ?? 'WRITE').pipe(z.enum(['READ', 'WRITE'])),
  payloadType: query.text.transform((text) => text?.toUpperCase() ?? 'TASK_OUTPUT').pipe(z.enum(KINDS)),
});

/** The server as its client has reached it: the address is used by that client. */
const originOf = (request: IncomingMessage): string => {
  const proto = request.headers['x-forwarded-proto'];
  return `${proto === 'https' ? 'https' : 'http'}://${request.headers.host ?? 'localhost'}`;
};

const locationRoute = (path: `/${'tasks' | 'workflow'}/${string}`, scope: 'tasks:report' | 'executions:start'): Route =>
  conductorRoute({
    method: 'GET',
    path,
    summary: 'Where to upload a payload to, or to read one from: an address that is good for a quarter of an hour.',
    scope,
    query: locationQuery,
    handle: async ({ useCases, namespace, request, query: { path: given, operation, payloadType } }) => {
      const wanted = { operation, kind: payloadType.toLowerCase(), ...(given !== undefined && { path: given }) };
      const location = await useCases.payloads.location(namespace, wanted);
      if (!location.ok) return location;
      const { path: at, token } = location.value;
      return ok(json(200, { uri: `${originOf(request)}${PAYLOADS}/${token}`, path: at }));
    },
  });

const upload = openConductorRoute({
  method: 'PUT',
  path: '/external/payloads/:token',
  summary: 'Upload a payload to an address that was given for it.',
  body: object,
  bodyKind: 'payload',
  bodyIsData: true,
  handle: async ({ useCases, params, body }) => {
    const uploaded = await useCases.payloads.upload(params.token, body);
    return uploaded.ok ? ok(NOTHING) : uploaded;
  },
});

const download = openConductorRoute({
  method: 'GET',
  path: '/external/payloads/:token',
  summary: 'Read a payload from an address that was given for it.',
  handle: async ({ useCases, params }) => {
    const content = await useCases.payloads.download(params.token);
    return content.ok ? ok(json(200, content.value)) : content;
  },
});

/** Conductor has the path in two spellings. */
export const externalPayloadRoutes: readonly Route[] = [
  locationRoute('/tasks/externalstoragelocation', 'tasks:report'),
  locationRoute('/tasks/external-storage-location', 'tasks:report'),
  locationRoute('/workflow/externalstoragelocation', 'executions:start'),
  locationRoute('/workflow/external-storage-location', 'executions:start'),
  upload,
  download,
];
