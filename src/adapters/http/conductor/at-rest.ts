import type { ExecutionDetail, UseCases } from '../../../application/use-cases.ts';
import { isClosedExecution } from '../../../domain/execution/statuses.ts';
import { keyOf } from '../../../domain/execution/task-key.ts';
import type { TaskView } from '../../../domain/execution/view.ts';
import type { ExecutionId, Namespace } from '../../../domain/kernel/brand.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';

/** Between two looks at a tree of runs, in milliseconds. */
const LOOK_EVERY_MS = 100;
/** Runs below one another that a look follows. */
const DEPTH_MAX = 100;

/** The steps that go on only when somebody says so. */
const WAITS_FOR_SOMEBODY: ReadonlySet<string> = new Set(['WAIT', 'YIELD', 'HUMAN']);

/** A task that waits for somebody, and the run it is in. */
export type Blocking = Readonly<{ detail: ExecutionDetail; task: TaskView }>;

const isBlocking = ({ type, endedAt, fireAt }: TaskView): boolean =>
  WAITS_FOR_SOMEBODY.has(type) && endedAt === undefined && fireAt === undefined;

type Runs = Pick<UseCases, 'executions'>;

/** The first task that waits for somebody: of the run itself, else of the runs below it, each with all below it in turn. */
export const blockingOf = async (
  useCases: Runs,
  namespace: Namespace,
  detail: ExecutionDetail,
  depth = 0,
): Promise<Blocking | undefined> => {
  const task = detail.view.tasks.find(isBlocking);
  if (task !== undefined) return { detail, task };
  if (depth >= DEPTH_MAX) return undefined;
  for (const { subWorkflowId, endedAt } of detail.view.tasks) {
    if (subWorkflowId === undefined || endedAt !== undefined) continue;
    const child = await useCases.executions.get(namespace, subWorkflowId);
    const below = child.ok ? await blockingOf(useCases, namespace, child.value, depth + 1) : undefined;
    if (below !== undefined) return below;
  }
  return undefined;
};

export type RestRequest = Readonly<{
  waitMs: number;
  /** Also at rest when one of these has ended. */
  untilRefs?: readonly string[];
  /** The client went away. */
  signal: AbortSignal;
}>;

/** `timedOut`: it was still going when the time was up. */
export type AtRest = Readonly<{ detail: ExecutionDetail; blocking: Blocking | undefined; timedOut: boolean }>;

const hasEnded = ({ view }: ExecutionDetail, refs: readonly string[]): boolean =>
  view.tasks.some(
    (task) => task.endedAt !== undefined && !task.retried && (refs.includes(task.ref) || refs.includes(keyOf(task))),
  );

/** Waits until the run has ended, is paused or waits for somebody, anywhere in its tree, or a named task has ended. */
export const waitForRest = async (
  useCases: Runs,
  namespace: Namespace,
  id: ExecutionId,
  { waitMs, untilRefs = [], signal }: RestRequest,
): Promise<Result<AtRest, ApiError>> => {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const found = await useCases.executions.get(namespace, id);
    if (!found.ok) return err(found.error);
    const detail = found.value;
    const { status } = detail.view;
    const isOver = isClosedExecution(status) || status === 'PAUSED' || hasEnded(detail, untilRefs);
    const blocking = isOver ? undefined : await blockingOf(useCases, namespace, detail);
    if (isOver || blocking !== undefined) return ok({ detail, blocking, timedOut: false });
    const leftMs = deadline - performance.now();
    if (leftMs <= 0 || signal.aborted) return ok({ detail, blocking, timedOut: true });
    const look = await useCases.executions.wait(namespace, id, { waitMs: Math.min(leftMs, LOOK_EVERY_MS), signal });
    if (!look.ok) return err(look.error);
  }
};
