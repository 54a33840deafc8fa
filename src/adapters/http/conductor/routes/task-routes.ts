import type { Route } from '../../route.ts';
import { pollRoutes } from './poll-routes.ts';
import { queueRoutes } from './queue-routes.ts';
import { taskByRefRoutes } from './task-by-ref-routes.ts';
import { taskReadRoutes } from './task-read-routes.ts';
import { taskSearchRoutes } from './task-search-routes.ts';
import { taskSignalRoutes } from './task-signal-routes.ts';
import { taskUpdateRoutes } from './task-update-routes.ts';

/** What workers do, what is told of tasks by their place in a run, and queues. */
export const taskRoutes: readonly Route[] = [
  ...pollRoutes,
  ...queueRoutes,
  ...taskUpdateRoutes,
  ...taskSignalRoutes,
  ...taskByRefRoutes,
  ...taskSearchRoutes,
  ...taskReadRoutes,
];
