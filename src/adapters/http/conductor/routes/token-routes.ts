import { z } from 'zod';
import { err, ok } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { authenticateAnonymous } from '../../authenticate.ts';
import { conductorRoute, json, openConductorRoute, type Route } from '../../route.ts';
import { otherwise, text } from '../schemas/fields.ts';

const KEY_CHARS_MAX = 512;

const tokenRequest = z.object({
  keyId: otherwise(text, '').pipe(z.string().max(KEY_CHARS_MAX)),
  keySecret: otherwise(text, '').pipe(z.string().max(KEY_CHARS_MAX)),
});

const REFUSED: ApiError = { code: 'UNAUTHENTICATED', message: 'The key or its secret is not valid.' };

/** Where nobody needs a key, any will do: a client that was given one works unchanged. */
const token = openConductorRoute({
  method: 'POST',
  path: '/token',
  summary: 'A token for a short time in exchange for a key and its secret.',
  body: tokenRequest,
  handle: async ({ useCases, request, access, body }) => {
    const issued = await useCases.access.issueToken(body.keyId, body.keySecret);
    if (issued !== undefined) return ok(json(200, { token: issued }));
    const isLocal = authenticateAnonymous(request, access).ok;
    return isLocal ? ok(json(200, { token: await useCases.access.issueLocalToken() })) : err(REFUSED);
  },
});

const userInfo = conductorRoute({
  method: 'GET',
  path: '/token/userInfo',
  summary: 'Who the credential of the call is.',
  scope: 'executions:read',
  handle: async ({ principal, namespace }) =>
    ok(json(200, { id: principal.id, name: principal.id, namespace, scopes: principal.scopes })),
});

export const tokenRoutes: readonly Route[] = [token, userInfo];
