import { isClosedExecution } from '../../src/domain/execution/statuses.ts';
import { keyOf } from '../../src/domain/execution/task-key.ts';
import type { ExecutionId } from '../../src/domain/kernel/brand.ts';
import type { Chance } from '../support/chance.ts';
import { drawAction, REOPENING_ACTIONS } from './actions.ts';
import type { Catalogue } from './catalogue.ts';
import type { RunWatch } from './checkers/run-watch.ts';
import { type Call, NAMESPACE } from './clients.ts';
import type { Doors } from './doors.ts';
import type { Server } from './server.ts';
import type { Database } from './store/database.ts';
import type { ExecutionRecord } from './store/rows.ts';

/** Every retry of a failing run may start others: no more of them than these. */
const RUNS_MAX = 8;
const RUNS_WITH_CHILDREN_MAX = 16;

const KINDS = ['pause', 'resume', 'resume', 'terminate', 'retry', 'retry', 'signal', 'decide'] as const;
type Kind = (typeof KINDS)[number];

export type OperatorDeps = Readonly<{
  database: Database;
  catalogue: Catalogue;
  chance: Chance;
  call: Call;
  watch: (run: string) => RunWatch;
  sometimes: Set<string>;
  hasChildren: boolean;
  hasActions: boolean;
  hasDoors: boolean;
  doors: Doors;
}>;

/** What operators ask of runs, at any moment and for no reason; and, once all is well, what gets every run to its end. */
export class Operators {
  private readonly deps: OperatorDeps;
  isHealing = false;

  constructor(deps: OperatorDeps) {
    this.deps = deps;
  }

  private get runs(): readonly ExecutionRecord[] {
    return [...this.deps.database.tables.executions.committed()];
  }

  /** Anything that an operator may ask of a run. */
  operate(server: Server): void {
    const { chance } = this.deps;
    const { runs } = this;
    if (runs.length === 0) return;
    if (this.deps.hasDoors && chance.isBelow(0.4)) return this.deps.doors.knock(server, chance.pick(runs).executionId);
    const hasRoom = runs.length <= (this.deps.hasChildren ? RUNS_WITH_CHILDREN_MAX : RUNS_MAX);
    const failed = runs.filter((row) => row.status === 'FAILED');
    if (failed.length > 0 && hasRoom && chance.isBelow(0.3)) {
      return this.ask(server, chance.pick(failed).executionId, 'retry');
    }
    if (this.deps.hasActions && chance.isBelow(0.7)) return this.act(server, chance.pick(runs), hasRoom);
    const kind = chance.pick(KINDS);
    if (kind !== 'retry' || hasRoom) this.ask(server, chance.pick(runs).executionId, kind);
  }

  /** Changes the course of a run. */
  private act(server: Server, { executionId, name }: ExecutionRecord, hasRoom: boolean): void {
    const { catalogue, chance, call, sometimes, watch } = this.deps;
    const action = drawAction(chance, watch(executionId).slots, catalogue.refsOf(name));
    if (REOPENING_ACTIONS.has(action.type) && !hasRoom) return;
    const work = () => server.useCases.executions.operate(NAMESPACE, executionId, action, { by: 'operator' });
    call(server, action.type, work, (answer) => {
      sometimes.add(`${action.type} ${answer.ok ? 'accepted' : answer.error.code}`);
    });
  }

  private ask(server: Server, id: ExecutionId, kind: Kind): void {
    const { catalogue, chance, call, hasChildren, sometimes } = this.deps;
    const { executions } = server.useCases;
    const isEarly = kind === 'signal' && !this.isHealing && chance.isBelow(0.4);
    const ref = isEarly ? catalogue.anyWait(chance) : this.waitOf(id);
    const resumesChildren = hasChildren && kind === 'retry' && chance.isBelow(0.5);
    const work = (): Promise<unknown> => {
      if (kind === 'signal')
        return executions.signal(NAMESPACE, id, { ...ref, status: 'COMPLETED', output: {} }, 'operator');
      if (kind === 'decide') return executions.decide(NAMESPACE, id);
      if (kind === 'retry') return executions.retry(NAMESPACE, id, 'operator', undefined, resumesChildren);
      return executions[kind](NAMESPACE, id, 'operator');
    };
    call(server, kind, work, (answer) => {
      const { ok, error } = answer as { ok: boolean; error?: { code: string } };
      sometimes.add(`${kind} ${ok ? 'accepted' : error?.code}`);
      if (resumesChildren && ok) sometimes.add('retry with its children accepted');
    });
  }

  /** A wait of the run that nothing but a signal ends; else any signal will do. */
  private waitOf(id: ExecutionId): { ref?: string } {
    for (const { event } of this.deps.watch(id).open.values()) {
      if (event.taskType === 'WAIT' && event.fireAt === undefined) return { ref: keyOf(event) };
    }
    return {};
  }

  /**
   * A run is over when what must come of it has come. A child is over however it ended: what its parent made of that is what
   * counts, and the parent may have another by now.
   */
  hasEnded(row: ExecutionRecord): boolean {
    const isCalculated = this.deps.catalogue.find(row.name)?.expected !== undefined;
    if (isCalculated && row.parentExecutionId === undefined) return row.status === 'COMPLETED';
    return isClosedExecution(row.status);
  }

  get open(): readonly ExecutionRecord[] {
    return this.runs.filter((row) => !this.hasEnded(row));
  }

  /** Does for one run what it cannot do for itself. */
  help(server: Server): void {
    const { open } = this;
    if (open.length === 0) return;
    const { chance } = this.deps;
    const row = chance.pick(open);
    if (row.status === 'PAUSED') this.ask(server, row.executionId, 'resume');
    else if (row.status !== 'RUNNING') this.ask(server, this.failedChildOf(row) ?? row.executionId, 'retry');
    else if (chance.isBelow(0.5) && this.deps.doors.help(server, row.executionId)) return;
    else if (this.waitOf(row.executionId).ref !== undefined) this.ask(server, row.executionId, 'signal');
  }

  /** A run that failed comes back by itself, or because a child of it does. */
  private failedChildOf({ executionId }: ExecutionRecord): ExecutionId | undefined {
    const { chance, hasChildren } = this.deps;
    if (!hasChildren || chance.isBelow(0.7)) return undefined;
    const failed = this.runs.filter((row) => row.parentExecutionId === executionId && row.status === 'FAILED');
    return failed.length === 0 ? undefined : chance.pick(failed).executionId;
  }
}
