import { createCallbackSeal } from '../../src/adapters/keys/hmac-callback-seal.ts';
import { type ExecutionId, type TaskId, taskIdOf } from '../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../src/domain/kernel/json.ts';
import type { Chance } from '../support/chance.ts';
import type { DoorWatch } from './checkers/door-watch.ts';
import type { RunWatch } from './checkers/run-watch.ts';
import { type Call, NAMESPACE } from './clients.ts';
import type { FaultPlan } from './faults.ts';
import { WEBHOOK, WEBHOOK_PAYLOAD } from './generator.ts';
import { CALLBACK_KEY, type Server } from './server.ts';

export type DoorDeps = Readonly<{
  chance: Chance;
  faults: FaultPlan;
  call: Call;
  watch: (run: string) => RunWatch;
  doorWatch: DoorWatch;
  sometimes: Set<string>;
}>;

const PAST_MAX = 30;
const seal = createCallbackSeal(CALLBACK_KEY);

/** People, callers and senders: they end what nobody leases, early, late and twice. */
export class Doors {
  private readonly deps: DoorDeps;
  /** Tasks that they were once asked about. */
  private readonly past: TaskId[] = [];
  private sent = 0;

  constructor(deps: DoorDeps) {
    this.deps = deps;
  }

  /** Anything that may come in for a run, whether it waits for that or not. */
  knock(server: Server, run: ExecutionId): void {
    const { chance } = this.deps;
    const waiting = this.openOf(run);
    const kind = chance.next();
    if (kind < 0.3) return this.send(server, run);
    if (kind < 0.4) return this.payload(server);
    if (kind < 0.6 && this.past.length > 0) return this.answer(server, chance.pick(this.past), false);
    if (kind < 0.65) return this.answer(server, taskIdOf(run, this.deps.watch(run).seq + 1), false);
    const task = waiting.length === 0 ? undefined : chance.pick(waiting);
    if (task !== undefined) this.answer(server, task.taskId, task.type === 'WAIT_FOR_WEBHOOK');
  }

  /** Does what some open task of the run waits for; false: nothing of it waits for anybody here. */
  help(server: Server, run: ExecutionId): boolean {
    const { chance, watch } = this.deps;
    const waiting = this.openOf(run);
    if (waiting.length === 0) return false;
    const { taskId, type } = chance.pick(waiting);
    // What has a message and does not take it would wait for ever.
    if (type === 'PULL_WORKFLOW_MESSAGES' && watch(run).messages.length === 0) this.send(server, run);
    else if (type === 'WAIT_FOR_WEBHOOK' && chance.isBelow(0.3)) this.payload(server);
    else if (type !== 'PULL_WORKFLOW_MESSAGES') this.answer(server, taskId, type === 'WAIT_FOR_WEBHOOK');
    return true;
  }

  private openOf(run: ExecutionId): readonly Readonly<{ taskId: TaskId; type: string }>[] {
    return [...this.deps.watch(run).open.values()]
      .filter(({ event }) => BEHIND_DOORS.has(event.taskType))
      .map(({ seq, event }) => ({ taskId: taskIdOf(run, seq), type: event.taskType }));
  }

  /** Ends one task, by its id or by the token of its callback. */
  private answer(server: Server, taskId: TaskId, byToken: boolean): void {
    const { call, doorWatch, faults, sometimes } = this.deps;
    if (this.past.length < PAST_MAX) this.past.push(taskId);
    const output = { said: this.deps.chance.pick([1, 1, 2]) };
    if (byToken) {
      const token = seal.token(taskId);
      const callback = { token, payload: output, bytes: new Uint8Array(), timestamp: undefined, signature: undefined };
      return call(
        server,
        'callback',
        () => server.useCases.doors.callback(callback),
        (isTaken) => {
          if (isTaken) doorWatch.taken(taskId, { status: 'COMPLETED', output });
          sometimes.add(`callback ${isTaken ? 'accepted' : 'refused'}`);
        },
      );
    }
    const status = faults.happens('odd-answer') ? 'FAILED' : 'COMPLETED';
    const complete = () => server.useCases.doors.completeTask(NAMESPACE, taskId, { status, output }, 'person');
    call(server, 'complete', complete, (answer) => {
      if (answer.ok) doorWatch.taken(taskId, { status, output });
      sometimes.add(`complete ${answer.ok ? 'accepted' : answer.error.code}`);
    });
  }

  /** A payload at the webhook, for whoever asks for one like it. */
  private payload(server: Server): void {
    const { call, sometimes } = this.deps;
    const webhook = () => server.useCases.doors.webhook(NAMESPACE, WEBHOOK, WEBHOOK_PAYLOAD);
    call(server, 'webhook', webhook, (count) => {
      sometimes.add(count > 0 ? 'webhook accepted' : 'webhook for nobody');
    });
  }

  /** Every message is another one. */
  private send(server: Server, run: ExecutionId): void {
    const { call, doorWatch, sometimes } = this.deps;
    this.sent += 1;
    const payload: JsonObject = { message: this.sent };
    const send = () => server.useCases.doors.sendMessage(NAMESPACE, run, payload, 'sender');
    call(server, 'message', send, (answer) => {
      if (answer.ok) doorWatch.sent(run, answer.value.messageId);
      sometimes.add(`message ${answer.ok ? 'accepted' : answer.error.code}`);
    });
  }
}

const BEHIND_DOORS: ReadonlySet<string> = new Set(['HUMAN', 'WAIT_FOR_WEBHOOK', 'PULL_WORKFLOW_MESSAGES']);
