import type { ExecutionStatus } from '../domain/execution/statuses.ts';
import type { ExecutionId, Instant } from '../domain/kernel/brand.ts';
import type {
  DecisionReads,
  DefinitionReads,
  EngineStore,
  IdempotencyClaim,
  LeasedTask,
  SteppedRuns,
} from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { PinnedDefinition, RunStart } from '../ports/run-start.ts';
import { STEP_RUNS_MAX } from './advance-runs.ts';
import { Batcher } from './batcher.ts';
import { decisionReads } from './decision-reads.ts';
import { Offers } from './offers.ts';
import { OwedWork } from './owed.ts';
import type { ParkedPolls } from './parked-polls.ts';
import { type BeginDeps, decideFirst, type Entrant, entrantOf, newExecution, type ReadyStart } from './start-run.ts';
import type { StoreClock } from './store-clock.ts';

export type ShortStartDeps = BeginDeps &
  Readonly<{
    engine: EngineStore;
    definitions: DefinitionReads;
    polls: ParkedPolls;
    clock: StoreClock;
    ids: Ids;
  }>;

/** A start whose definitions are those that an earlier one found. */
export type KnownStart = Readonly<{ ready: ReadyStart; pinned: PinnedDefinition; claim?: IdempotencyClaim }>;

const SHORT_FLIGHTS_MAX = 4;
/** Task definitions that the store compares for one start; a definition that names more takes the longer road. */
export const PINNED_TASKS_MAX = 50;

/** One run on its way: its state, and what its first step has to write. */
type Beginning = Readonly<{ start: RunStart; entrant: Entrant; owed: OwedWork; offers: Offers }>;

/**
 * The short road of a start: where its definitions are known from an earlier one, they are compared, and the run, its first
 * facts and the leases of its first tasks to polls that wait for them are written, in one statement. It is only ever a
 * short cut: nothing is written from definitions that have changed, and what is left alone takes the longer road.
 */
export class ShortStart {
  private readonly deps: ShortStartDeps;
  private readonly reads: DecisionReads;
  private readonly batcher: Batcher<KnownStart, ExecutionStatus | undefined>;

  constructor(deps: ShortStartDeps) {
    this.deps = deps;
    this.reads = decisionReads(deps.engine, deps.definitions);
    this.batcher = new Batcher({
      run: (starts) => this.begin(starts),
      sizeMax: 10 * STEP_RUNS_MAX,
      inFlightMax: SHORT_FLIGHTS_MAX,
    });
  }

  /** The status in which the run began; undefined: nothing of it is on record, and it takes the longer road. */
  async start(start: KnownStart): Promise<ExecutionStatus | undefined> {
    return start.pinned.tasks.length > PINNED_TASKS_MAX ? undefined : this.batcher.submit(start);
  }

  private async begin(starts: readonly KnownStart[]): Promise<readonly (ExecutionStatus | undefined)[]> {
    const now = this.deps.clock.now();
    // Many at a time are cheaper on the longer road, as with reports.
    if (now === undefined || starts.length > STEP_RUNS_MAX) return starts.map(() => undefined);
    const beginnings: Beginning[] = [];
    for (const start of starts) {
      const beginning = await this.decide(start, now);
      if (beginning !== undefined) beginnings.push(beginning);
    }
    const begun = beginnings.length === 0 ? new Map<ExecutionId, ExecutionStatus>() : await this.write(beginnings);
    return starts.map(({ ready }) => begun.get(ready.executionId));
  }

  /** Undefined: this start takes the longer road. */
  private async decide({ ready, pinned, claim }: KnownStart, now: Instant): Promise<Beginning | undefined> {
    const entrant = entrantOf(ready, now);
    if (!entrant.ok || entrant.value.gates.length > 0) return undefined;
    const owed = new OwedWork();
    try {
      await decideFirst(this.deps, this.reads, entrant.value, undefined, now, owed);
    } catch {
      // What cannot be decided is told by the longer road.
      return undefined;
    }
    if (!owed.fitsAStep()) return undefined;
    const { executionId, namespace } = ready;
    const offers = new Offers(this.deps.polls, this.deps.ids);
    const step = owed.step(executionId, namespace, [], (task) => offers.leaseFor(namespace, task, now));
    if (step.projection !== undefined || step.endsWork) {
      offers.settle(new Map());
      return undefined;
    }
    const start = { execution: newExecution(ready, now), pinned, step, ...(claim === undefined ? {} : { claim }) };
    return { start, entrant: entrant.value, owed, offers };
  }

  private async write(beginnings: readonly Beginning[]): Promise<ReadonlyMap<ExecutionId, ExecutionStatus>> {
    let written: SteppedRuns = { stepped: new Set(), leased: [] };
    const begun = new Map<ExecutionId, ExecutionStatus>();
    try {
      written = await this.deps.engine.startRuns(beginnings.map(({ start }) => start));
      if (written.now !== undefined) this.deps.clock.read(written.now);
    } finally {
      for (const beginning of beginnings) {
        const { state } = beginning.entrant;
        const isWritten = written.stepped.has(state.executionId);
        this.end(beginning, isWritten, written.leased);
        const { status } = state.lifecycle;
        if (isWritten && status !== 'NEW') begun.set(state.executionId, status);
      }
    }
    return begun;
  }

  private end({ entrant, owed, offers }: Beginning, isWritten: boolean, leased: readonly LeasedTask[]): void {
    const mine = new Map(isWritten ? leased.map((task) => [task.taskId, task]) : []);
    offers.settle(mine);
    if (!isWritten) return;
    this.deps.cache.put(entrant.state);
    this.deps.wake.publish(owed.topics(({ taskId }) => mine.has(taskId)));
    const now = this.deps.clock.now();
    if (now !== undefined) this.deps.delayed.schedule(owed.laterTopics(now), now);
  }
}
