import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import { ok } from '../../../domain/kernel/result.ts';
import { json, namespaceRoute, type Route } from '../route.ts';
import { type QuotasBody, quotas } from '../schemas/quotas.ts';

const get = namespaceRoute({
  method: 'GET',
  path: '/quotas',
  summary: 'Read the quotas of a namespace; what is absent is not limited.',
  scope: 'quotas:read',
  replies: { 200: quotas },
  handle: async ({ useCases, namespace }) => {
    const found = await useCases.access.getQuotas(namespace);
    return found.ok ? ok(json<QuotasBody>(200, found.value)) : found;
  },
});

const put = namespaceRoute({
  method: 'PUT',
  path: '/quotas',
  summary: 'Replace the quotas of a namespace.',
  // Quotas protect tenants from each other, so a tenant does not set its own.
  scope: 'platform:admin',
  body: quotas,
  replies: { 200: quotas },
  handle: async ({ useCases, namespace, body }) => {
    const put = await useCases.access.putQuotas(namespace, withoutUndefined(body));
    return put.ok ? ok(json<QuotasBody>(200, put.value)) : put;
  },
});

export const quotaRoutes: readonly Route[] = [get, put];
