import type { IncomingMessage, ServerResponse } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import type { UseCases } from '../../application/use-cases.ts';
import type { AccessPolicy } from './access-policy.ts';
import { answerError } from './answer-error.ts';
import { type ApiError, NOT_FOUND, STOPPING } from './api-error.ts';
import { authenticate } from './authenticate.ts';
import { type Exchange, Exchanges } from './exchange.ts';
import { headerBytes, SECURITY_HEADERS } from './headers.ts';
import { knownNamespaces } from './known-namespaces.ts';
import type { HttpLimits } from './limits.ts';
import { discardBody } from './read-body.ts';
import { type Method, PUBLIC, type Reply, type Route } from './route.ts';
import { ALL_ROUTES, methodsAt } from './route-table.ts';
import { sendEmpty, sendJson, sendText } from './send.ts';
import { type Door, serveRoute } from './serve-route.ts';
import { StreamSlots } from './stream-slots.ts';

export type HttpLog = Pick<Logger, 'debug' | 'warn' | 'error'>;

export type HttpAppOptions = Readonly<{
  useCases: UseCases;
  access: AccessPolicy;
  log: HttpLog;
  limits: HttpLimits;
  /** Of this program, as health tells it. */
  version: string;
}>;

/** An application to be served. `stop` ends what is parked and refuses what is new with 503. */
export type HttpApp = Readonly<{ handler: Express; limits: HttpLimits; log: HttpLog; stop: () => void }>;

const VERBS: Readonly<Record<Method, 'get' | 'post' | 'put' | 'delete'>> = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  DELETE: 'delete',
};

/**
 * The application of both APIs: one route table, default deny. Whatever is not a public route asks for credentials
 * before it even says whether it exists.
 */
export const createHttpApp = (options: HttpAppOptions): HttpApp => {
  const { useCases, access, limits, log, version } = options;
  const exchanges = new Exchanges();
  const namespaceExists = knownNamespaces(useCases.access);
  const streams = new StreamSlots(limits.streamsPerPrincipalMax);
  const door: Door = { useCases, limits, version, access, streams, namespaceExists };
  const handler = express();
  handler.disable('x-powered-by').disable('etag').set('query parser', false);
  handler.use(
    openExchange(exchanges, limits, log),
    refuseOversize(exchanges, limits),
    routerOf(isPublic, door, exchanges),
    requirePrincipal(exchanges, access, useCases.access),
    routerOf((route) => !isPublic(route), door, exchanges),
    refuseUnmatched(exchanges),
    answerFailure(exchanges, log),
  );
  return { handler, limits, log, stop: () => exchanges.stop() };
};

const isPublic = ({ scope }: Route): boolean => scope === PUBLIC;

const openExchange = (exchanges: Exchanges, limits: HttpLimits, log: HttpLog): RequestHandler => {
  return (request, response, next) => {
    const exchange = exchanges.open(request, response);
    response.setHeaders(new Map(SECURITY_HEADERS));
    response.setHeader('x-request-id', exchange.requestId);
    response.once('finish', () => discardBody(request, limits.discardBytesMax));
    response.once('close', () => logExchange(log, request, exchange));
    if (exchanges.isStopping) answerError(exchange, STOPPING);
    else next();
  };
};

const logExchange = (log: HttpLog, request: IncomingMessage, exchange: Exchange): void => {
  const { requestId, route, response, startedAtMs } = exchange;
  const status = response.writableFinished ? response.statusCode : undefined;
  // One line a poll would drown everything else: requests are told of at debug.
  log.debug(
    { requestId, method: request.method, route, status, durationMs: performance.now() - startedAtMs },
    'request',
  );
};

const oversize = (request: IncomingMessage, limits: HttpLimits): ApiError | undefined => {
  if ((request.url ?? '').length > limits.urlCharsMax) {
    return { code: 'URI_TOO_LONG', message: `The request target is longer than ${limits.urlCharsMax} characters.` };
  }
  if (request.rawHeaders.length / 2 > limits.headersMax || headerBytes(request) > limits.headerBytesMax) {
    return { code: 'HEADERS_TOO_LARGE', message: `More than ${limits.headersMax} headers or too many bytes of them.` };
  }
  const isHostMissing = request.headers.host === undefined && request.httpVersion === '1.1';
  return isHostMissing ? { code: 'BAD_REQUEST', message: 'The Host header is missing.' } : undefined;
};

const refuseOversize = (exchanges: Exchanges, limits: HttpLimits): RequestHandler => {
  return (request, _response, next) => {
    const error = oversize(request, limits);
    if (error === undefined) next();
    else answerError(exchanges.of(request), error);
  };
};

const requirePrincipal = (exchanges: Exchanges, policy: AccessPolicy, access: UseCases['access']): RequestHandler => {
  return async (request, _response, next) => {
    const exchange = exchanges.of(request);
    const principal = await authenticate(request, policy, access);
    if (!principal.ok) return answerError(exchange, principal.error);
    exchange.principal = principal.value;
    return next();
  };
};

const routerOf = (isWanted: (route: Route) => boolean, door: Door, exchanges: Exchanges): RequestHandler => {
  const router = express.Router({ strict: true, caseSensitive: true });
  for (const route of ALL_ROUTES.filter(isWanted)) {
    router[VERBS[route.method]](route.path, async (request, response) => {
      const exchange = exchanges.of(request);
      exchange.route = route.path;
      // A pattern without wildcards has only plain text parameters.
      const params = request.params as Readonly<Record<string, string>>;
      const reply = await serveRoute(route, door, request, params, exchange);
      if (reply.ok) await send(reply.value, request, response);
      else answerError(exchange, reply.error);
    });
  }
  // A router answers OPTIONS by itself, with 200 and outside the envelope.
  return (request, response, next) => (request.method === 'OPTIONS' ? next() : router(request, response, next));
};

const send = async (reply: Reply, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  switch (reply.kind) {
    case 'json':
      return sendJson(response, reply.status, reply.body);
    case 'text':
      return sendText(response, reply.status, reply.body);
    case 'empty':
      return sendEmpty(response, reply.status);
    case 'stream':
      return request.method === 'HEAD' ? sendEmpty(response, 200) : reply.start(response);
    default:
      throw new TypeError(`unknown reply: ${JSON.stringify(reply satisfies never)}`);
  }
};

const refuseUnmatched = (exchanges: Exchanges): RequestHandler => {
  return (request) => {
    const methods = methodsAt(request.path);
    const error: ApiError =
      methods.length === 0
        ? NOT_FOUND
        : {
            code: 'METHOD_NOT_ALLOWED',
            message: `This path has ${methods.join(', ')}.`,
            headers: { allow: methods.join(', ') },
          };
    answerError(exchanges.of(request), error);
  };
};

const isUnavailable = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'UNAVAILABLE';

const answerOfFailure = (error: unknown): ApiError => {
  // Express could not decode a path parameter: no name or id looks like that.
  if (error instanceof URIError) return NOT_FOUND;
  if (isUnavailable(error)) return { code: 'UNAVAILABLE', message: 'The database cannot be reached now.' };
  return { code: 'INTERNAL', message: 'The server failed; its log has more under this request id.' };
};

/** The last resort. A stream that breaks after its first byte can only be cut: its reader resumes. */
const answerFailure = (exchanges: Exchanges, log: HttpLog): ErrorRequestHandler => {
  return (error: unknown, request, response, _next) => {
    const exchange = exchanges.of(request);
    const { requestId, route } = exchange;
    const answer = answerOfFailure(error);
    if (answer.code === 'INTERNAL') log.error({ requestId, route, err: error }, 'request failed');
    if (answer.code === 'UNAVAILABLE') log.warn({ requestId, route, err: error }, 'database unavailable');
    if (response.headersSent) response.destroy();
    else answerError(exchange, answer);
  };
};
