import type { AccessPolicy } from '../../../../src/adapters/http/access-policy.ts';
import { createHttpApp } from '../../../../src/adapters/http/app.ts';
import { HTTP_LIMITS, type HttpLimits } from '../../../../src/adapters/http/limits.ts';
import { type HttpServer, startHttpServer } from '../../../../src/adapters/http/server.ts';
import type { UseCases } from '../../../../src/application/use-cases.ts';
import type { Namespace } from '../../../../src/domain/kernel/brand.ts';
import type { JsonValue } from '../../../../src/domain/kernel/json.ts';
import { fakeUseCases, type Overrides } from './fake-use-cases.ts';
import { NAMESPACE } from './samples.ts';

export type LogLine = Readonly<{ level: 'debug' | 'warn' | 'error'; fields: Readonly<Record<string, unknown>> }>;

export type Fixture = Readonly<{
  server: HttpServer;
  useCases: UseCases;
  logLines: readonly LogLine[];
  /** A new key with these grants. */
  key: (scopes: readonly string[], namespace?: Namespace) => Promise<string>;
  send: (method: string, path: string, options?: SendOptions) => Promise<Answer>;
}>;

export type SendOptions = Readonly<{
  key?: string;
  json?: JsonValue;
  body?: string | Uint8Array<ArrayBuffer>;
  headers?: Readonly<Record<string, string>>;
}>;

export type Answer = Readonly<{ status: number; headers: Headers; text: string; json: Record<string, unknown> }>;

export type FixtureOptions = Readonly<{ access?: AccessPolicy; limits?: Partial<HttpLimits>; overrides?: Overrides }>;

const capture = (lines: LogLine[], level: LogLine['level']) => (fields: unknown) => {
  lines.push({ level, fields: fields as Readonly<Record<string, unknown>> });
};

const sender =
  (url: string): Fixture['send'] =>
  async (method, path, { key, json, body, headers } = {}) => {
    const sent = json === undefined ? body : JSON.stringify(json);
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(sent !== undefined && { body: sent }),
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: text.startsWith('{') ? JSON.parse(text) : {},
    };
  };

/** A listening server over fake use cases. Stop it with `server.stop()`. */
export const startFixture = async ({ access, limits, overrides }: FixtureOptions = {}): Promise<Fixture> => {
  const useCases = await fakeUseCases(overrides);
  const logLines: LogLine[] = [];
  const log = {
    debug: capture(logLines, 'debug'),
    warn: capture(logLines, 'warn'),
    error: capture(logLines, 'error'),
  };
  const app = createHttpApp({
    useCases,
    access: access ?? { mode: 'credentials' },
    log,
    limits: { ...HTTP_LIMITS, ...limits },
    version: '1.2.3',
  });
  const server = await startHttpServer({ app, host: '127.0.0.1', port: 0 });
  const key: Fixture['key'] = async (scopes, namespace = NAMESPACE) => {
    const created = await useCases.access.createApiKey(namespace, { name: 'test', scopes });
    if (!created.ok) throw new Error(created.error.message);
    return created.value.key;
  };
  return { server, useCases, logLines, key, send: sender(server.url) };
};
