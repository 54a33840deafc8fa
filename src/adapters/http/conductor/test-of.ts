import { taskNamesOf } from '../../../application/definitions/task-names.ts';
import type { GivenDocument, UseCases, WorkflowTest } from '../../../application/use-cases.ts';
import type { WorkflowDefinition } from '../../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';
import { taskDocumentOf, workflowDocumentOf } from '../wire/definition-wire.ts';
import type { TestBody } from './schemas/workflow.ts';

/** Definitions that one test takes along. */
const DEFINITIONS_MAX = 100;
const MS_PER_SECOND = 1_000;

type Outcomes = WorkflowTest['outcomes'];
type Definitions = UseCases['definitions'];

/** The tasks of a document that start runs of other definitions, at any depth. */
const startersIn = (value: JsonValue | undefined): readonly JsonObject[] => {
  if (Array.isArray(value)) return value.flatMap(startersIn);
  if (!isJsonObject(value)) return [];
  const own = isJsonObject(value.subWorkflowParam) || value.type === 'START_WORKFLOW' ? [value] : [];
  return [...own, ...Object.values(value).flatMap(startersIn)];
};

const calledBy = (step: JsonObject): readonly Readonly<{ name: string; version: number | undefined }>[] => {
  const input = isJsonObject(step.inputParameters) ? step.inputParameters.startWorkflow : undefined;
  return [step.subWorkflowParam, input].flatMap((called) => {
    if (!isJsonObject(called) || typeof called.name !== 'string' || called.name.includes('${')) return [];
    const version = typeof called.version === 'number' && called.version > 0 ? called.version : undefined;
    return [{ name: called.name, version }];
  });
};

type Collected = Readonly<{ documents: readonly GivenDocument[]; taskNames: ReadonlySet<string> }>;

/** The definitions that a run may lead to, as they are stored; one that is missing is missed by the run itself. */
const collect = async (definitions: Definitions, namespace: Namespace, root: JsonObject): Promise<Collected> => {
  const seen = new Map<string, GivenDocument>();
  const taskNames = new Set<string>();
  const open: JsonObject[] = [root];
  for (let document = open.pop(); document !== undefined; document = open.pop()) {
    for (const { name, version } of startersIn(document.tasks).flatMap(calledBy)) {
      const key = JSON.stringify([name, version ?? 0]);
      if (seen.has(key) || seen.size >= DEFINITIONS_MAX) continue;
      const found = await definitions.getWorkflow(namespace, name, version);
      if (!found.ok) continue;
      const { definition } = found.value;
      for (const task of taskNamesOf(definition)) taskNames.add(task);
      const called = { document: workflowDocumentOf(definition), dialect: definition.dialect };
      seen.set(key, called);
      open.push(called.document);
    }
  }
  return { documents: [...seen.values()], taskNames };
};

/** Those of a child are by the name of its definition, since a test names a child by the task that starts it. */
const outcomesOf = (body: TestBody, tasks: JsonValue | undefined, prefix = ''): Outcomes => {
  const own = Object.entries(body.taskRefToMockOutput).map(([ref, mocks]) => {
    const ended = mocks.flatMap(({ status, output, executionTime, queueWaitTime }) =>
      status === 'IN_PROGRESS'
        ? []
        : [{ status, output, afterSeconds: (executionTime + queueWaitTime) / MS_PER_SECOND }],
    );
    return [`${prefix}${ref}`, ended] as const;
  });
  const below = Object.entries(body.subWorkflowTestRequest ?? {}).flatMap(([ref, child]) => {
    const step = startersIn(tasks).find((each) => each.taskReferenceName === ref);
    const name = child.name ?? (step === undefined ? undefined : calledBy(step)[0]?.name) ?? ref;
    return Object.entries(outcomesOf(child, child.workflowDef?.tasks, `${name}/`));
  });
  return Object.fromEntries([...own, ...below]);
};

const namesIn = (value: JsonValue | undefined): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(namesIn);
  if (!isJsonObject(value)) return [];
  const own = typeof value.taskReferenceName === 'string' && typeof value.name === 'string' ? [value.name] : [];
  return [...own, ...Object.values(value).flatMap(namesIn)];
};

const definitionFor = async (
  definitions: Definitions,
  namespace: Namespace,
  { name, version, workflowDef }: TestBody,
): Promise<Result<GivenDocument, ApiError>> => {
  if (workflowDef !== undefined) {
    return ok({ document: { ...(name !== undefined && { name }), ...workflowDef }, dialect: 'conductor' });
  }
  if (name === undefined || name === '') {
    return err({ code: 'VALIDATION_FAILED', message: 'Workflow name cannot be null or empty', path: 'name' });
  }
  const found = await definitions.getWorkflow(namespace, name, version === 0 ? undefined : version);
  if (!found.ok) return found;
  const definition: WorkflowDefinition = found.value.definition;
  return ok({ document: workflowDocumentOf(definition), dialect: definition.dialect });
};

/** The test that Conductor's request asks for, with the definitions that it needs from the store. */
export const testOf = async (
  definitions: Definitions,
  namespace: Namespace,
  body: TestBody,
  signal: AbortSignal,
): Promise<Result<WorkflowTest, ApiError>> => {
  const definition = await definitionFor(definitions, namespace, body);
  if (!definition.ok) return definition;
  const { document } = definition.value;
  const { documents, taskNames } = await collect(definitions, namespace, document);
  const names = new Set([...namesIn(document.tasks), ...taskNames]);
  const taskDefinitions: GivenDocument[] = [];
  for (const name of names) {
    const found = await definitions.getTask(namespace, name);
    if (found.ok) taskDefinitions.push({ document: taskDocumentOf(found.value.definition), dialect: 'v1' });
  }
  return ok({
    definition: definition.value,
    others: documents,
    taskDefinitions,
    start: {
      input: body.input,
      priority: body.priority,
      idempotencyStrategy: 'RETURN_EXISTING',
      ...(body.correlationId !== undefined && { correlationId: body.correlationId }),
    },
    outcomes: outcomesOf(body, document.tasks),
    signal,
  });
};
