import type { DeferredReference } from '../../domain/expression/evaluate.ts';
import { fillDeferred, secretsToFill } from '../../domain/expression/fill-deferred.ts';
import { type Namespace, parseTaskId } from '../../domain/kernel/brand.ts';
import type { JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { EngineStore, LeasedTask } from '../../ports/engine-store.ts';
import type { NamedValueStore } from '../../ports/named-values.ts';
import type { SecretSeal } from '../../ports/secret-seal.ts';
import type { ReportTasks } from '../report-tasks.ts';
import type { Finished } from '../tasks-of-other-runs.ts';

export type FillSecretsDeps = Readonly<{
  engine: EngineStore;
  values: NamedValueStore;
  seal: SecretSeal;
  reports: ReportTasks;
}>;

/** A task as its holder gets it, and the secrets that are in it now. */
export type FilledTask = Readonly<{ task: LeasedTask; secrets: readonly string[] }>;

/** What a secret belongs to: a copy of its row in another namespace, or under another name, does not open. */
export const secretContext = (namespace: Namespace, name: string): string => `${namespace}/secret/${name}`;

/** Almost no input has a text like this, so almost no lease has to look any further. */
const mayHoldReference = (value: JsonValue): boolean => {
  if (typeof value === 'string') return value.includes('${');
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value as Readonly<Record<string, JsonValue>>).some(mayHoldReference);
};

/**
 * Puts secrets into the copy of an input that its holder gets, and nowhere else: in the row of the task, in the log and in
 * every read they stay the reference that they are. Which texts are references is told by the fact that scheduled the task.
 */
export class FillSecrets {
  private readonly deps: FillSecretsDeps;

  constructor(deps: FillSecretsDeps) {
    this.deps = deps;
  }

  /** What can be handed out; a task whose secrets are not to be had ends here, with the reason. */
  async fillAll(tasks: readonly LeasedTask[]): Promise<readonly LeasedTask[]> {
    if (!tasks.some(({ input }) => mayHoldReference(input))) return tasks;
    const handed: LeasedTask[] = [];
    for (const task of tasks) {
      const filled = await this.fill(task);
      if (filled.ok) handed.push(filled.value.task);
      else await this.end(task, filled.error);
    }
    return handed;
  }

  async fill(task: LeasedTask): Promise<Result<FilledTask, Finished>> {
    if (!mayHoldReference(task.input)) return ok({ task, secrets: [] });
    const filled = await this.fillInput(task.namespace, task.input, await this.deferredOf(task));
    return filled.ok ? ok({ task: { ...task, input: filled.value.input }, secrets: filled.value.secrets }) : filled;
  }

  async fillInput(
    namespace: Namespace,
    input: JsonValue,
    deferred: readonly DeferredReference[],
  ): Promise<Result<Readonly<{ input: JsonValue; secrets: readonly string[] }>, Finished>> {
    const names = deferred.length === 0 ? [] : [...secretsToFill(input, deferred)];
    if (names.length === 0) return ok({ input, secrets: [] });
    const opened = await this.open(namespace, names);
    if (!opened.ok) return opened;
    const filled = fillDeferred(input, deferred, opened.value);
    if (filled.ok) return ok({ input: filled.value, secrets: [...opened.value.values()] });
    return err(failure('FAILED_WITH_TERMINAL_ERROR', `SECRET_INVALID: ${filled.error}`));
  }

  /** The secrets of a namespace by name, all of them or none. */
  private async open(
    namespace: Namespace,
    names: readonly string[],
  ): Promise<Result<ReadonlyMap<string, string>, Finished>> {
    const rows = await this.deps.values.findValues(namespace, 'SECRET', names);
    const sealed = new Map(rows.map(({ name, value }) => [name, value]));
    const texts = new Map<string, string>();
    for (const name of names) {
      const value = sealed.get(name);
      if (value === undefined)
        return err(failure('FAILED_WITH_TERMINAL_ERROR', `SECRET_NOT_FOUND: There is no secret ${name}.`));
      const text = this.deps.seal.open(value, secretContext(namespace, name));
      if (!text.ok) return err(unreadable(name, text.error));
      texts.set(name, text.value);
    }
    return ok(texts);
  }

  private async deferredOf({ taskId }: LeasedTask): Promise<readonly DeferredReference[]> {
    const task = parseTaskId(taskId);
    if (task === undefined) return [];
    const scheduled = await this.deps.engine.findEvent(task.executionId, task.scheduledSeq);
    return scheduled?.event.type === 'TaskScheduled' ? (scheduled.event.deferred ?? []) : [];
  }

  private async end({ taskId, leaseToken, namespace }: LeasedTask, finished: Finished): Promise<void> {
    await this.deps.reports.report(namespace, [{ taskId, leaseToken, ...finished }]);
  }
}

const failure = (status: Finished['status'], reason: string): Finished => ({ status, output: {}, reason });

/** A process that has the key may take the next attempt; a broken seal stays broken. */
const unreadable = (name: string, problem: 'NO_KEY' | 'BROKEN'): Finished =>
  problem === 'NO_KEY'
    ? failure('FAILED', `SECRET_UNREADABLE: This server has no key that opens the secret ${name}.`)
    : failure('FAILED_WITH_TERMINAL_ERROR', `SECRET_UNREADABLE: The secret ${name} was not sealed by this service.`);
