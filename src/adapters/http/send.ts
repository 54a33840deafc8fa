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

/** Sends plain text as it is. */
export const sendText = (response: ServerResponse, status: number, body: string): void => {
  if (!canAnswer(response)) return;
  const bytes = Buffer.from(body, 'utf8');
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'content-length': bytes.length });
  response.end(bytes);
};

const NO_CONTENT_STATUS = 204;

/** Sends a status without a body, and without a type: a reader told of JSON would try to parse nothing. */
export const sendEmpty = (response: ServerResponse, status: number): void => {
  if (!canAnswer(response)) return;
  response.writeHead(status, status === NO_CONTENT_STATUS ? {} : { 'content-length': 0 });
  response.end();
};

const canAnswer = (response: ServerResponse): boolean => !response.headersSent && !response.destroyed;
