import type { FailureWorkflowStart, SequencedEvent, WorkflowEvent } from '../../../domain/execution/events.ts';
import type { Instant } from '../../../domain/kernel/brand.ts';
import type { HistoryEventBody } from '../schemas/executions.ts';
import { isoText } from './instant-wire.ts';

type Instants<E> = E extends WorkflowEvent
  ? { [K in keyof E]-?: E[K] extends Instant | undefined ? K : never }[keyof E]
  : never;

/** Complete by its type: an event with an instant of a new name does not compile until it is listed. */
const INSTANT_FIELDS: Readonly<Record<Instants<WorkflowEvent>, true>> = {
  at: true,
  visibleAt: true,
  firstScheduledAt: true,
  fireAt: true,
  startedAt: true,
};

const WIRE_NAMES: Readonly<Record<string, string>> = { ref: 'taskRef', failedExecutionId: 'failedWorkflowId' };

const fieldOf = (name: string, value: unknown): unknown => {
  if (Object.hasOwn(INSTANT_FIELDS, name)) return isoText(value as Instant);
  if (name === 'disposition') return dispositionOf(value as { kind: string; visibleAt?: Instant });
  if (name === 'failureWorkflow') return startedRunOf(value as FailureWorkflowStart);
  return name === 'parent' ? parentOf(value as { executionId: string; ref: string }) : value;
};

const dispositionOf = ({ visibleAt, ...rest }: { kind: string; visibleAt?: Instant }) =>
  visibleAt === undefined ? rest : { ...rest, visibleAt: isoText(visibleAt) };

const startedRunOf = ({ executionId, ...rest }: FailureWorkflowStart) => ({ workflowId: executionId, ...rest });

/** The run that started this one, in wire names. */
export const parentOf = <P extends { executionId: string; ref: string }>({ executionId, ref, ...rest }: P) => ({
  workflowId: executionId,
  taskRef: ref,
  ...rest,
});

/** One fact of the log in wire names, its instants as ISO-8601. User payloads in it are left exactly as they are. */
export const historyEventOf = ({ seq, event }: SequencedEvent): HistoryEventBody => {
  const fields = Object.entries(event)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => [WIRE_NAMES[name] ?? name, fieldOf(name, value)] as const);
  return { ...Object.fromEntries(fields), seq, type: event.type, at: isoText(event.at) };
};
