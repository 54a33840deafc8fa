import type { IncomingMessage } from 'node:http';
import { isGranted, isGrantedSomewhere } from '../../application/access/scopes.ts';
import type { Principal, UseCases } from '../../application/use-cases.ts';
import { type Namespace, parseNamespace } from '../../domain/kernel/brand.ts';
import { isJsonObject, type JsonValue } from '../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import { DEFINITION_JSON_LIMITS, STRICT_JSON_LIMITS } from '../../domain/kernel/strict-json.ts';
import type { AccessPolicy } from './access-policy.ts';
import { type ApiError, NOT_FOUND } from './api-error.ts';
import { isJsonContentType, isLenientJsonContentType } from './content-type.ts';
import type { Exchange } from './exchange.ts';
import type { HttpLimits } from './limits.ts';
import { parseLenientQuery, parseQuery } from './query.ts';
import { type BodyRules, hasBody, type ReadBody, readBody } from './read-body.ts';
import { PUBLIC, type Reply, type Route, requiredScope } from './route.ts';
import type { StreamSlots } from './stream-slots.ts';
import { validate } from './validate.ts';

/** What every route is served with. */
export type Door = Readonly<{
  useCases: UseCases;
  limits: HttpLimits;
  version: string;
  access: AccessPolicy;
  streams: StreamSlots;
  namespaceExists: (namespace: Namespace) => Promise<boolean>;
}>;

type Params = Readonly<Record<string, string>>;

/** No name or id has a use for them, and PostgreSQL refuses U+0000 in text. */
const CONTROL = /\p{Cc}/u;

/** Where the local administrator of `rondo dev`, who may act in every namespace, acts at a door that names none. */
export const LOCAL_NAMESPACE = 'default' as Namespace;

/** Never acted upon: a public route has no principal, and no handler of one reads it. */
const NOBODY: Principal = { id: 'nobody', scopes: [] };

/**
 * One request of one route. The order is the policy: who (before this), which namespace, what it may, and only then what it
 * says, so nobody learns from an error about a body what they may not know.
 */
export const serveRoute = async (
  route: Route,
  door: Door,
  request: IncomingMessage,
  params: Params,
  exchange: Exchange,
): Promise<Result<Reply, ApiError>> => {
  const principal = exchange.principal ?? NOBODY;
  const namespace = await namespaceOf(route, door, principal, params);
  if (!namespace.ok) return namespace;
  const permitted = permit(route, principal, params);
  if (!permitted.ok) return permitted;
  if (Object.values(params).some((value) => CONTROL.test(value))) return err(NOT_FOUND);
  const query = queryOf(route, request);
  if (!query.ok) return query;
  const body = await bodyOf(route, door.limits, request, params.ns);
  if (!body.ok) return body;
  const granted = permitAll(principal, body.value.body === undefined ? [] : route.bodyScopes(body.value.body));
  if (!granted.ok) return granted;
  const { useCases, limits, version, access, streams } = door;
  const shared = { useCases, limits, version, access, streams, request, requestId: exchange.requestId };
  const call = { ...shared, signal: exchange.controller.signal, params, principal, namespace: namespace.value };
  return route.handle({ ...call, query: query.value, ...body.value });
};

/** For a route outside all namespaces there is none to check, and its handler is not given one by its type. */
const namespaceOf = async (
  { isNamespaced, door }: Route,
  { namespaceExists }: Door,
  principal: Principal,
  params: Params,
): Promise<Result<Namespace, ApiError>> => {
  if (!isNamespaced) return ok('' as Namespace);
  if (door === 'conductor') return ok(principal.namespace ?? LOCAL_NAMESPACE);
  const namespace = parseNamespace(params.ns ?? '');
  if (namespace === undefined) return err(NOT_FOUND);
  if (principal.namespace !== undefined) return principal.namespace === namespace ? ok(namespace) : err(NOT_FOUND);
  return (await namespaceExists(namespace)) ? ok(namespace) : err(NOT_FOUND);
};

const permit = (route: Route, principal: Principal, params: Params): Result<null, ApiError> => {
  const { scope, bodyNamesScope } = route;
  if (scope === PUBLIC) return ok(null);
  if (bodyNamesScope && isGrantedSomewhere(principal.scopes, scope)) return ok(null);
  return permitAll(principal, [requiredScope(scope, params)]);
};

const permitAll = ({ scopes }: Principal, required: readonly string[]): Result<null, ApiError> => {
  const missing = required.find((scope) => !isGranted(scopes, scope));
  if (missing === undefined) return ok(null);
  return err({ code: 'FORBIDDEN', message: `The scope ${missing} is missing.`, details: { missingScope: missing } });
};

const queryOf = (
  { query, door }: Route,
  request: IncomingMessage,
): Result<Readonly<Record<string, unknown>>, ApiError> => {
  const parse = door === 'v1' ? parseQuery : parseLenientQuery;
  const given: Result<Readonly<Record<string, unknown>>, ApiError> = parse(request.url ?? '', Object.keys(query.shape));
  return given.ok ? validate(query, given.value, 'query') : given;
};

const NO_BYTES = new Uint8Array();

const bodyOf = async (
  route: Route,
  limits: HttpLimits,
  request: IncomingMessage,
  namespace: string | undefined,
): Promise<Result<Readonly<{ body: unknown; bytes: Uint8Array }>, ApiError>> => {
  if (route.body === undefined) return ok({ body: undefined, bytes: NO_BYTES });
  const document = await documentOf(route, limits, request);
  if (!document.ok) return document;
  const { value, bytes } = document.value;
  const inside = namespace === undefined || route.bodyIsData ? ok(value) : withoutNamespace(value, namespace);
  if (!inside.ok) return inside;
  const body = validate(route.body, inside.value);
  return body.ok ? ok({ body: body.value, bytes }) : body;
};

const documentOf = async (
  route: Route,
  limits: HttpLimits,
  request: IncomingMessage,
): Promise<Result<ReadBody, ApiError>> => {
  const isText = route.bodyKind === 'text';
  if (hasBody(request)) {
    const read = await readBody(request, rulesOf(route, limits));
    // Conductor's clients send null where they have nothing to send.
    const isNothing = route.door === 'conductor' && route.bodyOptional && read.ok && read.value.value === null;
    return isNothing ? ok({ value: {}, bytes: NO_BYTES }) : read;
  }
  if (isText) return ok({ value: '', bytes: NO_BYTES });
  if (route.bodyOptional) return ok({ value: {}, bytes: NO_BYTES });
  return err({ code: 'INVALID_JSON', message: 'A JSON body is required.', path: '' });
};

const acceptsAnything = (): boolean => true;

const acceptedBy = ({ bodyKind, door }: Route): BodyRules['isAccepted'] => {
  if (bodyKind === 'text') return acceptsAnything;
  return door === 'v1' ? isJsonContentType : isLenientJsonContentType;
};

const rulesOf = (route: Route, limits: HttpLimits): BodyRules => ({
  isAccepted: acceptedBy(route),
  isText: route.bodyKind === 'text',
  bytesMax: route.bodyKind === 'control' ? limits.controlBytesMax : limits.payloadBytesMax,
  idleTimeoutMs: limits.bodyIdleTimeoutMs,
  json: route.bodyKind === 'definition' && route.door === 'v1' ? DEFINITION_JSON_LIMITS : STRICT_JSON_LIMITS,
});

/** The namespace comes from the path alone; a body may repeat it, and must then agree. */
const withoutNamespace = (document: JsonValue, namespace: string): Result<JsonValue, ApiError> => {
  if (!isJsonObject(document) || typeof document.namespace !== 'string') return ok(document);
  const { namespace: named, ...rest } = document;
  const message = 'The namespace of the body is not that of the path.';
  return named === namespace ? ok(rest) : err({ code: 'NAMESPACE_MISMATCH', message, path: 'namespace' });
};
