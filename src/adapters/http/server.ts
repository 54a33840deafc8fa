import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { HttpApp } from './app.ts';
import { answerBrokenRequest, type ParserError } from './broken-request.ts';
import type { HttpLimits } from './limits.ts';

/** Above what the application accepts, so that it can say which of target and headers is too long. */
const PARSER_HEADER_BYTES_MAX = 131_072;

export type HttpServer = Readonly<{
  url: string;
  port: number;
  /** Stops accepting, ends what is parked, and resolves when all connections are closed: at once when idle. */
  stop: () => Promise<void>;
}>;

/** Serves the application. Rejects when the address cannot be had. Port 0 takes a free one. */
export const startHttpServer = async ({
  app,
  host,
  port,
}: Readonly<{ app: HttpApp; host: string; port: number }>): Promise<HttpServer> => {
  const server = createServer(optionsOf(app.limits));
  // The application counts headers itself: here they would be dropped in silence.
  server.maxHeadersCount = 0;
  answerBrokenRequests(server);
  closeConnectionsAfterStop(server);
  const connections = trackConnections(server);
  server.on('request', app.handler);
  await listen(server, host, port);
  const address = server.address() as AddressInfo;
  let stopped: Promise<void> | undefined;
  return {
    url: `http://${address.family === 'IPv6' ? `[${address.address}]` : address.address}:${address.port}`,
    port: address.port,
    stop: () => {
      stopped ??= stopServer(server, app, connections);
      return stopped;
    },
  };
};

const optionsOf = (limits: HttpLimits) => ({
  maxHeaderSize: PARSER_HEADER_BYTES_MAX,
  headersTimeout: limits.headersTimeoutMs,
  requestTimeout: limits.requestTimeoutMs,
  connectionsCheckingInterval: limits.timeoutCheckMs,
  keepAliveTimeout: limits.keepAliveTimeoutMs,
  requireHostHeader: false,
});

const listen = (server: Server, host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      resolve();
    });
  });

type Served = Readonly<{ request: IncomingMessage; response: ServerResponse }>;

/** Whether an answer is under way on the connection, or was given before the request was read to its end. */
const isAnswering = (served: Served | undefined): boolean =>
  served?.response.headersSent === true && !(served.request.complete && served.response.writableFinished);

const answerBrokenRequests = (server: Server): void => {
  const lastServed = new WeakMap<Socket, Served>();
  const answered = new WeakSet<Socket>();
  server.on('request', (request, response) => lastServed.set(request.socket, { request, response }));
  server.on('clientError', (error: ParserError, socket: Socket) => {
    // After the answer the rest of a broken request keeps failing to parse, until the connection is gone.
    if (answered.has(socket)) return;
    answered.add(socket);
    if (error.code === 'ECONNRESET' || !socket.writable || isAnswering(lastServed.get(socket))) socket.destroy();
    else answerBrokenRequest(error, socket);
  });
};

const trackConnections = (server: Server): ReadonlySet<Socket> => {
  const connections = new Set<Socket>();
  server.on('connection', (socket) => {
    connections.add(socket);
    socket.once('close', () => connections.delete(socket));
  });
  return connections;
};

/** Node takes a connection on which nothing was ever sent for one whose request is on its way, and would wait for it. */
const closeSilentConnections = (connections: ReadonlySet<Socket>): void => {
  for (const socket of connections) if (socket.bytesRead === 0) socket.destroy();
};

const stopServer = async (server: Server, app: HttpApp, connections: ReadonlySet<Socket>): Promise<void> => {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const deadline = setTimeout(() => server.closeAllConnections(), app.limits.stopTimeoutMs);
  app.stop();
  server.closeIdleConnections();
  closeSilentConnections(connections);
  await closed;
  clearTimeout(deadline);
};

/** An answer that was under way when the server stopped leaves a connection that nobody else would close. */
const closeConnectionsAfterStop = (server: Server): void => {
  server.on('request', (_request, response) => {
    response.once('close', () => {
      if (!server.listening) setImmediate(() => server.closeIdleConnections());
    });
  });
};
