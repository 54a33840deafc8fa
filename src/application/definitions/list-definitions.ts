import { z } from 'zod';
import type { Namespace } from '../../domain/kernel/brand.ts';
import { ok, type Result } from '../../domain/kernel/result.ts';
import type { DefinitionStore, TaskDefinitionRow, WorkflowDefinitionRow } from '../../ports/definition-store.ts';
import type { ApplicationError } from '../application-error.ts';
import { decodeCursor, encodeCursor } from '../cursor.ts';
import type { Page } from '../use-cases.ts';

const WORKFLOW_KEY = z.tuple([z.string(), z.int().min(0)]);
const TASK_KEY = z.string();

const workflowScope = (namespace: Namespace): string => `workflow-definitions:${namespace}`;
const taskScope = (namespace: Namespace): string => `task-definitions:${namespace}`;

/** One row more than asked for tells whether the list goes on. */
export const pageOf = <T>(rows: readonly T[], limit: number, cursorAt: (last: T) => string): Page<T> => {
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return rows.length > limit && last !== undefined ? { items, nextCursor: cursorAt(last) } : { items };
};

/** All versions, by name and version. Error: INVALID_CURSOR. */
export const listWorkflows = async (
  definitions: DefinitionStore,
  namespace: Namespace,
  limit: number,
  cursor: string | undefined,
): Promise<Result<Page<WorkflowDefinitionRow>, ApplicationError>> => {
  const scope = workflowScope(namespace);
  const start = cursor === undefined ? undefined : decodeCursor(scope, cursor, WORKFLOW_KEY);
  if (start?.ok === false) return start;
  const page = { limit: limit + 1, ...(start && { after: { name: start.value[0], version: start.value[1] } }) };
  const rows = await definitions.listWorkflows(namespace, page);
  return ok(pageOf(rows, limit, (row) => encodeCursor(scope, [row.name, row.version])));
};

/** By name. Error: INVALID_CURSOR. */
export const listTasks = async (
  definitions: DefinitionStore,
  namespace: Namespace,
  limit: number,
  cursor: string | undefined,
): Promise<Result<Page<TaskDefinitionRow>, ApplicationError>> => {
  const scope = taskScope(namespace);
  const start = cursor === undefined ? undefined : decodeCursor(scope, cursor, TASK_KEY);
  if (start?.ok === false) return start;
  const rows = await definitions.listTasks(namespace, { limit: limit + 1, ...(start && { after: start.value }) });
  return ok(pageOf(rows, limit, (row) => encodeCursor(scope, row.definition.name)));
};
