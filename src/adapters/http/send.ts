import type { ServerResponse } from 'node:http';

type Headers = Readonly<Record<string, string>>;

/** Sends one JSON document; nothing when the response has begun or the client has gone. */
export const sendJson = (response: ServerResponse, status: number, body: unknown, headers: Headers = {}): void => {
  if (!canAnswer(response)) return;
  const bytes = Buffer.from(JSON.stringify(body), 'utf8');
  response.writeHead(status, {
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': bytes.length,
  });
  response.end(bytes);
};

/** Sends a status without a body. */
export const sendEmpty = (response: ServerResponse, status: number): void => {
  if (!canAnswer(response)) return;
  response.writeHead(status);
  response.end();
};

const canAnswer = (response: ServerResponse): boolean => !response.headersSent && !response.destroyed;
