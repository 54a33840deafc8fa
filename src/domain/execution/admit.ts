import type { ExecutionId, Namespace } from '../kernel/brand.ts';
import type { Gate } from './admission.ts';

/** What a run asks for before it begins, or begins again. */
export type AdmissionRequest = Readonly<{
  executionId: ExecutionId;
  namespace: Namespace;
  gates: readonly Gate[];
  /** It is new, so it counts among the starts of the minute; a run that is reopened does not. */
  isStart: boolean;
}>;

/** A limit that has no room left. `scope` says whose it is. */
export type ExceededLimit = Readonly<{
  scope: 'namespace' | 'definition';
  quota: 'maxConcurrentExecutions' | 'maxExecutionsPerMinute' | 'rateLimitConfig';
  limit: number;
  current: number;
  key?: string;
  /** When there will be room again, where that is known. */
  retryAfterMs?: number;
}>;

export type Admission =
  | Readonly<{ kind: 'admitted' }>
  | Readonly<{ kind: 'queued'; key: string }>
  | Readonly<{ kind: 'refused'; exceeded: ExceededLimit }>;

/** Runs that hold a place at a gate, and whether others wait for one. */
export type GateUse = { held: number; isAwaited: boolean };

/** What a namespace allows and what it has; a limit that is absent is none. */
export type QuotaUse = {
  concurrentMax: number | undefined;
  running: number;
  perMinuteMax: number | undefined;
  startedThisMinute: number;
  minuteEndsInMs: number;
};

/** How full everything is, read under the locks of all that is asked for. Changed in place by each answer. */
export type Occupancy = Readonly<{
  gates: ReadonlyMap<string, GateUse>;
  quotas: ReadonlyMap<Namespace, QuotaUse>;
}>;

export const gateKey = (namespace: Namespace, { kind, name, key }: Pick<Gate, 'kind' | 'name' | 'key'>): string =>
  JSON.stringify([kind, namespace, name, key]);

/**
 * Answers requests one after the other, so that several of one transaction share what room there is. What refuses goes
 * before what queues; a refused request takes nothing. Who finds others waiting waits behind them, whatever room there is.
 */
export const admit = (requests: readonly AdmissionRequest[], occupancy: Occupancy): readonly Admission[] =>
  requests.map((request) => admitOne(request, occupancy));

const admitOne = (request: AdmissionRequest, { gates, quotas }: Occupancy): Admission => {
  const { namespace, isStart } = request;
  const quota = quotas.get(namespace);
  const uses = request.gates.map((gate) => ({ gate, use: useOf(gates, namespace, gate) }));
  const exceeded =
    (quota === undefined ? undefined : exceededQuota(quota, isStart)) ??
    uses.map(({ gate, use }) => exceededGate(gate, use)).find((found) => found !== undefined);
  if (exceeded !== undefined) return { kind: 'refused', exceeded };
  if (quota !== undefined) {
    quota.running += 1;
    if (isStart) quota.startedThisMinute += 1;
  }
  let queuedAt: Gate | undefined;
  for (const { gate, use } of uses) {
    if (hasRoom(gate, use)) {
      use.held += 1;
    } else {
      use.isAwaited = true;
      queuedAt = gate;
    }
  }
  return queuedAt === undefined ? { kind: 'admitted' } : { kind: 'queued', key: queuedAt.key };
};

const useOf = (gates: Occupancy['gates'], namespace: Namespace, gate: Gate): GateUse =>
  gates.get(gateKey(namespace, gate)) ?? { held: 0, isAwaited: false };

const hasRoom = (gate: Gate, use: GateUse): boolean => use.held < gate.limit && !(gate.waits && use.isAwaited);

const exceededGate = (gate: Gate, use: GateUse): ExceededLimit | undefined => {
  if (gate.waits || hasRoom(gate, use)) return undefined;
  const found = { scope: 'definition', limit: gate.limit, current: use.held } as const;
  return gate.kind === 'KEY'
    ? { ...found, quota: 'rateLimitConfig', key: gate.key }
    : { ...found, quota: 'maxConcurrentExecutions' };
};

const exceededQuota = (quota: QuotaUse, isStart: boolean): ExceededLimit | undefined => {
  const { concurrentMax, running, perMinuteMax, startedThisMinute, minuteEndsInMs } = quota;
  if (concurrentMax !== undefined && running >= concurrentMax) {
    return { scope: 'namespace', quota: 'maxConcurrentExecutions', limit: concurrentMax, current: running };
  }
  if (!isStart || perMinuteMax === undefined || startedThisMinute < perMinuteMax) return undefined;
  return {
    scope: 'namespace',
    quota: 'maxExecutionsPerMinute',
    limit: perMinuteMax,
    current: startedThisMinute,
    retryAfterMs: minuteEndsInMs,
  };
};
