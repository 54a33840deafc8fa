import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { err, ok } from '../../../src/domain/kernel/result.ts';
import type {
  OutboundHttp,
  OutboundProblem,
  OutboundRequest,
  OutboundResponse,
} from '../../../src/ports/outbound-http.ts';
import type { Step } from '../../support/builders.ts';

export type Scripted = Partial<OutboundResponse> | OutboundProblem | 'hangs';

/** A door whose host answers one after the other what the test says, and the last of it for ever. */
export const scriptedHttp = () => {
  const sent: OutboundRequest[] = [];
  let answers: Scripted[] = [];
  const http: OutboundHttp = {
    send: async (request, signal) => {
      sent.push(request);
      const answer = (answers.length > 1 ? answers.shift() : answers[0]) ?? {};
      if (answer === 'hangs') {
        await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        return err({ code: 'ABORTED', message: 'The call was given up.' });
      }
      if ('code' in answer) return err(answer);
      return ok({ statusCode: 200, reasonPhrase: 'OK', headers: {}, body: '', ...answer });
    },
  };
  return {
    http,
    sent,
    answers: (...next: Scripted[]): void => {
      answers = next;
      sent.length = 0;
    },
  };
};

export const call = (ref: string, inputParameters: JsonObject = {}, fields: JsonObject = {}): Step => ({
  name: ref,
  taskReferenceName: ref,
  type: 'HTTP',
  inputParameters: { uri: 'https://api.example.com/', ...inputParameters },
  ...fields,
});
