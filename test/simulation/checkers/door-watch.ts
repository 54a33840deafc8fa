import type { WorkflowEvent } from '../../../src/domain/execution/events.ts';
import { type ExecutionId, parseTaskId, type TaskId } from '../../../src/domain/kernel/brand.ts';
import { canonicalJson } from '../../../src/domain/kernel/canonical-json.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import type { Database } from '../store/database.ts';
import { attemptKey, queueKey } from '../store/rows.ts';
import type { Violations } from './violation.ts';

type Answer = Readonly<{ status: string; output: JsonObject }>;

/** 24: what was taken at a door is a fact, once: an answer that ended its task, a message that arrived. */
export class DoorWatch {
  private readonly database: Database;
  private readonly violations: Violations;
  private readonly answers = new Map<TaskId, Answer>();
  private readonly messages = new Map<string, ExecutionId>();

  constructor(database: Database, violations: Violations) {
    this.database = database;
    this.violations = violations;
  }

  /** Said again it is answered alike; another answer is refused. */
  taken(taskId: TaskId, answer: Answer): void {
    const before = this.answers.get(taskId);
    if (before !== undefined && canonicalJson(before) !== canonicalJson(answer)) {
      this.violations.add('24', `${taskId} was ended twice: ${canonicalJson(before)} and ${canonicalJson(answer)}`);
    }
    this.answers.set(taskId, answer);
  }

  sent(run: ExecutionId, messageId: string): void {
    this.messages.set(messageId, run);
  }

  checkEnd(): void {
    for (const [taskId, answer] of this.answers) this.checkAnswer(taskId, answer);
    this.checkMessages();
  }

  private checkAnswer(taskId: TaskId, { status, output }: Answer): void {
    const key = parseTaskId(taskId);
    const { events } = this.database.tables;
    const scheduled = key && events.find(queueKey(key.executionId, key.scheduledSeq))?.committed?.event;
    if (key === undefined || scheduled?.type !== 'TaskScheduled') {
      return this.violations.add('24', `${taskId} was ended and never scheduled`);
    }
    const closing = events
      .committedOf(key.executionId)
      .map(({ event }) => event)
      .filter((event): event is Extract<WorkflowEvent, { type: 'TaskClosed' }> => event.type === 'TaskClosed')
      .find((event) => attemptKey(event) === attemptKey(scheduled));
    const isExcused = closing?.status === 'COMPLETED_WITH_ERRORS' && status === 'FAILED';
    const isFact = closing !== undefined && canonicalJson(closing.output) === canonicalJson(output);
    if (isFact && (isExcused || closing.status === status)) return;
    this.violations.add('24', `the answer ${status} to ${taskId} is not the fact ${JSON.stringify(closing)}`);
  }

  /** No two are alike, so none may arrive twice; and those that were acknowledged have arrived. */
  private checkMessages(): void {
    const arrived = new Set<string>();
    const payloads = new Set<string>();
    for (const { executionId, event } of this.database.tables.events.committed()) {
      if (event.type !== 'MessageReceived') continue;
      arrived.add(`${executionId} ${event.id}`);
      const payload = canonicalJson(event.payload);
      if (payloads.has(payload)) this.violations.add('24', `the message ${payload} arrived twice`);
      payloads.add(payload);
    }
    for (const [id, run] of this.messages) {
      if (!arrived.has(`${run} ${id}`)) this.violations.add('24', `the message ${id} to ${run} is lost`);
    }
  }
}
