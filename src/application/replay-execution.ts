import type { TaskDefinition } from '../domain/definition/task-definition.ts';
import { withoutUndefined } from '../domain/definition/without-undefined.ts';
import type { WorkflowEvent } from '../domain/execution/events.ts';
import type { MaskedKeys } from '../domain/execution/masking.ts';
import { previewLog } from '../domain/execution/preview.ts';
import { type Replay, type ReplayDifference, type ReplayEnvironment, replayLog } from '../domain/execution/replay.ts';
import { emptyState } from '../domain/execution/state.ts';
import type { ExecutionId, Namespace } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { DefinitionStore } from '../ports/definition-store.ts';
import { noExecution } from './control-execution.ts';
import type { DecisionDeps } from './decide-execution.ts';
import type { ResolveBundle } from './definitions/load-bundle.ts';
import type { PlanCache } from './definitions/plan-cache.ts';
import { offerPlans } from './fold-log.ts';
import { type MaskedReads, maskedEvents } from './masked-reads.ts';
import type { QueryExecutions } from './query-executions.ts';
import { noDefinition } from './start-run.ts';
import type { Outcome, ReplayedExecution } from './use-cases.ts';

export type ReplayDeps = DecisionDeps &
  Readonly<{
    queries: QueryExecutions;
    masks: MaskedReads;
    plans: PlanCache;
    definitions: DefinitionStore;
    resolveBundle: ResolveBundle;
  }>;

type Needs = Extract<Replay, { kind: 'needs' }>;

/** Derives what is on record of a run again, with its own version or another. It reads, and changes nothing. */
export class ReplayExecution {
  private readonly deps: ReplayDeps;

  constructor(deps: ReplayDeps) {
    this.deps = deps;
  }

  /** `version`: a preview with that one, as it would start now, instead of what the run is pinned to. Errors: NOT_FOUND. */
  async replay(namespace: Namespace, executionId: ExecutionId, version?: number): Outcome<ReplayedExecution> {
    const log = await this.deps.queries.wholeLog(namespace, executionId);
    const started = log[0]?.event;
    if (started?.type !== 'ExecutionStarted') return err(noExecution(executionId));
    const { name, definitionHash } = started;
    const hash =
      version === undefined ? definitionHash : (await this.deps.resolveBundle(namespace, name, version))?.hash;
    if (hash === undefined) return err(noDefinition(name, version));
    const plan = await this.deps.plans.planOf(hash, this.deps.definitions);
    const keys = await this.deps.masks.keysOf(definitionHash);
    const replayed = { executionId, name, version: plan.definition.version, recorded: log.length };
    if (version !== undefined) {
      const preview = await this.derive(namespace, async (given) =>
        previewLog(emptyState(executionId, plan), log, given),
      );
      const { events, unused, difference } = preview;
      const shown = { events: maskedEvents(events, keys), unused };
      return ok({ ...replayed, preview: shown, ...shownDifference(difference, keys) });
    }
    const replay = await this.derive(namespace, async (given) => {
      const state = emptyState(executionId, plan);
      await offerPlans(state, log, this.deps.plans, this.deps.definitions);
      return replayLog(state, log, given);
    });
    return ok({ ...replayed, ...shownDifference(replay.kind === 'differs' ? replay.difference : undefined, keys) });
  }

  /** Begins anew each time that a task definition turns out to be needed. */
  private async derive<A extends { readonly kind: string }>(
    namespace: Namespace,
    run: (environment: ReplayEnvironment) => Promise<A | Needs>,
  ): Promise<A> {
    const loaded = new Map<string, TaskDefinition | null>();
    const { evaluateScript, schemas, callbackToken, definitions } = this.deps;
    for (;;) {
      const answer = await run({
        evaluateScript,
        callbackToken,
        findViolation: (schema, value) => schemas.firstViolation(schema, value),
        taskDefinition: (name) => loaded.get(name),
      });
      if (!isNeeding(answer)) return answer;
      const found = await definitions.findTasks(namespace, answer.names);
      for (const name of answer.names) loaded.set(name, found.get(name)?.definition ?? null);
    }
  }
}

/** A read like every other: masked values stay masked. */
const shownDifference = (
  difference: ReplayDifference | undefined,
  keys: MaskedKeys,
): { readonly difference?: ReplayDifference } => {
  if (difference === undefined) return {};
  const { seq, recorded, derived } = difference;
  const shown = (event: WorkflowEvent | undefined) =>
    event === undefined ? undefined : maskedEvents([{ seq, event }], keys)[0]?.event;
  return { difference: withoutUndefined({ seq, recorded: shown(recorded), derived: shown(derived) }) };
};

const isNeeding = (answer: { readonly kind: string }): answer is Needs => answer.kind === 'needs';
