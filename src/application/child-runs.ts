import { z } from 'zod';
import { isClosedExecution } from '../domain/execution/statuses.ts';
import type { ExecutionId, Namespace, TaskId } from '../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/kernel/json.ts';
import type { EngineTx, WaitingOutcome } from '../ports/engine-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { ApplicationError } from './application-error.ts';
import { type ClaimedStart, claimKeyOf, endOf } from './child-idempotency.ts';
import type { Evaluator } from './evaluate-executions.ts';
import { type AfterCommit, type InternalHandler, nothingMore } from './message-handler.ts';
import type { DerivedStart, PreparedStart, StartInTransaction } from './start-in-transaction.ts';

/** Runs that may stand one below the other: a definition that calls itself without end fails here, with this reason. */
export const SUB_WORKFLOW_DEPTH_MAX = 100;

/** Our own writing: only its shape is looked at, not what a user put into it. */
const json = z.custom<JsonObject>((value) => isJsonObject(value as JsonValue));
const executionId = z.string() as unknown as z.ZodType<ExecutionId>;
const taskId = z.string() as unknown as z.ZodType<TaskId>;

const parentLink = z.object({ executionId, taskId, ref: z.string(), iteration: z.int(), attempt: z.int() });

const startMessage = z.object({
  parent: parentLink,
  executionId,
  name: z.string(),
  version: z.int().nullable(),
  definition: json.nullable(),
  dialect: z.enum(['v1', 'conductor']),
  input: json,
  priority: z.int(),
  correlationId: z.string().nullable(),
  taskToDomain: z.record(z.string(), z.string()).nullable(),
  idempotencyKey: z.string().nullable(),
  idempotencyStrategy: z.enum(['RETURN_EXISTING', 'FAIL', 'FAIL_ON_RUNNING']).nullable(),
  depth: z.int(),
  eventDepth: z.int().optional(),
});
export type StartMessage = z.output<typeof startMessage>;

const endedMessage = z.object({
  taskId,
  status: z.enum(['COMPLETED', 'FAILED', 'TIMED_OUT', 'TERMINATED']),
  output: json,
  reason: z.string().nullable(),
});

const revivedMessage = z.object({ parent: parentLink, by: z.string() });

const terminateMessage = z.object({ executionId, reason: z.string() });

export type ChildRunsDeps = Readonly<{
  starts: StartInTransaction;
  evaluator: Pick<Evaluator, 'requestIn'>;
  wake: WakeSignal;
}>;

const startOf = (namespace: Namespace, message: StartMessage, isChild: boolean): DerivedStart => {
  const { version, definition, correlationId, taskToDomain, parent, depth, eventDepth } = message;
  return {
    namespace,
    executionId: message.executionId,
    name: message.name,
    input: message.input,
    priority: message.priority,
    ...(version === null ? {} : { version }),
    ...(definition === null ? {} : { inline: { document: definition, dialect: message.dialect } }),
    ...(correlationId === null ? {} : { correlationId }),
    ...(taskToDomain === null ? {} : { taskToDomain }),
    ...(isChild ? { parent, depth } : {}),
    ...(eventDepth === undefined ? {} : { eventDepth }),
  };
};

/** A name that is not there may be registered before the next attempt; whatever else is wrong would be wrong again. */
const refusal = (task: TaskId, { code, message }: ApplicationError): WaitingOutcome => ({
  taskId: task,
  status: code === 'NOT_FOUND' ? 'FAILED' : 'FAILED_WITH_TERMINAL_ERROR',
  output: {},
  reason: `${code}: ${message}`,
});

/** Of a limit on runs: the next attempt may find room. */
const refusalForNow = (task: TaskId, error: ApplicationError): WaitingOutcome => ({
  ...refusal(task, error),
  ...(error.code === 'LIMIT_EXCEEDED' ? { status: 'FAILED' } : {}),
});

const tooDeep: ApplicationError = {
  code: 'LIMIT_EXCEEDED',
  message: `Sub-workflows stand at most ${SUB_WORKFLOW_DEPTH_MAX} deep.`,
};

const TASK_STATUS = {
  COMPLETED: 'COMPLETED',
  FAILED: 'FAILED',
  TIMED_OUT: 'TIMED_OUT',
  TERMINATED: 'CANCELED',
} as const;

/** How a child ended, as the outcome of the attempt that waits for it. */
export const outcomeOfChild = (
  task: TaskId,
  child: ExecutionId,
  { status, output, reason }: Omit<z.output<typeof endedMessage>, 'taskId'>,
): WaitingOutcome => {
  const told = reason === null ? '' : `: ${reason}`;
  return {
    taskId: task,
    status: TASK_STATUS[status],
    output: { ...output, subWorkflowId: child },
    ...(status === 'COMPLETED' ? {} : { reason: `Sub-workflow ${child} ended with status ${status}${told}` }),
  };
};

/** What runs owe to their children and parents, each carried out in the relay's own transaction. */
export class ChildRuns {
  private readonly deps: ChildRunsDeps;

  constructor(deps: ChildRunsDeps) {
    this.deps = deps;
  }

  /**
   * Starts the child of a SUB_WORKFLOW, unless its attempt is over. The attempt is held meanwhile: whoever closes it waits,
   * and then finds the child there to be terminated. What cannot be started is the outcome of the attempt.
   */
  readonly startChild: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { namespace, payload }) => {
      const message = startMessage.parse(payload);
      const { taskId } = message.parent;
      if (message.depth > SUB_WORKFLOW_DEPTH_MAX) return this.settle(tx, namespace, refusal(taskId, tooDeep));
      const ready = await this.deps.starts.prepare(tx, startOf(namespace, message, true));
      if (!ready.ok) return this.settle(tx, namespace, refusal(taskId, ready.error));
      if (message.idempotencyKey !== null) return this.startKeyed(tx, ready.value, message, true);
      // A limit may refuse it, which settles the attempt: then the decide row of the parent has to come first.
      if (ready.value.plan.gates !== undefined) await tx.requestEvaluations([message.parent.executionId]);
      if (!(await tx.holdAttempt(namespace, taskId))) return nothingMore;
      const begun = await this.deps.starts.begin(tx, ready.value);
      return begun.ok ? begun.value : this.settle(tx, namespace, refusalForNow(taskId, begun.error));
    },
  };

  /** Starts the run of a START_WORKFLOW and completes its attempt with the run's id, or starts nothing. */
  readonly startWorkflow: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { namespace, payload }) => {
      const message = startMessage.parse(payload);
      const { taskId } = message.parent;
      const ready = await this.deps.starts.prepare(tx, startOf(namespace, message, false));
      if (!ready.ok) return this.settle(tx, namespace, refusal(taskId, ready.error));
      return this.startKeyed(tx, ready.value, message, false);
    },
  };

  /** The end of a child is the outcome of the attempt that waits for it; an attempt that is over waits for nothing. */
  readonly childEnded: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { namespace, executionId: child, payload }) => {
      const { taskId, ...end } = endedMessage.parse(payload);
      return this.settle(tx, namespace, outcomeOfChild(taskId, child, end));
    },
  };

  /** Its own end tells the children of the child in turn, down to the last. */
  readonly terminateChild: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { payload }) => {
      const { executionId, reason } = terminateMessage.parse(payload);
      const { head } = await tx.lookUpRun(executionId);
      if (head === undefined || isClosedExecution(head.status)) return nothingMore;
      const { announce } = await this.deps.evaluator.requestIn(tx, executionId, {
        type: 'Terminate',
        by: 'parent',
        reason,
      });
      return announce;
    },
  };

  /**
   * A parent that was retried takes its child up again. The parent's rows come before the child's, which nobody takes the
   * other way round: a pass never touches another run's, and decide rows are taken in id order, a parent's before its child's.
   */
  readonly resumeChild: InternalHandler = {
    kind: 'internal',
    handle: async (tx, message) => {
      const { namespace, payload } = message;
      const { parent, executionId: child } = startMessage.parse(payload);
      if ((await tx.lookUpRun(child)).head === undefined) return this.startChild.handle(tx, message);
      await tx.requestEvaluations([parent.executionId]);
      if (!(await tx.holdAttempt(namespace, parent.taskId))) return nothingMore;
      const adoption = { type: 'Adopt', parent, by: 'parent' } as const;
      const { rejection, announce } = await this.deps.evaluator.requestIn(tx, child, adoption);
      // It cannot go on, most likely because it has completed meanwhile: then its end is that of the attempt.
      const end = rejection === undefined ? undefined : await endOf(tx, child);
      if (end === undefined) return this.wakingParent(announce);
      const outcome = outcomeOfChild(parent.taskId, child, { ...end, reason: end.reason ?? null });
      const settled = await this.settle(tx, namespace, outcome);
      return () => {
        announce();
        settled();
      };
    },
  };

  /** A child was retried: the parent that failed because of it goes on, and so do those above it. */
  readonly childRevived: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { executionId: child, payload }) => {
      const { parent: link, by } = revivedMessage.parse(payload);
      const revival = { type: 'ReviveFor', child, link, by } as const;
      const first = await this.deps.evaluator.requestIn(tx, link.executionId, revival);
      if (first.rejection === undefined) return first.announce;
      // The failure of the child may have been waiting for this very pass: only now is the parent closed.
      const second = await this.deps.evaluator.requestIn(tx, link.executionId, revival);
      return () => {
        first.announce();
        second.announce();
      };
    },
  };

  /**
   * A start that may end its own attempt: the decide row of the parent is taken first, then the attempt, then the key, so
   * that a key is never taken for a run that is not started after all.
   */
  private async startKeyed(
    tx: EngineTx,
    ready: PreparedStart,
    message: StartMessage,
    isChild: boolean,
  ): Promise<AfterCommit> {
    const { taskId, executionId: parent } = message.parent;
    await tx.requestEvaluations([parent]);
    if (!(await tx.holdAttempt(ready.namespace, taskId))) return nothingMore;
    const claimed = await claimKeyOf(tx, this.deps.starts.fingerprintOf(message), ready, message);
    if (claimed.kind !== 'won')
      return this.settle(tx, ready.namespace, await lostOutcome(tx, claimed, taskId, isChild));
    const begun = await this.deps.starts.begin(tx, claimed.start);
    if (!begun.ok) return this.refuseKeyed(tx, claimed.start, refusalForNow(taskId, begun.error));
    const announce = begun.value;
    if (isChild) return this.wakingParent(announce);
    const output = { workflowId: ready.executionId };
    const settled = await this.settle(tx, ready.namespace, { taskId, status: 'COMPLETED', output });
    return () => {
      announce();
      settled();
    };
  }

  /** A limit on runs refused it: the next start under its key may find room. */
  private async refuseKeyed(tx: EngineTx, start: PreparedStart, outcome: WaitingOutcome): Promise<AfterCommit> {
    const { namespace, executionId, idempotencyKey: key } = start;
    if (key !== undefined) await tx.releaseIdempotencyKeys([{ namespace, key, executionId }]);
    return this.settle(tx, namespace, outcome);
  }

  private async settle(tx: EngineTx, namespace: Namespace, outcome: WaitingOutcome): Promise<AfterCommit> {
    await tx.settleWaiting(namespace, [outcome]);
    return this.wakingParent(nothingMore);
  }

  private wakingParent(before: AfterCommit): AfterCommit {
    return () => {
      before();
      this.deps.wake.publish(['evaluations']);
    };
  }
}

/** What becomes of an attempt whose key another run holds. A run that goes on can be named, but not be waited for. */
const lostOutcome = async (
  tx: EngineTx,
  claimed: Exclude<ClaimedStart, { kind: 'won' }>,
  taskId: TaskId,
  isChild: boolean,
): Promise<WaitingOutcome> => {
  if (claimed.kind === 'refused') return refusal(taskId, claimed.error);
  const { executionId } = claimed.holder;
  if (!isChild) return { taskId, status: 'COMPLETED', output: { workflowId: executionId } };
  const end = await endOf(tx, executionId);
  if (end !== undefined) return outcomeOfChild(taskId, executionId, { ...end, reason: end.reason ?? null });
  return refusal(taskId, {
    code: 'CONFLICT',
    message: `Execution ${executionId} holds the idempotency key and has not ended; it belongs to another start.`,
  });
};
