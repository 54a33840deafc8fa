import type { DependencyContainer } from 'tsyringe';
import { ChildRuns } from '../application/child-runs.ts';
import { failureWorkflowHandler } from '../application/failure-workflow.ts';
import { HandleEvents } from '../application/handle-events.ts';
import type { MessageHandler } from '../application/message-handler.ts';
import type { BrokerTopic, OutboxTopic } from '../domain/execution/commands.ts';
import { TOKENS } from './tokens.ts';

/** Who deals with which message. Total: a topic that is not for a broker does not compile without a handler. */
export const messageHandlers = (c: DependencyContainer): ReadonlyMap<string, MessageHandler> => {
  const children = new ChildRuns({
    starts: c.resolve(TOKENS.startInTransaction),
    evaluator: c.resolve(TOKENS.evaluator),
    wake: c.resolve(TOKENS.wake),
  });
  const events = new HandleEvents({
    starts: c.resolve(TOKENS.startInTransaction),
    evaluator: c.resolve(TOKENS.evaluator),
    evaluateScript: c.resolve(TOKENS.evaluateScript),
    wake: c.resolve(TOKENS.wake),
  });
  const handlers: Readonly<Record<Exclude<OutboxTopic, BrokerTopic>, MessageHandler>> = {
    'start-failure-workflow': failureWorkflowHandler(c.resolve(TOKENS.startInTransaction)),
    'start-child': children.startChild,
    'start-workflow': children.startWorkflow,
    'resume-child': children.resumeChild,
    'child-ended': children.childEnded,
    'child-revived': children.childRevived,
    'terminate-child': children.terminateChild,
    'event/internal': events.sent,
    'handle-event': events.handed,
  };
  return new Map(Object.entries(handlers));
};
