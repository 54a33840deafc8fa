import type { Route } from '../../route.ts';
import { metadataExtraRoutes } from './metadata-extra-routes.ts';
import { schemaRoutes } from './schema-routes.ts';
import { tagRoutes } from './tag-routes.ts';
import { taskDefRoutes } from './task-def-routes.ts';
import { workflowDefRoutes } from './workflow-def-routes.ts';

/** Definitions, their tags and limits, and schemas. */
export const metadataRoutes: readonly Route[] = [
  ...metadataExtraRoutes,
  ...tagRoutes,
  ...workflowDefRoutes,
  ...taskDefRoutes,
  ...schemaRoutes,
];
