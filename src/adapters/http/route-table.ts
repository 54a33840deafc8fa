import { CONDUCTOR_ROUTES } from './conductor/route-table.ts';
import type { Route } from './route.ts';
import { accessRoutes } from './routes/access-routes.ts';
import { bulkRoutes } from './routes/bulk-routes.ts';
import { controlRoutes } from './routes/control-routes.ts';
import { definitionRoutes } from './routes/definition-routes.ts';
import { doorRoutes } from './routes/door-routes.ts';
import { eventHandlerRoutes } from './routes/event-handler-routes.ts';
import { executionRoutes } from './routes/execution-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { operatorRoutes } from './routes/operator-routes.ts';
import { outboxRoutes } from './routes/outbox-routes.ts';
import { queueRoutes } from './routes/queue-routes.ts';
import { quotaRoutes } from './routes/quota-routes.ts';
import { scheduleRoutes } from './routes/schedule-routes.ts';
import { schemaRoutes } from './routes/schema-routes.ts';
import { semaphoreRoutes } from './routes/semaphore-routes.ts';
import { startRoutes } from './routes/start-routes.ts';
import { streamRoutes } from './routes/stream-routes.ts';
import { valueRoutes } from './routes/value-routes.ts';
import { workerRoutes } from './routes/worker-routes.ts';

/**
 * Every route of the native API; anything else is 404. The first match wins, so a literal path stands before the parameter that would
 * take it: `/executions/search` before `/executions/:name`.
 */
export const ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...definitionRoutes,
  ...schemaRoutes,
  ...bulkRoutes,
  ...executionRoutes,
  ...streamRoutes,
  ...startRoutes,
  ...controlRoutes,
  ...doorRoutes,
  ...outboxRoutes,
  ...operatorRoutes,
  ...workerRoutes,
  ...queueRoutes,
  ...semaphoreRoutes,
  ...scheduleRoutes,
  ...valueRoutes,
  ...eventHandlerRoutes,
  ...accessRoutes,
  ...quotaRoutes,
];

/** Both APIs. */
export const ALL_ROUTES: readonly Route[] = [...ROUTES, ...CONDUCTOR_ROUTES];

/** Literal segments are plain letters and dashes: nothing in them has a meaning of its own in a pattern. */
const patternOf = (path: string): RegExp => new RegExp(`^${path.replaceAll(/:[^/]+/g, '[^/]+')}$`);

const PATTERNS = ALL_ROUTES.map(({ path, method }) => ({ pattern: patternOf(path), method }));

/** The methods that some route has for a path; none when there is no such path. */
export const methodsAt = (path: string): readonly string[] => [
  ...new Set(
    PATTERNS.filter(({ pattern }) => pattern.test(path)).flatMap(({ method }) =>
      method === 'GET' ? ['GET', 'HEAD'] : [method],
    ),
  ),
];
