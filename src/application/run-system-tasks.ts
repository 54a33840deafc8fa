import { SYSTEM_QUEUE } from '../domain/execution/queues.ts';
import { fnv1a32 } from '../domain/kernel/hash.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/kernel/json.ts';
import type { Result } from '../domain/kernel/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineStore, LeasedTask, TaskReport } from '../ports/engine-store.ts';
import type { Ids } from '../ports/ids.ts';
import type { TaskSandbox, TaskScriptProblem } from '../ports/script-sandbox.ts';
import type { HeldLeases } from './held-leases.ts';
import type { ReleaseLeases } from './release-leases.ts';
import type { ReportTasks } from './report-tasks.ts';
import type { Finished, TasksOfOtherRuns } from './tasks-of-other-runs.ts';
import type { FilledTask, FillSecrets } from './values/fill-secrets.ts';
import { redacted } from './values/redact.ts';

export type SystemTaskDeps = Readonly<{
  engine: EngineStore;
  reports: ReportTasks;
  release: ReleaseLeases;
  held: HeldLeases;
  sandbox: TaskSandbox;
  secrets: FillSecrets;
  others: TasksOfOtherRuns;
  ids: Ids;
  clock: Clock;
  workerId: string;
}>;

/** System tasks one process leases at a time, and how long one script or program may take. */
const SYSTEM_BATCH_MAX = 16;
const SCRIPT_TIMEOUT_MS = 4_000;
/** Above what a whole batch can take on a single thread, so that no lease ends while its script still runs. */
const SYSTEM_LEASE_MS = SYSTEM_BATCH_MAX * SCRIPT_TIMEOUT_MS + 10_000;

/** Runs the tasks that the server does itself beside the passes: leased, fenced and reported like any worker's task. */
export class RunSystemTasks {
  private readonly deps: SystemTaskDeps;

  constructor(deps: SystemTaskDeps) {
    this.deps = deps;
  }

  async runOnce(): Promise<number> {
    const tasks = await this.deps.engine.leaseTasks({
      namespace: undefined,
      queues: [SYSTEM_QUEUE],
      workerId: this.deps.workerId,
      count: SYSTEM_BATCH_MAX,
      leaseMs: SYSTEM_LEASE_MS,
      tokens: Array.from({ length: SYSTEM_BATCH_MAX }, () => this.deps.ids.leaseToken()),
    });
    this.deps.held.remember(tasks);
    await Promise.all(tasks.map((task) => this.run(task)));
    return tasks.length;
  }

  private async run(task: LeasedTask): Promise<void> {
    const filled = await this.deps.secrets.fill(task);
    const finished = filled.ok ? await this.executeFilled(filled.value) : filled.error;
    if (finished === undefined) {
      await this.deps.release.release([task]);
      return;
    }
    const report: TaskReport = { taskId: task.taskId, leaseToken: task.leaseToken, ...finished };
    await this.deps.reports.report(task.namespace, [report]);
  }

  private async executeFilled({ task, secrets }: FilledTask): Promise<Finished | undefined> {
    const finished = await this.execute(task);
    return finished === undefined ? undefined : redacted(finished, secrets);
  }

  /** Undefined: the sandbox had no room, which is no fault of the task; it goes back to the queue. */
  private async execute(task: LeasedTask): Promise<Finished | undefined> {
    const input = isJsonObject(task.input) ? task.input : {};
    switch (task.taskType) {
      case 'INLINE':
        return this.inline(task, input);
      case 'LAMBDA':
        return this.script(task, input, input.scriptExpression);
      case 'JSON_JQ_TRANSFORM':
        return this.jq(input);
      case 'GET_WORKFLOW':
        return this.deps.others.getWorkflow(task, input);
      case 'TERMINATE_WORKFLOW':
        return this.deps.others.terminateWorkflow(task, input);
      case 'UPDATE_TASK':
        return this.deps.others.updateTask(task, input);
      default:
        return terminal(`This version runs no system task of type ${task.taskType}.`);
    }
  }

  private async inline(task: LeasedTask, input: JsonObject): Promise<Finished | undefined> {
    const evaluator = input.evaluatorType ?? 'javascript';
    const expression = input.expression;
    if (evaluator === 'value-param') {
      const name = typeof expression === 'string' ? expression : '';
      return { status: 'COMPLETED', output: { result: input[name] ?? null } };
    }
    if (evaluator !== 'javascript' && evaluator !== 'graaljs') {
      return terminal(`evaluatorType ${JSON.stringify(evaluator)} is none of javascript, graaljs, value-param.`);
    }
    return this.script(task, input, expression);
  }

  private async script(
    task: LeasedTask,
    input: JsonObject,
    source: JsonValue | undefined,
  ): Promise<Finished | undefined> {
    if (typeof source !== 'string' || source.trim() === '') return terminal('The task has no script.');
    const result = await this.deps.sandbox.runScript({
      source,
      bindings: input,
      // A source that is a program stays one; only a `return` of its own makes it a function's body.
      wrap: 'function',
      nowMs: this.deps.clock.now(),
      seed: fnv1a32(task.taskId),
      timeoutMs: SCRIPT_TIMEOUT_MS,
    });
    return finishedOf(result, (value) => ({ result: value }));
  }

  private async jq(input: JsonObject): Promise<Finished | undefined> {
    const query = input.queryExpression;
    if (typeof query !== 'string') return terminal('The task has no queryExpression.');
    const result = await this.deps.sandbox.runJq({ query, input, timeoutMs: SCRIPT_TIMEOUT_MS });
    return finishedOf(result, (value) => ({ result: value.result, resultList: value.resultList }));
  }
}

const finishedOf = <T>(
  result: Result<T, TaskScriptProblem>,
  outputOf: (value: T) => JsonObject,
): Finished | undefined => {
  if (result.ok) return { status: 'COMPLETED', output: outputOf(result.value) };
  if (result.error.code === 'SANDBOX_UNAVAILABLE') return undefined;
  return terminal(`${result.error.code}: ${result.error.message}`);
};

/** The same script on the same input fails again: there is nothing to retry. */
const terminal = (reason: string): Finished => ({
  status: 'FAILED_WITH_TERMINAL_ERROR',
  output: { error: reason },
  reason,
});
