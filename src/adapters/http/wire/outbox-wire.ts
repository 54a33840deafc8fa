import type { DeadLetter, InternalEvent } from '../../../ports/outbox-index.ts';
import type { DeadLetterBody, InternalEventBody } from '../schemas/doors.ts';
import { isoText } from './instant-wire.ts';

export const deadLetterOf = ({
  executionId,
  createdAt,
  deadAt,
  lastFailure,
  ...letter
}: DeadLetter): DeadLetterBody => ({
  ...letter,
  workflowId: executionId,
  createdAt: isoText(createdAt),
  deadAt: isoText(deadAt),
  reason: lastFailure,
});

export const internalEventOf = ({ executionId, recordedAt, ...event }: InternalEvent): InternalEventBody => ({
  ...event,
  ...(executionId === undefined ? {} : { workflowId: executionId }),
  recordedAt: isoText(recordedAt),
});
