import type { ApiError } from './api-error.ts';
import { sendConductorError } from './conductor/conductor-error.ts';
import { sendError } from './error-response.ts';
import type { Exchange } from './exchange.ts';

/** Refuses a request in the form of the door it came through. */
export const answerError = ({ door, response, requestId }: Exchange, error: ApiError): void => {
  if (door === 'conductor') sendConductorError(response, error, requestId);
  else sendError(response, error, requestId);
};
