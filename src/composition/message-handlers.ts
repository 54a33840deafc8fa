import type { DependencyContainer } from 'tsyringe';
import { failureWorkflowHandler } from '../application/failure-workflow.ts';
import type { MessageHandler } from '../application/message-handler.ts';
import type { OutboxTopic } from '../domain/execution/commands.ts';
import { TOKENS } from './tokens.ts';

/** Who deals with which message. Total: a topic without a handler does not compile. */
export const messageHandlers = (c: DependencyContainer): ReadonlyMap<string, MessageHandler> => {
  const handlers: Readonly<Record<OutboxTopic, MessageHandler>> = {
    'start-failure-workflow': failureWorkflowHandler(c.resolve(TOKENS.startInTransaction)),
  };
  return new Map(Object.entries(handlers));
};
