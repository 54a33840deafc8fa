import { z } from 'zod';
import { EVENT_DEPTH_MAX, type EventHandler } from '../domain/event-handler/event-handler.ts';
import { judgeMessage } from '../domain/event-handler/judge-message.ts';
import type { ResolvedAction } from '../domain/event-handler/resolved-action.ts';
import type { ExecutionRequest } from '../domain/execution/requests.ts';
import type { EvaluateScript } from '../domain/execution/script.ts';
import type { ExecutionId, Instant, Namespace } from '../domain/kernel/brand.ts';
import { derivedExecutionId } from '../domain/kernel/derived-id.ts';
import { isJsonObject, type JsonObject } from '../domain/kernel/json.ts';
import type { EngineTx, Owed, PublishMessage } from '../ports/engine-store.ts';
import type { NewEventHandlerRun } from '../ports/event-handler-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { Evaluator } from './evaluate-executions.ts';
import { type AfterCommit, type InternalHandler, nothingMore, Undeliverable } from './message-handler.ts';
import type { StartInTransaction } from './start-in-transaction.ts';

/** Events kept of one name of the internal sink of a namespace; the oldest go. */
export const INTERNAL_EVENTS_KEPT_MAX = 1_000;
/** Entries kept of the log of one handler; the oldest go. */
export const EVENT_HANDLER_RUNS_KEPT_MAX = 1_000;
/** How long an id is remembered that a message was acted upon under: a day. */
export const EVENT_DEDUPE_KEPT_MS = 86_400_000;

const json = z.custom<JsonObject>(isJsonObject);

/** An event as it was sent to the internal sink. */
const sentEvent = z.object({ messageId: z.string(), sink: z.string(), payload: json, depth: z.int().optional() });

/** What one handler is owed of an event. */
const handedEvent = z.object({
  handler: z.string(),
  event: z.string(),
  messageId: z.string(),
  payload: json,
  depth: z.int(),
  at: z.custom<Instant>((at) => typeof at === 'number'),
});
type HandedEvent = z.output<typeof handedEvent>;

export type HandleEventsDeps = Readonly<{
  starts: StartInTransaction;
  evaluator: Pick<Evaluator, 'requestIn'>;
  evaluateScript: EvaluateScript;
  wake: WakeSignal;
}>;

export type SentEvent = Readonly<{
  namespace: Namespace;
  /** Whose messages it is ordered with: the run that sent it, or a name of its own. */
  line: ExecutionId;
  /** The run that sent it. */
  executionId?: ExecutionId;
  event: string;
  messageId: string;
  payload: JsonObject;
  depth: number;
}>;

/** Records an event, and owes it to each handler that listens: one message each, so that none stands in another's way. */
export const handOut = async (tx: EngineTx, sent: SentEvent): Promise<number> => {
  const { namespace, line, executionId, event, messageId, payload, depth } = sent;
  const handlers = await tx.handlersOf(namespace, event);
  const from = executionId === undefined ? {} : { executionId };
  if (handlers.length > 0) {
    const { now } = await tx.lookUpRun(line);
    await tx.putMessages(
      handlers.map(({ name }) => handed(sent, { handler: name, event, messageId, payload, depth, at: now })),
    );
  }
  await tx.recordInternalEvent({ namespace, ...from, sink: event, messageId, payload }, INTERNAL_EVENTS_KEPT_MAX);
  return handlers.length;
};

const handed = ({ namespace, line }: SentEvent, payload: HandedEvent): Owed<PublishMessage> => ({
  namespace,
  executionId: line,
  item: {
    type: 'PublishMessage',
    topic: 'handle-event',
    dedupKey: `handle/${payload.messageId}/${payload.handler}`,
    orderingKey: `${line}/handle/${payload.handler}`,
    payload,
  },
});

const runsOf = (actions: readonly ResolvedAction[]): readonly ExecutionId[] => [
  ...new Set(
    actions.flatMap((action) => {
      if (action.type === 'START_WORKFLOW') return [];
      return ['task' in action ? action.task.executionId : action.executionId];
    }),
  ),
];

const requestOf = (action: Exclude<ResolvedAction, { type: 'START_WORKFLOW' }>, by: string): ExecutionRequest => {
  switch (action.type) {
    case 'COMPLETE_TASK':
    case 'FAIL_TASK': {
      const { task, output, reason } = action;
      const named = 'ref' in task ? { ref: task.ref } : { scheduledSeq: task.scheduledSeq };
      const status = action.type === 'COMPLETE_TASK' ? 'COMPLETED' : 'FAILED';
      const told = reason === undefined ? {} : { reason };
      return { type: 'CompleteTask', ...named, status, output, by, ofWorkersToo: true, ...told };
    }
    case 'TERMINATE_WORKFLOW':
      return { type: 'Terminate', by, reason: action.reason ?? `terminated by ${by}` };
    case 'UPDATE_VARIABLES':
      return { type: 'SetVariables', by, variables: action.variables, appends: action.appends };
    case 'SIGNAL': {
      const { ref, status, output } = action;
      return { type: 'Signal', status, output, by, ...(ref === undefined ? {} : { ref }) };
    }
  }
};

/** A run that has ended is past what was meant for it, and that is no fault: said in the log, and not tried again. */
const ALREADY_ENDED = 'TERMINAL_STATE';

/** What the events of runs, and those from outside, set going: each handler of each in a transaction of its own. */
export class HandleEvents {
  private readonly deps: HandleEventsDeps;

  constructor(deps: HandleEventsDeps) {
    this.deps = deps;
  }

  /** An event that a run sent to the internal sink. */
  readonly sent: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { namespace, executionId, payload: message }) => {
      const { messageId, sink: event, payload, depth = 0 } = sentEvent.parse(message);
      const line = executionId;
      const handlers = await handOut(tx, { namespace, line, executionId, event, messageId, payload, depth });
      return handlers === 0 ? nothingMore : () => this.deps.wake.publish(['outbox']);
    },
  };

  /**
   * One event, by one handler: its effects and the end of the message commit together. What is refused is a dead letter at
   * once and changes nothing; it can be sent again when its cause is mended.
   */
  readonly handed: InternalHandler = {
    kind: 'internal',
    handle: async (tx, { namespace, payload }) => {
      const message = handedEvent.parse(payload);
      const handler = await tx.findHandler(namespace, message.handler);
      // Deleted, or set to rest, since the event was sent.
      if (handler?.active !== true) return nothingMore;
      return this.act(tx, namespace, handler, message);
    },
    failed: async (tx, { namespace, payload }, reason) => {
      await record(tx, namespace, handedEvent.parse(payload), { state: 'FAILED', reason, actions: [] });
    },
  };

  private async act(
    tx: EngineTx,
    namespace: Namespace,
    handler: EventHandler,
    message: HandedEvent,
  ): Promise<AfterCommit> {
    const judged = judgeMessage(handler, message, this.deps.evaluateScript);
    if (!judged.ok) throw new Undeliverable(judged.error);
    const { holds, dedupeId, actions } = judged.value;
    if (!holds) {
      await record(tx, namespace, message, { state: 'PASSED_OVER', actions: [] });
      return nothingMore;
    }
    await lockRuns(tx, namespace, runsOf(actions));
    if (dedupeId !== undefined) {
      const dedupe = { namespace, handler: handler.name, dedupeId };
      if (!(await tx.claimEventDedupe(dedupe, EVENT_DEDUPE_KEPT_MS))) {
        await record(tx, namespace, message, { state: 'DUPLICATE', reason: `Of the id ${dedupeId}.`, actions: [] });
        return nothingMore;
      }
    }
    const done: JsonObject[] = [];
    const afterCommits: AfterCommit[] = [];
    for (const [index, action] of actions.entries()) {
      const { entry, afterCommit } = await this.perform(tx, namespace, handler, message, action, index);
      done.push(entry);
      afterCommits.push(afterCommit);
    }
    await record(tx, namespace, message, { state: 'ACTED', actions: done });
    return () => {
      for (const afterCommit of afterCommits) afterCommit();
    };
  }

  private async perform(
    tx: EngineTx,
    namespace: Namespace,
    handler: EventHandler,
    message: HandedEvent,
    action: ResolvedAction,
    index: number,
  ): Promise<Readonly<{ entry: JsonObject; afterCommit: AfterCommit }>> {
    if (action.type === 'START_WORKFLOW') return this.start(tx, namespace, message, action, index);
    const executionId = 'task' in action ? action.task.executionId : action.executionId;
    const request = requestOf(action, `event handler ${handler.name}`);
    const { rejection, announce } = await this.deps.evaluator.requestIn(tx, executionId, request);
    const entry = { action: action.type, workflowId: executionId };
    if (rejection === undefined) return { entry, afterCommit: announce };
    if (rejection.code === ALREADY_ENDED)
      return { entry: { ...entry, note: rejection.message }, afterCommit: announce };
    throw new Undeliverable(`${action.type}: ${rejection.code}: ${rejection.message}`);
  }

  /** The id of the run follows from the message, the handler and the action. */
  private async start(
    tx: EngineTx,
    namespace: Namespace,
    { handler, messageId, depth, at }: HandedEvent,
    { type, ...start }: Extract<ResolvedAction, { type: 'START_WORKFLOW' }>,
    index: number,
  ): Promise<Readonly<{ entry: JsonObject; afterCommit: AfterCommit }>> {
    if (depth >= EVENT_DEPTH_MAX) {
      throw new Undeliverable(`${type}: LIMIT_EXCEEDED: ${EVENT_DEPTH_MAX} starts by events stand upon each other.`);
    }
    const executionId = derivedExecutionId(at, `${namespace}/${messageId}/${handler}/${index}`);
    const started = await this.deps.starts.start(tx, { namespace, executionId, eventDepth: depth + 1, ...start });
    if (started.ok) return { entry: { action: type, workflowId: executionId }, afterCommit: started.value };
    const reason = `${type}: ${started.error.code}: ${started.error.message}`;
    // A limit on runs may have room later.
    throw started.error.code === 'LIMIT_EXCEEDED' ? new Error(reason) : new Undeliverable(reason);
  }
}

/** All decide rows at once, in id order, before anything of any of the runs is touched: as every pass takes its own. */
const lockRuns = async (tx: EngineTx, namespace: Namespace, ids: readonly ExecutionId[]): Promise<void> => {
  for (const id of ids) {
    const { head } = await tx.lookUpRun(id);
    if (head?.namespace !== namespace) throw new Undeliverable(`NOT_FOUND: There is no execution ${id}.`);
  }
  if (ids.length > 0) await tx.requestEvaluations([...ids].sort());
};

const record = (
  tx: EngineTx,
  namespace: Namespace,
  { handler, event, messageId }: HandedEvent,
  done: Pick<NewEventHandlerRun, 'state' | 'reason' | 'actions'>,
): Promise<void> =>
  tx.recordEventHandlerRun({ namespace, handler, event, messageId, ...done }, EVENT_HANDLER_RUNS_KEPT_MAX);
