import { parseTaskId } from '../../../../domain/kernel/brand.ts';
import { err, ok } from '../../../../domain/kernel/result.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, type Route } from '../../route.ts';
import { taskBodiesOf } from '../wire/task.ts';
import { liveRowsOf, taskRunOf } from '../wire/workflow.ts';

const noTask = (id: string) => err<ApiError>({ code: 'NOT_FOUND', message: `No such task found by id: ${id}` });

const get = conductorRoute({
  method: 'GET',
  path: '/tasks/:taskId',
  summary: 'An attempt of a task.',
  scope: 'tasks:read',
  handle: async ({ useCases, namespace, params: { taskId } }) => {
    const task = parseTaskId(taskId);
    if (task === undefined) return noTask(taskId);
    const detail = await useCases.executions.get(namespace, task.executionId);
    if (!detail.ok) return detail.error.code === 'NOT_FOUND' ? noTask(taskId) : detail;
    const bodies = taskBodiesOf(detail.value.view.tasks, taskRunOf(detail.value), liveRowsOf(detail.value));
    const body = bodies.find((each) => each.taskId === taskId);
    return body === undefined ? noTask(taskId) : ok(json(200, body));
  },
});

export const taskReadRoutes: readonly Route[] = [get];
