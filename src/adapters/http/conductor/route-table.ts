import type { Route } from '../route.ts';
import { adminRoutes } from './routes/admin-routes.ts';
import { eventRoutes } from './routes/event-routes.ts';
import { externalPayloadRoutes } from './routes/external-payload-routes.ts';
import { healthRoutes } from './routes/health-routes.ts';
import { metadataRoutes } from './routes/metadata-routes.ts';
import { scheduleRoutes } from './routes/schedule-routes.ts';
import { taskRoutes } from './routes/task-routes.ts';
import { tokenRoutes } from './routes/token-routes.ts';
import { valueRoutes } from './routes/value-routes.ts';
import { workflowBulkRoutes } from './routes/workflow-bulk-routes.ts';
import { workflowControlRoutes } from './routes/workflow-control-routes.ts';
import { workflowReadRoutes } from './routes/workflow-read-routes.ts';
import { workflowSearchRoutes } from './routes/workflow-search-routes.ts';
import { workflowStartByNameRoutes, workflowStartRoutes } from './routes/workflow-start-routes.ts';
import { workflowStateRoutes } from './routes/workflow-state-routes.ts';
import { workflowTestRoutes } from './routes/workflow-test-routes.ts';

/**
 * Every route of Conductor's API. The first match wins, so a literal path stands before the parameter that would take it.
 * Each has its row in docs/conductor.md.
 */
export const CONDUCTOR_ROUTES: readonly Route[] = [
  ...healthRoutes,
  ...tokenRoutes,
  ...adminRoutes,
  ...externalPayloadRoutes,
  ...metadataRoutes,
  ...taskRoutes,
  ...workflowBulkRoutes,
  ...workflowSearchRoutes,
  ...workflowStartRoutes,
  ...valueRoutes,
  ...scheduleRoutes,
  ...eventRoutes,
  ...workflowReadRoutes,
  ...workflowControlRoutes,
  ...workflowStateRoutes,
  ...workflowTestRoutes,
  ...workflowStartByNameRoutes,
];
