import pino from 'pino';
import type { AccessPolicy } from '../../../src/adapters/http/access-policy.ts';
import { createHttpApp } from '../../../src/adapters/http/app.ts';
import { HTTP_LIMITS } from '../../../src/adapters/http/limits.ts';
import { startHttpServer } from '../../../src/adapters/http/server.ts';
import type { UseCases } from '../../../src/application/use-cases.ts';
import type { Namespace } from '../../../src/domain/kernel/brand.ts';
import { openRunningMemoryServer } from '../../support/memory-server.ts';

/** Where a client without credentials acts. */
export const NAMESPACE = 'default' as Namespace;

export type Answer = Readonly<{
  status: number;
  headers: Headers;
  text: string;
  /** The body where it is JSON, undefined else. */
  json: unknown;
}>;

export type Sent = Readonly<{
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string | Uint8Array<ArrayBuffer>;
  headers?: Readonly<Record<string, string>>;
}>;

export type ConductorServer = Readonly<{
  /** What a Conductor client is given: without /api. */
  url: string;
  useCases: UseCases;
  /** What it logged as a warning or worse. */
  problems: readonly string[];
  /** A plain request; `path` begins with /api. */
  send: (method: string, path: string, sent?: Sent) => Promise<Answer>;
  close: () => Promise<void>;
}>;

const parsed = (text: string, type: string | null): unknown =>
  type?.includes('json') && text !== '' ? JSON.parse(text) : undefined;

const sender =
  (url: string): ConductorServer['send'] =>
  async (method, path, { json, body, headers } = {}) => {
    const content = json === undefined ? body : JSON.stringify(json);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(content !== undefined && { body: content }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: parsed(text, response.headers.get('content-type')),
    };
  };

/**
 * A whole server over the store in memory, with its loops running and its HTTP API on a free port of loopback. Without
 * options it is as `rondo dev` is: whoever calls from here is its administrator.
 */
export const startConductorServer = async (
  access: AccessPolicy = { mode: 'local-administrator' },
  overrides: Partial<UseCases['access']> = {},
): Promise<ConductorServer> => {
  const server = await openRunningMemoryServer();
  const useCases = { ...server.useCases, access: { ...server.useCases.access, ...overrides } };
  await useCases.access.createNamespace(NAMESPACE);
  const problems: string[] = [];
  const log = pino({ level: 'warn', base: null }, { write: (line: string) => problems.push(line) });
  const app = createHttpApp({ useCases, access, log, limits: HTTP_LIMITS, version: '1.2.3' });
  const http = await startHttpServer({ app, host: '127.0.0.1', port: 0 });
  return {
    url: http.url,
    useCases: server.useCases,
    problems,
    send: sender(http.url),
    close: async () => {
      await http.stop();
      await server.close();
    },
  };
};
