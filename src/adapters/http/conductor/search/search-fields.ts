import { type QueryField, RUN_FIELDS, type RunField } from '../../../../ports/run-query.ts';

/** Names of Conductor's index, and of its models, for what is on record of a run. */
const RUN_NAMES: Readonly<Record<string, RunField>> = {
  workflowId: 'executionId',
  workflowType: 'name',
  workflowName: 'name',
  name: 'name',
  version: 'version',
  workflowVersion: 'version',
  status: 'status',
  correlationId: 'correlationId',
  idempotencyKey: 'idempotencyKey',
  parentWorkflowId: 'parentExecutionId',
  priority: 'priority',
  reasonForIncompletion: 'reason',
  failedReferenceTaskNames: 'failedTask',
  startTime: 'startedAt',
  createTime: 'startedAt',
  updateTime: 'updatedAt',
  modifiedTime: 'updatedAt',
  endTime: 'endedAt',
};

const TASK_NAMES: Readonly<Record<string, QueryField>> = {
  taskId: { task: 'taskId' },
  taskType: { task: 'taskType' },
  taskDefName: { task: 'taskName' },
  taskName: { task: 'taskName' },
  referenceTaskName: { task: 'ref' },
  taskReferenceName: { task: 'ref' },
  taskStatus: { task: 'status' },
};

const PAYLOAD = /^(input|output)\.([^.]+(?:\.[^.]+)*)$/;

/** What Conductor tells workflows from agents by: here all are workflows. */
export const CLASSIFIER = 'classifier';

/** Of which tasks or runs a query is about: there `status` is that of the task. */
export type SearchAbout = 'workflows' | 'tasks';

export const runFieldNamed = (name: string): RunField | undefined =>
  Object.hasOwn(RUN_NAMES, name) ? RUN_NAMES[name] : undefined;

export const fieldNamed = (name: string, about: SearchAbout): QueryField | undefined => {
  if (about === 'tasks' && name === 'status') return { task: 'status' };
  const payload = PAYLOAD.exec(name);
  if (payload !== null) {
    return { payload: payload[1] === 'input' ? 'input' : 'output', path: (payload[2] ?? '').split('.') };
  }
  return runFieldNamed(name) ?? (Object.hasOwn(TASK_NAMES, name) ? TASK_NAMES[name] : undefined);
};

/** How values of a field are compared. */
export const kindOf = (field: QueryField): 'text' | 'number' | 'instant' =>
  typeof field === 'string' ? RUN_FIELDS[field] : 'text';

export const KNOWN_FIELDS: readonly string[] = [
  ...Object.keys(RUN_NAMES),
  CLASSIFIER,
  ...Object.keys(TASK_NAMES),
  'input.<path>',
  'output.<path>',
];
