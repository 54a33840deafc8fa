import { ok } from '../../../../domain/kernel/result.ts';
import { json, openConductorRoute, type Route, text } from '../../route.ts';

const health = openConductorRoute({
  method: 'GET',
  path: '/health',
  summary: 'Whether the server can serve.',
  handle: async ({ useCases }) => {
    const problems = await useCases.health.problems();
    const healthy = problems.length === 0;
    return ok(json(healthy ? 200 : 503, { healthy, healthResults: [], suppressedHealthResults: [], problems }));
  },
});

const version = openConductorRoute({
  method: 'GET',
  path: '/version',
  summary: 'The version of this program.',
  handle: async (call) => ok(text(call.version)),
});

export const healthRoutes: readonly Route[] = [health, version];
