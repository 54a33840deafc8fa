import { EventEmitter, once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Call = Readonly<{
  method: string;
  path: string;
  query: URLSearchParams;
  body: Record<string, unknown>;
  headers: IncomingMessage['headers'];
}>;

export type Answer = Readonly<{ status: number; body: unknown; headers?: Record<string, string> }>;

/** Answers a call; undefined leaves it parked until the client goes away. `raw` writes by itself. */
export type Route = (call: Call, raw: ServerResponse) => Answer | undefined | 'written' | Promise<Answer | undefined>;

/** A server that records calls and answers as the test says: enough of the wire for a client under test. */
export class FakeServer {
  readonly calls: Call[] = [];
  readonly changes = new EventEmitter();
  /** Parked calls whose client went away, by path. */
  readonly abandoned: string[] = [];
  route: Route;
  private readonly server = createServer((request, response) => void this.handle(request, response));

  constructor(route: Route) {
    this.route = route;
  }

  async listen(port = 0): Promise<void> {
    this.server.listen(port, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  of(ending: string): Call[] {
    return this.calls.filter((call) => call.path.endsWith(ending));
  }

  /** Resolves when the condition holds; it is looked at after every call and every lost connection. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) await once(this.changes, 'change');
  }

  private async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const url = new URL(request.url ?? '/', 'http://fake');
    const call: Call = {
      method: request.method ?? '',
      path: url.pathname,
      query: url.searchParams,
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
      headers: request.headers,
    };
    this.calls.push(call);
    response.on('close', () => {
      if (!response.writableEnded) this.abandoned.push(call.path);
      this.changes.emit('change');
    });
    this.changes.emit('change');
    const answer = await this.route(call, response);
    if (answer === undefined || answer === 'written') return;
    response.writeHead(answer.status, { 'content-type': 'application/json', ...answer.headers });
    response.end(answer.body === undefined ? '' : JSON.stringify(answer.body));
  }
}

export const ok = (body: unknown): Answer => ({ status: 200, body });

export const refuse = (status: number, error: string, message = error.toLowerCase()): Answer => ({
  status,
  body: { error, message, requestId: 'request-1' },
});
