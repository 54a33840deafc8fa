import type { SchemaDocument } from '../application/use-cases.ts';
import type { SequencedEvent } from '../domain/execution/events.ts';
import { type ExecutionStatus, isClosedExecution } from '../domain/execution/statuses.ts';
import { keyOf } from '../domain/execution/task-key.ts';
import type { TaskView } from '../domain/execution/view.ts';
import { addMs, type ExecutionId, type Instant } from '../domain/kernel/brand.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';
import type { Result } from '../domain/kernel/result.ts';
import { MockedWork } from './mocked-work.ts';
import { MockBook, type Mocks } from './mocks.ts';
import { NAMESPACE, openSimulatedEngine, type SimulatedEngine } from './simulated-engine.ts';
import { createVirtualClock, SIMULATION_START, type VirtualClock } from './virtual-clock.ts';

/** Longest a simulated run may take on its own time, unless told: a loop that never ends ends here. */
export const VIRTUAL_SECONDS_MAX = 366 * 24 * 3_600;
/** Turns of one simulation: one that goes round without its time passing ends here. */
export const SIMULATION_TURNS_MAX = 100_000;

const HISTORY_MAX = 1_000_000;
const RUNS_MAX = 1_000;

export type SimulateOptions = Readonly<{
  input?: JsonObject;
  mocks?: Mocks;
  /** Task definitions, as they are registered. */
  taskDefs?: readonly JsonObject[];
  /** Other workflows that it starts: they run for real. */
  subWorkflows?: readonly JsonObject[];
  schemas?: readonly SchemaDocument[];
  correlationId?: string;
  taskToDomain?: Readonly<Record<string, string>>;
  /** Environment values by name. Secrets need none: each is `secret:` and its name. */
  environment?: Readonly<Record<string, string>>;
  /** Whose defaults fill what definitions leave out; v1 unless told. */
  dialect?: 'v1' | 'conductor';
  virtualSecondsMax?: number;
}>;

/** One attempt or operator of the run. */
export type SimulatedTask = Readonly<{
  /** With the suffixes of the loops around it. */
  ref: string;
  type: string;
  taskName: string;
  status: TaskView['status'];
  attempt: number;
  input: JsonValue;
  output: JsonObject;
  reason?: string;
}>;

export type SimulatedRun = Readonly<{ workflow: string; status: ExecutionStatus; reason?: string }>;

export type Simulation = Readonly<{
  workflowId: string;
  /** RUNNING: nothing was left that could move it; `waitingFor` says what it waits for. */
  status: ExecutionStatus;
  output: JsonObject;
  reason?: string;
  failedTask?: string;
  variables: JsonObject;
  tasks: readonly SimulatedTask[];
  history: readonly SequencedEvent[];
  /** Virtual time from the start to the end, or to where it stopped. */
  elapsedMs: number;
  /** Names of tasks that no mock names: they completed with `{}`. */
  unmocked: readonly string[];
  waitingFor: readonly string[];
  /** The other runs that it led to: children, detached starts, a failure workflow. */
  otherRuns: readonly SimulatedRun[];
  /** What could not be delivered, such as the start of a workflow that is not given. */
  problems: readonly string[];
}>;

/** A definition or an input that the engine refuses. */
export class SimulationError extends Error {
  override readonly name = 'SimulationError';
  readonly code: string;
  readonly path: string | undefined;

  constructor(what: string, error: Readonly<{ code: string; message: string; path?: string }>) {
    super(`${what}: ${error.code} ${error.message}${error.path === undefined ? '' : ` (at ${error.path})`}`);
    this.code = error.code;
    this.path = error.path;
  }
}

const must = <T>(what: string, result: Result<T, Readonly<{ code: string; message: string; path?: string }>>): T => {
  if (result.ok) return result.value;
  throw new SimulationError(what, result.error);
};

/**
 * Runs a definition to its end, or to where nothing moves it, by the real engine over stores in memory and on virtual time:
 * timers, back-off and deadlines pass at once. Workers answer as the mocks say; scripts, operators and children are real.
 * @throws SimulationError when a definition or the input is refused
 */
export const simulate = async (definition: JsonObject, options: SimulateOptions = {}): Promise<Simulation> => {
  const clock = createVirtualClock();
  const work = new MockedWork(clock, new MockBook(options.mocks ?? {}));
  const simulated: SimulatedEngine = await openSimulatedEngine(clock, (tasks) =>
    work.intercept(() => simulated, tasks),
  );
  try {
    const id = await start(simulated, definition, options);
    await runToTheEnd(simulated, clock, work, options.virtualSecondsMax ?? VIRTUAL_SECONDS_MAX);
    return await told(simulated, id, clock, work);
  } finally {
    await simulated.close();
  }
};

const start = async (
  { useCases }: SimulatedEngine,
  definition: JsonObject,
  options: SimulateOptions,
): Promise<ExecutionId> => {
  const { definitions, environment, executions } = useCases;
  const { dialect = 'v1', taskDefs = [], subWorkflows = [], schemas = [] } = options;
  for (const schema of schemas) must('schema', await definitions.registerSchema(NAMESPACE, schema));
  for (const [name, value] of Object.entries(options.environment ?? {})) {
    must('environment', await environment.put(NAMESPACE, name, value));
  }
  for (const task of taskDefs) must('task definition', await definitions.registerTask(NAMESPACE, task, dialect));
  for (const other of subWorkflows) {
    must('sub-workflow', await definitions.registerWorkflow(NAMESPACE, other, dialect, true));
  }
  const registered = must('workflow', await definitions.registerWorkflow(NAMESPACE, definition, dialect, true));
  const { name, version } = registered.definition;
  const started = await executions.start(NAMESPACE, {
    name,
    version,
    input: options.input ?? {},
    priority: 0,
    idempotencyStrategy: 'RETURN_EXISTING',
    ...(options.correlationId === undefined ? {} : { correlationId: options.correlationId }),
    ...(options.taskToDomain === undefined ? {} : { taskToDomain: options.taskToDomain }),
  });
  return must('start', started).executionId;
};

/** Turns until nothing moves, then to the next instant at which something is due. */
export const runToTheEnd = async (
  simulated: SimulatedEngine,
  clock: VirtualClock,
  work: MockedWork,
  secondsMax: number,
  /** Asked between turns. */
  isOver: () => Promise<boolean> = async () => false,
): Promise<void> => {
  const until = addMs(SIMULATION_START, secondsMax * 1_000);
  for (let turns = 0; turns < SIMULATION_TURNS_MAX; turns += 1) {
    if (await isOver()) return;
    if ((await work.turn(simulated)) + (await simulated.turn()) > 0) continue;
    if (work.isStuck) return;
    const next = await nextDue(simulated, clock, work);
    if (next === undefined || next > until) return;
    clock.advanceTo(next);
  }
};

const nextDue = async (
  simulated: SimulatedEngine,
  clock: VirtualClock,
  work: MockedWork,
): Promise<Instant | undefined> => {
  const now = clock.now();
  // A pass that failed and is parked would fail again: it is told, not tried.
  const { timer, lease, message } = await simulated.engine.nextDueInMs();
  const inMs = [timer, lease, message].filter((ms) => ms !== undefined);
  const instants: (Instant | undefined)[] = [
    ...inMs.map((ms) => addMs(now, Math.max(1, Math.ceil(ms)))),
    work.nextAt(),
  ];
  for (const run of await simulated.index.search(NAMESPACE, { statuses: ['RUNNING'] }, { limit: RUNS_MAX })) {
    const open = await simulated.index.openTasks(NAMESPACE, run.executionId);
    for (const { leased, visibleAt } of open) if (!leased && visibleAt > now) instants.push(visibleAt);
  }
  return instants.reduce(
    (first, at) => (first === undefined || (at !== undefined && at < first) ? at : first),
    undefined,
  );
};

const told = async (
  simulated: SimulatedEngine,
  id: ExecutionId,
  clock: VirtualClock,
  work: MockedWork,
): Promise<Simulation> => {
  const { view, waitingFor } = must('run', await simulated.useCases.executions.get(NAMESPACE, id));
  const runs = await simulated.index.search(NAMESPACE, {}, { limit: RUNS_MAX });
  const isOver = isClosedExecution(view.status);
  return {
    workflowId: id,
    status: view.status,
    output: view.output ?? {},
    ...(view.reason === undefined ? {} : { reason: view.reason }),
    ...(view.failedTask === undefined ? {} : { failedTask: view.failedTask }),
    variables: view.variables,
    tasks: view.tasks.map(simulatedTask),
    history: await simulated.index.history(NAMESPACE, id, 0, HISTORY_MAX),
    elapsedMs: (isOver ? (view.endedAt ?? clock.now()) : clock.now()) - view.startedAt,
    unmocked: [...work.unmocked].sort(),
    waitingFor: waitingFor.map(({ ref, why }) => (ref === '' ? why : `${ref}: ${why}`)),
    otherRuns: runs
      .filter((run) => run.executionId !== id)
      .map(({ name, status, reason }) => ({ workflow: name, status, ...(reason === undefined ? {} : { reason }) }))
      .reverse(),
    problems: [...new Set(simulated.problems)],
  };
};

const simulatedTask = (task: TaskView): SimulatedTask => ({
  ref: keyOf(task),
  type: task.type,
  taskName: task.taskName,
  status: task.status,
  attempt: task.attempt,
  input: task.input,
  output: task.output ?? {},
  ...(task.reason === undefined ? {} : { reason: task.reason }),
});
