import { z } from 'zod';
import { err, ok } from '../domain/kernel/result.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import { bulkControl } from './bulk-control.ts';
import type { ControlExecution } from './control-execution.ts';
import { decodeCursor, encodeCursor } from './cursor.ts';
import type { LeaseTasks } from './lease-tasks.ts';
import type { OperateExecution } from './operate-execution.ts';
import type { QueryExecutions } from './query-executions.ts';
import type { ReleaseLeases } from './release-leases.ts';
import type { ReplayExecution } from './replay-execution.ts';
import { LEASE_LOST, type ReportTasks } from './report-tasks.ts';
import type { StartWorkflow } from './start-workflow.ts';
import type { FollowExecution } from './stream-execution.ts';
import type { UseCases } from './use-cases.ts';
import type { WaitUntilBlocked } from './wait-until-blocked.ts';
import type { WorkerRegistry } from './worker-registry.ts';

const withReason = (reason: string | undefined): { reason?: string } => (reason === undefined ? {} : { reason });

/** What is done with runs, gathered for callers. */
export const createExecutionUseCases = (parts: {
  start: StartWorkflow;
  control: ControlExecution;
  queries: QueryExecutions;
  follow: FollowExecution;
  blocked: WaitUntilBlocked;
  reset: UseCases['executions']['resetCallbacks'];
  test: UseCases['executions']['test'];
  operate: OperateExecution;
  remove: UseCases['executions']['delete'];
  again: UseCases['executions']['runAgain'];
  replay: ReplayExecution;
}): UseCases['executions'] => {
  const { start, control, queries, follow, blocked, reset, test, operate, remove, again, replay } = parts;
  const executions: UseCases['executions'] = {
    start: (namespace, request) => start.start(namespace, request),
    wait: (namespace, id, wait) => follow.wait(namespace, id, wait),
    waitUntilBlocked: (namespace, id, wait) => blocked.wait(namespace, id, wait),
    get: (namespace, id) => queries.get(namespace, id),
    status: (namespace, id) => queries.status(namespace, id),
    tree: (namespace, id) => queries.tree(namespace, id),
    history: (namespace, id, after, limit) => queries.history(namespace, id, after, limit),
    stateAt: (namespace, id, seq) => queries.stateAt(namespace, id, seq),
    search: (namespace, filter, limit, cursor) => queries.search(namespace, filter, limit, cursor),
    test,
    resetCallbacks: reset,
    searchRuns: (namespace, query) => queries.searchRuns(namespace, query),
    pause: (namespace, id, by, reason) => control.request(namespace, id, { type: 'Pause', by, ...withReason(reason) }),
    resume: (namespace, id, by, reason) =>
      control.request(namespace, id, { type: 'Resume', by, ...withReason(reason) }),
    terminate: (namespace, id, by, reason, triggerFailureWorkflow = false) =>
      control.request(namespace, id, { type: 'Terminate', by, triggerFailureWorkflow, ...withReason(reason) }),
    retry: (namespace, id, by, reason, resumesChildren = false) =>
      control.request(namespace, id, { type: 'Retry', by, resumesChildren, ...withReason(reason) }),
    delete: remove,
    bulk: (namespace, ids, call) => bulkControl(executions, namespace, ids, call),
    runAgain: again,
    replay: (namespace, id, version) => replay.replay(namespace, id, version),
    signal: (namespace, id, call, by) => control.signal(namespace, id, call, by),
    operate: (namespace, id, action, asked) => operate.operate(namespace, id, action, asked),
    decide: (namespace, id) => control.decide(namespace, id),
    stream: (namespace, id, after, signal) => follow.stream(namespace, id, after, signal),
  };
  return executions;
};

const logCursor = z.number().int().nonnegative();

/** What workers do, gathered for callers. */
export const createWorkerUseCases = (parts: {
  leases: LeaseTasks;
  reports: ReportTasks;
  release: ReleaseLeases;
  workers: WorkerRegistry;
  index: ExecutionIndex;
}): UseCases['workers'] => {
  const { leases, reports, release, workers, index } = parts;
  return {
    lease: (call) => leases.lease(call),
    heartbeat: (namespace, heartbeat) => reports.heartbeat(namespace, heartbeat),
    report: (namespace, all) => reports.report(namespace, all),
    release: async (namespace, lease) => ((await release.release([lease], namespace)) > 0 ? ok(null) : err(LEASE_LOST)),
    appendLogs: (namespace, lease, lines) => reports.appendLogs(namespace, lease, lines),
    logs: async (namespace, taskId, limit, cursor) => {
      const scope = `${namespace}/logs/${taskId}`;
      const after = cursor === undefined ? undefined : decodeCursor(scope, cursor, logCursor);
      if (after !== undefined && !after.ok) return after;
      const found = await index.logs(namespace, taskId, { after: after?.value ?? 0, limit: limit + 1 });
      const items = found.slice(0, limit);
      const last = items.at(-1);
      if (found.length <= limit || last === undefined) return ok({ items });
      return ok({ items, nextCursor: encodeCursor(scope, last.id) });
    },
    queues: async (namespace) => ok(await index.queues(namespace)),
    queue: async (namespace, queue) => {
      const depth = (await index.queues(namespace)).find((entry) => entry.queue === queue);
      return ok(depth ?? { queue, ready: 0, leased: 0, delayed: 0 });
    },
    workers: async (namespace) => ok(await workers.list(namespace)),
  };
};
