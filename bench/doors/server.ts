import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import type { BenchDatabase } from '../database.ts';

export type Served = Readonly<{ url: string; pid: number; stop(): Promise<void> }>;

/** The server as users run it: a process of its own, beside the one that drives it. */
export const serve = async (database: BenchDatabase): Promise<Served> => {
  const child = spawn(process.execPath, ['src/main.ts', 'dev'], {
    env: { ...process.env, PORT: '0', RONDO_LOG_LEVEL: 'error', DATABASE_URL: database.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url === undefined) continue;
    return {
      url,
      pid: child.pid ?? 0,
      stop: async () => {
        child.kill('SIGTERM');
        await exited;
      },
    };
  }
  throw new Error('the server ended before it was ready');
};

export type Answer = Readonly<{ status: number; text: string }>;
export type Send = (method: string, path: string, body?: unknown, signal?: AbortSignal) => Promise<Answer>;

/** A lean client over kept connections: what it costs is taken from the server, since both share the machine. */
export const sender = (url: string, connections = 256): Readonly<{ send: Send; close: () => void }> => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const { hostname, port } = new URL(url);
  const send: Send = (method, path, body, signal) =>
    new Promise((resolve, reject) => {
      const content = body === undefined ? '' : JSON.stringify(body);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) };
      const options = { agent, hostname, port, path, method, headers };
      const sent = request(signal === undefined ? options : { ...options, signal }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8');
          const status = response.statusCode ?? 500;
          if (status < 300) resolve({ status, text });
          else reject(new Error(`${path}: ${status} ${text}`));
        });
      });
      sent.on('error', reject);
      sent.end(content);
    });
  return { send, close: () => agent.destroy() };
};
