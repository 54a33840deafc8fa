import { type AdmissionRequest, admit, type GateUse, gateKey, type QuotaUse } from '../../domain/execution/admit.ts';
import { addMs, type ExecutionId, type Instant, type Namespace } from '../../domain/kernel/brand.ts';
import type { EngineTx } from '../../ports/engine-store.ts';
import type { WaitingAdmission } from '../../ports/execution-index.ts';
import type { AdmissionRow } from './rows.ts';
import type { MemoryState } from './state.ts';
import { ALL, admissionKey } from './tables.ts';

const MINUTE_MS = 60_000;

const minuteOf = (at: Instant): Instant => (at - (at % MINUTE_MS)) as Instant;

/** Whether a quota of the namespace limits starts. */
export const limitsStarts = (state: MemoryState, namespace: Namespace): boolean => {
  const quotas = state.tables.quotas.get(namespace)?.quotas;
  return quotas?.maxConcurrentExecutions !== undefined || quotas?.maxExecutionsPerMinute !== undefined;
};

/** The clock, and the namespaces in which a quota limits starts. */
export const startContext = (state: MemoryState, namespaces: readonly Namespace[]) => ({
  now: state.now(),
  limited: new Set(namespaces.filter((namespace) => limitsStarts(state, namespace))),
});

const gateUses = ({ tables }: MemoryState, requests: readonly AdmissionRequest[]): ReadonlyMap<string, GateUse> =>
  new Map(
    requests.flatMap(({ namespace, gates }) =>
      gates.map((gate): [string, GateUse] => {
        const key = gateKey(namespace, gate);
        const isAwaited = tables.admissions.queued.first(key) !== undefined;
        return [key, { held: tables.admissions.held.count(key), isAwaited }];
      }),
    ),
  );

const quotaUse = (state: MemoryState, namespace: Namespace): QuotaUse => {
  const now = state.now();
  const row = state.tables.quotas.get(namespace);
  const runs = [...state.tables.executions.newestFirst.in(namespace)];
  return {
    concurrentMax: row?.quotas.maxConcurrentExecutions,
    running: runs.filter(({ status }) => status === 'RUNNING' || status === 'PAUSED').length,
    perMinuteMax: row?.quotas.maxExecutionsPerMinute,
    startedThisMinute: row?.minute === minuteOf(now) ? row.starts : 0,
    minuteEndsInMs: MINUTE_MS - (now % MINUTE_MS),
  };
};

const quotaUses = (state: MemoryState, requests: readonly AdmissionRequest[]): Map<Namespace, QuotaUse> =>
  new Map(
    requests
      .filter(({ namespace }) => limitsStarts(state, namespace))
      .map(({ namespace }) => [namespace, quotaUse(state, namespace)]),
  );

const isRunning = ({ tables }: MemoryState, executionId: ExecutionId): boolean =>
  tables.executions.get(executionId)?.status === 'RUNNING';

/** Those of a queue whose turn could come, in their order: neither paused nor postponed. */
const inLine = (state: MemoryState, queue: string): readonly AdmissionRow[] =>
  [...state.tables.admissions.queued.in(queue)].filter(
    (row) => row.notBefore <= state.now() && isRunning(state, row.executionId),
  );

/** Of each queue as many of the first as there is room for. */
export const admissible = (state: MemoryState): readonly ExecutionId[] => {
  const { allQueued, held } = state.tables.admissions;
  const queues = new Set([...allQueued.in(ALL)].map((row) => gateKey(row.namespace, row.gate)));
  const next = [...queues].flatMap((queue) =>
    inLine(state, queue).filter((row, place) => place < row.gate.limit - held.count(queue)),
  );
  return next.sort((a, b) => a.position - b.position).map((row) => row.executionId);
};

const waitingRow = ({ tables }: MemoryState, executionId: ExecutionId): AdmissionRow | undefined => {
  const row = tables.admissions.get(admissionKey(executionId, 'KEY'));
  return row?.admitted === false ? row : undefined;
};

/** What a queued run waits for. */
export const waitingAdmission = (state: MemoryState, executionId: ExecutionId): WaitingAdmission | undefined => {
  const row = waitingRow(state, executionId);
  if (row === undefined) return undefined;
  const queue = gateKey(row.namespace, row.gate);
  const ahead = [...state.tables.admissions.queued.in(queue)].filter((other) => other.position < row.position);
  return {
    key: row.gate.key,
    limit: row.gate.limit,
    running: state.tables.admissions.held.count(queue),
    ahead: ahead.length,
  };
};

/** Places under limits on runs. Transactions run one at a time, so every lock of the port is held. */
export const admissionWrites = (
  state: MemoryState,
): Pick<EngineTx, 'admitExecutions' | 'admitQueued' | 'postponeAdmission' | 'releaseAdmissions'> => {
  const { admissions, quotas } = state.tables;
  const countStart = (namespace: Namespace): void => {
    const row = quotas.get(namespace);
    if (row === undefined) return;
    const minute = minuteOf(state.now());
    quotas.put({ ...row, minute, starts: (row.minute === minute ? row.starts : 0) + 1 });
  };
  return {
    admitExecutions: async (requests) => {
      const answers = admit(requests, { gates: gateUses(state, requests), quotas: quotaUses(state, requests) });
      requests.forEach(({ executionId, namespace, gates, isStart }, index) => {
        const kind = answers[index]?.kind;
        if (kind === 'refused') return;
        if (isStart) countStart(namespace);
        for (const gate of gates) {
          const admitted = kind === 'admitted' || !gate.waits;
          const position = state.nextOrder();
          admissions.put({ executionId, namespace, gate, admitted, position, notBefore: state.now() });
        }
      });
      return answers;
    },
    admitQueued: async (executionId) => {
      const row = waitingRow(state, executionId);
      if (row === undefined || !isRunning(state, executionId)) return false;
      const queue = gateKey(row.namespace, row.gate);
      const isFirst = inLine(state, queue).every((other) => other.position >= row.position);
      if (!isFirst || admissions.held.count(queue) >= row.gate.limit) return false;
      admissions.put({ ...row, admitted: true });
      return true;
    },
    postponeAdmission: async (executionId, delayMs) => {
      const row = waitingRow(state, executionId);
      if (row !== undefined) admissions.put({ ...row, notBefore: addMs(state.now(), delayMs) });
    },
    releaseAdmissions: async (executionIds) => {
      for (const executionId of executionIds) {
        for (const kind of ['DEFINITION', 'KEY'] as const) admissions.delete(admissionKey(executionId, kind));
      }
    },
  };
};
