import { taskNamesOf } from '../application/definitions/task-names.ts';
import { compilePlan } from '../domain/definition/compile-plan.ts';
import { parseWorkflowDefinition } from '../domain/definition/parse-definition.ts';
import { parseTaskDefinition } from '../domain/definition/parse-task-definition.ts';
import type { TaskDefinition } from '../domain/definition/task-definition.ts';
import { decide } from '../domain/execution/decide.ts';
import type { SequencedEvent, WorkflowEvent, WorkflowEventType } from '../domain/execution/events.ts';
import { applyEvent } from '../domain/execution/evolve.ts';
import { projectView } from '../domain/execution/project-view.ts';
import { type ExecutionState, emptyState } from '../domain/execution/state.ts';
import type { ExecutionView } from '../domain/execution/view.ts';
import type { ExecutionId } from '../domain/kernel/brand.ts';
import { canonicalJson } from '../domain/kernel/canonical-json.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/kernel/json.ts';
import type { DecisionEnvironment } from '../domain/tasks/task-semantics.ts';
import { CALLBACK_PATH } from '../domain/tasks/webhook.ts';
import { SimulationError } from './simulate.ts';
import { decisionEnvironment } from './simulated-engine.ts';

export type ReplayOptions = Readonly<{
  /** Of the run: the chance in its retry delays and the ids that it makes follow from it. */
  workflowId: string;
  taskDefs?: readonly JsonObject[];
  dialect?: 'v1' | 'conductor';
}>;

export type Replay =
  | Readonly<{ ok: true; view: ExecutionView }>
  /** What the definition makes of the log up to `seq` is not what history tells there. */
  | Readonly<{ ok: false; seq: number; recorded: WorkflowEvent; derived: WorkflowEvent | undefined }>;

/** Facts that follow from others by the engine's own rules; the rest came from outside and is taken as it is. */
const DERIVED: ReadonlySet<WorkflowEventType> = new Set<WorkflowEventType>([
  'TaskScheduled',
  'TaskRefused',
  'TaskTakenFromCache',
  'OperatorResolved',
  'OperatorOpened',
  'LoopIterated',
  'OperatorClosed',
  'CompensationStarted',
  'CompensationEnded',
  'ExecutionClosed',
]);

/** An operator's end says who; the deadline of the run names no task and is nothing that tasks lead to. */
const isFromOutside = (event: WorkflowEvent): boolean => {
  if (!DERIVED.has(event.type)) return true;
  if (event.type === 'ExecutionClosed' && event.by !== undefined) return true;
  const isEnd = event.type === 'ExecutionClosed' || event.type === 'CompensationStarted';
  return isEnd && event.status === 'TIMED_OUT' && event.failedTask === undefined;
};

const planOf = (definition: JsonObject, { taskDefs = [], dialect = 'v1' }: ReplayOptions) => {
  const parsed = parseWorkflowDefinition(definition as JsonValue, dialect);
  if (!parsed.ok) throw new SimulationError('workflow', parsed.error[0] ?? { code: 'INVALID_DEFINITION', message: '' });
  const tasks = new Map<string, TaskDefinition>();
  for (const document of taskDefs) {
    const task = parseTaskDefinition(document, dialect);
    if (!task.ok)
      throw new SimulationError('task definition', task.error[0] ?? { code: 'INVALID_DEFINITION', message: '' });
    tasks.set(task.value.name, task.value);
  }
  const named = taskNamesOf(parsed.value).flatMap((name) => {
    const task = tasks.get(name);
    return task === undefined ? [] : [[name, task] as const];
  });
  const bundle = { workflow: parsed.value, taskDefinitions: Object.fromEntries(named) };
  const plan = compilePlan(bundle, '');
  if (!plan.ok) throw new SimulationError('workflow', plan.error[0] ?? { code: 'INVALID_DEFINITION', message: '' });
  return { plan: plan.value, tasks };
};

/**
 * Derives a log again: what came from outside is taken as it is, and what the engine made of it must come out of the definition
 * once more, fact by fact. With another version of the definition it tells where that would have gone another way.
 * @throws SimulationError when the definition cannot be read
 */
export const replay = async (
  log: readonly SequencedEvent[],
  definition: JsonObject,
  options: ReplayOptions,
): Promise<Replay> => {
  const { plan, tasks } = planOf(definition, options);
  const given = await decisionEnvironment();
  const id = options.workflowId as ExecutionId;
  const state = emptyState(id, plan);
  for (const { seq, event } of log) {
    const environmentValues = () => Object.fromEntries(state.environment);
    const environment = {
      ...given,
      ...knownFrom(event),
      environmentValues,
      taskDefinition: (name: string) => tasks.get(name) ?? null,
    };
    const derived = isFromOutside(event) ? event : nextOf(state, environment, event);
    if (canonicalJson(derived as unknown as JsonValue) !== canonicalJson(event as unknown as JsonValue)) {
      return { ok: false, seq, recorded: event, derived };
    }
    // Whatever definition a restart or an upgrade named: this one is asked.
    if ('definition' in event && event.definition !== undefined) {
      state.plans.set(event.definition.definitionHash, plan);
    }
    applyEvent(state, event);
  }
  return { ok: true, view: projectView(id, log) };
};

/** What the engine looked up when it decided is no fact of its own: what came of it is taken from the fact that followed. */
const knownFrom = (event: WorkflowEvent) => ({
  callbackToken: () => tokenOf(event),
  cachedOutput: () => (event.type === 'TaskTakenFromCache' ? event.output : null),
  isPolled: (queue: string) => event.type === 'TaskScheduled' && event.queue === queue,
});

const tokenOf = (event: WorkflowEvent): string => {
  const input = event.type === 'TaskScheduled' && isJsonObject(event.input) ? event.input : {};
  const { callbackPath } = input;
  return typeof callbackPath === 'string' ? callbackPath.slice(CALLBACK_PATH.length) : '';
};

const nextOf = (
  state: ExecutionState,
  environment: DecisionEnvironment,
  recorded: WorkflowEvent,
): WorkflowEvent | undefined => decide(state, environment, recorded.at, 1).events[0]?.event;
