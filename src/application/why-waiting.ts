import { keyOf } from '../domain/execution/task-key.ts';
import type { ExecutionView, TaskView } from '../domain/execution/view.ts';
import type { Instant } from '../domain/kernel/brand.ts';
import { isJsonObject } from '../domain/kernel/json.ts';
import { formatInstant } from '../domain/kernel/time.ts';
import { ASYNC_COMPLETE } from '../domain/tasks/system.ts';
import type { OpenTaskRow } from '../ports/engine-store.ts';
import type { ExecutionRow } from '../ports/execution-index.ts';
import type { TaskGates } from '../ports/limits.ts';
import type { HeldBackBy, WaitingFor } from './use-cases.ts';

/** A queue that nobody has asked for so long has no workers: those that wait ask again after a minute at the latest. */
export const UNSERVED_AFTER_MS = 90_000;

/** What the live state of everything around a run tells of it. */
export type Surroundings = Readonly<{
  now: Instant;
  tasksInFlightMax: number;
  /** Of the tasks that could be leased, by task name; a name without limits is absent. */
  gates: ReadonlyMap<string, TaskGates>;
  /** Those of the queues of such tasks that have workers. */
  served: ReadonlySet<string>;
}>;

type Why = Readonly<{ gate: HeldBackBy; why: string }>;

/** Whether limits of its definition could hold this task back: nobody has it, and its time has come. */
export const isReady = (row: OpenTaskRow, now: Instant): boolean =>
  !row.hasOutcome && !row.leased && row.family !== 'waiting' && row.visibleAt <= now;

/** "Why is it not running?": one sentence for each thing that holds the run. */
export const whyWaiting = (
  row: ExecutionRow,
  view: ExecutionView,
  live: readonly OpenTaskRow[],
  around: Surroundings,
): readonly WaitingFor[] => {
  if (view.endedAt !== undefined) return [];
  const tasks = new Map(view.tasks.map((task) => [task.taskId as string, task]));
  return [
    ...whyRun(row, view, live, around).map((why) => ({ ref: '', iteration: 0, ...why })),
    ...live.map((open) => {
      const { ref, iteration, taskId } = open;
      return { ref, iteration, taskId, ...whyOpen(open, tasks.get(taskId), around) };
    }),
  ];
};

/** What holds all of it, or what comes next. */
const whyRun = (
  row: ExecutionRow,
  view: ExecutionView,
  live: readonly OpenTaskRow[],
  { tasksInFlightMax }: Surroundings,
): readonly Why[] => {
  const whys: Why[] = [];
  if (view.status === 'PAUSED') whys.push({ gate: 'PAUSED', why: 'The execution is paused.' });
  if (row.parked !== undefined) {
    const { attempts, reason, retryAt } = row.parked;
    const why = `Its evaluation failed ${attempts} times and is tried again at ${formatInstant(retryAt)}: ${reason}`;
    whys.push({ gate: 'PARKED', why });
  }
  const inFlight = live.filter(({ family }) => family !== 'waiting').length;
  if (inFlight >= tasksInFlightMax) {
    const why = `${inFlight} of its tasks are open, as many as maxConcurrentTasks allows: others wait until one ends.`;
    whys.push({ gate: 'MAX_CONCURRENT_TASKS', why });
  }
  return whys;
};

const whyOpen = (row: OpenTaskRow, task: TaskView | undefined, around: Surroundings): Why => {
  if (row.hasOutcome) return { gate: 'EVALUATION', why: 'It has been reported and waits for the next evaluation.' };
  if (row.family === 'waiting') return whyWaits(row, task);
  if (row.leased) return { gate: 'LEASED', why: `Worker ${row.workerId ?? '?'} holds it${leaseEnd(row)}.` };
  if (row.visibleAt > around.now) return row.startedAt === undefined ? whyLater(row) : whyPutOff(row, task);
  return heldBack(row, task, around) ?? whyQueued(row, around);
};

const whyWaits = (row: OpenTaskRow, task: TaskView | undefined): Why => {
  if (task?.subWorkflowId !== undefined) {
    return { gate: 'CHILD', why: `It waits for the execution ${task.subWorkflowId}.` };
  }
  if (task?.type === 'START_WORKFLOW') return { gate: 'CHILD', why: 'It waits for its execution to be started.' };
  if (task?.fireAt !== undefined) return { gate: 'TIMER', why: `It waits until ${formatInstant(task.fireAt)}.` };
  return { gate: 'SIGNAL', why: whatFor(row, task) };
};

const whatFor = (row: OpenTaskRow, task: TaskView | undefined): string => {
  switch (task?.type) {
    case 'HUMAN':
      return `It waits for a person to complete ${row.taskId}, or for a signal to ${keyOf(row)}.`;
    case 'WAIT_FOR_WEBHOOK':
      return isJsonObject(task.input) && task.input.callbackPath === undefined
        ? 'It waits for a payload that matches.'
        : 'It waits for its callback.';
    case 'PULL_WORKFLOW_MESSAGES':
      return 'It waits for a message.';
    case 'EVENT':
    case 'KAFKA_PUBLISH':
      return `It has sent its message and waits for the answer to ${keyOf(row)}.`;
    default:
      return `It waits for a signal to ${keyOf(row)}.`;
  }
};

const leaseEnd = (row: OpenTaskRow): string =>
  row.leaseExpiresAt === undefined ? '' : ` until ${formatInstant(row.leaseExpiresAt)}`;

const whyLater = ({ attempt, visibleAt }: OpenTaskRow): Why =>
  attempt > 1
    ? {
        gate: 'RETRY_BACKOFF',
        why: `It failed and is tried again, attempt ${attempt}, at ${formatInstant(visibleAt)}.`,
      }
    : { gate: 'START_DELAY', why: `Its start is delayed until ${formatInstant(visibleAt)}.` };

/** Somebody held it and gave it back for a time, or until others end it. */
const whyPutOff = (row: OpenTaskRow, task: TaskView | undefined): Why =>
  task !== undefined && isJsonObject(task.input) && task.input[ASYNC_COMPLETE] === true
    ? { gate: 'SIGNAL', why: `Its call was made, and it waits for somebody to complete ${row.taskId}.` }
    : { gate: 'TIMER', why: `It goes on at ${formatInstant(row.visibleAt)}.` };

/** The most restrictive limit speaks: what only somebody else can end before what the clock ends. The others follow. */
const heldBack = (row: OpenTaskRow, task: TaskView | undefined, { gates }: Surroundings): Why | undefined => {
  const limits = gates.get(task?.taskName ?? '');
  const [first, ...others] = limits === undefined ? [] : closedGates(limits);
  if (first === undefined) return undefined;
  return {
    gate: first.gate,
    why: [`It waits in queue ${row.queue}: ${first.why}`, ...others.map(({ why }) => why)].join(' '),
  };
};

const closedGates = ({ taskName, semaphores, concurrency, rate }: TaskGates): readonly Why[] => {
  const whys: Why[] = [];
  for (const { name, permits, held } of semaphores) {
    if (held < permits) continue;
    whys.push({ gate: 'SEMAPHORE', why: `the ${permits} permits of semaphore ${name} are taken, by ${held} tasks.` });
  }
  if (concurrency !== undefined && concurrency.leased >= concurrency.limit) {
    const { leased, limit } = concurrency;
    whys.push({
      gate: 'CONCURRENCY_LIMIT',
      why: `${leased} tasks ${taskName} are leased, and its concurrentExecLimit is ${limit}.`,
    });
  }
  if (rate?.opensAt !== undefined && rate.used >= rate.limit) {
    const why = `the ${rate.limit} leases of its rate window are used; the next opens at ${formatInstant(rate.opensAt)}.`;
    whys.push({ gate: 'RATE_LIMIT', why });
  }
  return whys;
};

const whyQueued = ({ queue, family, visibleAt }: OpenTaskRow, { served }: Surroundings): Why => {
  const since = `visible since ${formatInstant(visibleAt)}`;
  if (family === 'system') return { gate: 'QUEUED', why: `It waits for the server to run it, ${since}.` };
  if (served.has(queue)) return { gate: 'QUEUED', why: `It waits in queue ${queue} for a worker, ${since}.` };
  const seconds = UNSERVED_AFTER_MS / 1_000;
  return {
    gate: 'NO_WORKER',
    why: `It waits in queue ${queue}, ${since}, and no worker has polled that queue in the last ${seconds} s.`,
  };
};
