import type { TaskScheduled } from '../domain/execution/events.ts';
import { type Namespace, parseTaskId, type TaskId } from '../domain/kernel/brand.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../domain/kernel/json.ts';
import { callbackSecrets, matchesPayload, webhookOf } from '../domain/tasks/webhook.ts';
import type { CallbackSeal } from '../ports/callback-seal.ts';
import type { Clock } from '../ports/clock.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type { ExecutionIndex, WebhookWait } from '../ports/execution-index.ts';
import type { TaskDoors } from './task-doors.ts';
import type { FillSecrets } from './values/fill-secrets.ts';

export type CallbackDeps = Readonly<{
  engine: EngineStore;
  index: ExecutionIndex;
  doors: TaskDoors;
  seal: CallbackSeal;
  clock: Clock;
  secrets: FillSecrets;
}>;

/** A call as it came in: the bytes are what a signature is over, never JSON that was written anew. */
export type Callback = Readonly<{
  token: string;
  payload: JsonValue;
  bytes: Uint8Array;
  /** Seconds since the epoch, as the caller wrote them. */
  timestamp: string | undefined;
  signature: string | undefined;
}>;

/** How far the clock of a caller may be off, and how long a signed call can be sent again. */
export const CALLBACK_SKEW_MAX_MS = 300_000;
/** Tasks that one payload may end. */
export const WEBHOOK_MATCHES_MAX = 1_000;
const WAITS_PAGE = 500;

const BY = 'webhook';
const MS_PER_SECOND = 1_000;
const TIMESTAMP = /^\d{1,12}$/;
const SIGNATURE_PREFIX = 'sha256=';

/** Ends tasks by calls from outside that have no credentials but what they prove. Fails closed: what is not proven is refused. */
export class ReceiveCallbacks {
  private readonly deps: CallbackDeps;

  constructor(deps: CallbackDeps) {
    this.deps = deps;
  }

  /**
   * One call at the path of one task. It works once; the same payload again is answered like the first time. False for every
   * cause of refusal alike.
   */
  async callback(call: Callback): Promise<boolean> {
    const taskId = this.deps.seal.taskOf(call.token);
    const task = taskId === undefined ? undefined : await this.find(taskId);
    if (taskId === undefined || task === undefined || !(await this.isProven(task, call))) return false;
    return this.complete(task.namespace, taskId, call.payload);
  }

  /** A payload at a webhook of the namespace ends every task that asks for one like it. Returns how many. */
  async webhook(namespace: Namespace, webhook: string, payload: JsonValue): Promise<number> {
    const isFor = ({ input }: WebhookWait): boolean =>
      (webhookOf(input) ?? webhook) === webhook && matchesPayload(input, payload);
    const wanted = await this.waitsThat(namespace, isFor);
    let matched = 0;
    for (const { taskId } of wanted) if (await this.complete(namespace, taskId, payload)) matched += 1;
    return matched;
  }

  private async find(
    taskId: TaskId,
  ): Promise<Readonly<{ namespace: Namespace; scheduled: TaskScheduled }> | undefined> {
    const task = parseTaskId(taskId);
    if (task === undefined) return undefined;
    const found = await this.deps.engine.findEvent(task.executionId, task.scheduledSeq);
    if (found?.event.type !== 'TaskScheduled' || found.event.taskType !== 'WAIT_FOR_WEBHOOK') return undefined;
    return { namespace: found.namespace, scheduled: found.event };
  }

  private async isProven(
    { namespace, scheduled }: Readonly<{ namespace: Namespace; scheduled: TaskScheduled }>,
    { bytes, timestamp, signature }: Callback,
  ): Promise<boolean> {
    const filled = await this.deps.secrets.fillInput(namespace, scheduled.input, scheduled.deferred ?? []);
    const secrets = filled.ok ? callbackSecrets(filled.value.input) : undefined;
    if (secrets === undefined) return false;
    if (secrets.length === 0) return true;
    if (timestamp === undefined || !TIMESTAMP.test(timestamp) || signature?.startsWith(SIGNATURE_PREFIX) !== true) {
      return false;
    }
    const skewMs = Math.abs(this.deps.clock.now() - Number(timestamp) * MS_PER_SECOND);
    const digest = signature.slice(SIGNATURE_PREFIX.length);
    const isSigned = secrets.some((secret) => this.deps.seal.isSigned(secret, `${timestamp}.`, bytes, digest));
    return isSigned && skewMs <= CALLBACK_SKEW_MAX_MS;
  }

  private async complete(namespace: Namespace, taskId: TaskId, payload: JsonValue): Promise<boolean> {
    const output: JsonObject = isJsonObject(payload) ? payload : { payload };
    return (await this.deps.doors.complete(namespace, taskId, { status: 'COMPLETED', output }, BY)).ok;
  }

  private async waitsThat(
    namespace: Namespace,
    isFor: (wait: WebhookWait) => boolean,
  ): Promise<readonly WebhookWait[]> {
    const found: WebhookWait[] = [];
    for (let after: TaskId | undefined; ; ) {
      const page = await this.deps.index.webhookWaits(
        namespace,
        after === undefined ? { limit: WAITS_PAGE } : { limit: WAITS_PAGE, after },
      );
      found.push(...page.filter(isFor));
      after = page.at(-1)?.taskId;
      if (page.length < WAITS_PAGE || found.length >= WEBHOOK_MATCHES_MAX) return found.slice(0, WEBHOOK_MATCHES_MAX);
    }
  }
}
