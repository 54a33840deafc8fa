import type { Route } from '../route.ts';
import { adminRoutes } from './routes/admin-routes.ts';
import { externalPayloadRoutes } from './routes/external-payload-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { metadataRoutes } from './routes/metadata-routes.ts';
import { taskRoutes } from './routes/task-routes.ts';
import { workflowReadRoutes } from './routes/workflow-read-routes.ts';

/**
 * Every route of Conductor's API. The first match wins, so a literal path stands before the parameter that would take it.
 * Each has its row in docs/conductor.md.
 */
export const CONDUCTOR_ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...adminRoutes,
  ...externalPayloadRoutes,
  ...metadataRoutes,
  ...taskRoutes,
  ...workflowReadRoutes,
];
