import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Principal } from '../../application/use-cases.ts';
import type { Dialect } from '../../domain/definition/workflow-definition.ts';
import { requestIdOf } from './request-id.ts';

const CONDUCTOR_TARGET = /^\/api(?:[/?]|$)/;

/** One request on its way through the door. */
export type Exchange = {
  readonly requestId: string;
  readonly startedAtMs: number;
  /** At which door it came in: a refusal there looks as its clients expect it. */
  readonly door: Dialect;
  readonly response: ServerResponse;
  /** Aborts when the client goes away before the answer, or the server stops. */
  readonly controller: AbortController;
  principal?: Principal;
  /** Path pattern of the route that took it: what a log line may show. */
  route?: string;
};

/** The requests under way. */
export class Exchanges {
  private readonly byRequest = new WeakMap<IncomingMessage, Exchange>();
  private readonly active = new Set<Exchange>();
  private stopping = false;

  get isStopping(): boolean {
    return this.stopping;
  }

  open(request: IncomingMessage, response: ServerResponse): Exchange {
    const requestId = requestIdOf(request);
    const exchange: Exchange = {
      requestId,
      startedAtMs: performance.now(),
      door: CONDUCTOR_TARGET.test(request.url ?? '') ? 'conductor' : 'v1',
      response,
      controller: new AbortController(),
    };
    this.byRequest.set(request, exchange);
    this.active.add(exchange);
    response.once('close', () => {
      this.active.delete(exchange);
      exchange.controller.abort();
    });
    if (this.stopping) response.setHeader('connection', 'close');
    return exchange;
  }

  of(request: IncomingMessage): Exchange {
    const exchange = this.byRequest.get(request);
    if (exchange === undefined) throw new Error('a request came through the door without being opened');
    return exchange;
  }

  /** Ends what is parked: polls answer, streams end, and their connections close with the answer. */
  stop(): void {
    this.stopping = true;
    for (const { response, controller } of this.active) {
      if (!response.headersSent) response.setHeader('connection', 'close');
      controller.abort();
    }
  }
}
