import type { IncomingMessage, ServerResponse } from 'node:http';
import { z } from 'zod';
import type { ScopeAction } from '../../application/access/scopes.ts';
import type { ApplicationError } from '../../application/application-error.ts';
import type { Principal, UseCases } from '../../application/use-cases.ts';
import type { Dialect } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { Result } from '../../domain/kernel/result.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { ApiError } from './api-error.ts';
import type { HttpLimits } from './limits.ts';
import type { StreamSlots } from './stream-slots.ts';

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

/** What a caller must be granted; `{name}` stands for a path parameter. */
export type RequiredScope = ScopeAction | `${ScopeAction}:{${string}}`;

/** Open to everyone. A word of its own, so that forgetting a scope does not compile into this. */
export const PUBLIC = 'public';

/** `start` writes the response itself, and resolves when it has ended. */
export type Reply =
  | Readonly<{ kind: 'json'; status: number; body: unknown }>
  | Readonly<{ kind: 'text'; status: number; body: string }>
  | Readonly<{ kind: 'empty'; status: number }>
  | Readonly<{ kind: 'stream'; start: (response: ServerResponse) => Promise<void> }>;

export const json = <T>(status: number, body: T): Reply => ({ kind: 'json', status, body });
export const NO_CONTENT: Reply = { kind: 'empty', status: 204 };
/** Done, and there is nothing to say: a length of 0 and no type. */
export const NOTHING: Reply = { kind: 'empty', status: 200 };
export const text = (body: string): Reply => ({ kind: 'text', status: 200, body });

/** The schema of each answer by status; null for one without a body, a media type for a stream. */
export type Replies = Readonly<Record<number, z.ZodType | null | 'text/event-stream'>>;

/** `payload` and `control` are sizes; a definition may not name a key twice either; `text` is not JSON at all. */
export type BodyKind = 'payload' | 'control' | 'definition' | 'text';

/** What every handler may use. */
export type CallContext = Readonly<{
  useCases: UseCases;
  limits: HttpLimits;
  streams: StreamSlots;
  version: string;
  /** Who may call without credentials. */
  access: AccessPolicy;
  requestId: string;
  request: IncomingMessage;
  /** Aborts when the client goes away or the server stops. */
  signal: AbortSignal;
}>;

type PathParameter<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | PathParameter<Rest>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

export type Call<Path extends string, Query, Body> = CallContext &
  Readonly<{ params: Readonly<Record<PathParameter<Path>, string>>; query: Query; body: Body; principal: Principal }>;

export type NamespaceCall<Path extends string, Query, Body> = Call<Path, Query, Body> &
  Readonly<{ namespace: Namespace }>;

/** An ApplicationError is an ApiError; a handler may return either. */
export type Handled = Promise<Result<Reply, ApiError | ApplicationError>>;

const noQuery = z.strictObject({});
export type QuerySchema = z.ZodObject;

export type RouteSpec<Path extends string, Q extends QuerySchema, B extends z.ZodType> = Readonly<{
  method: Method;
  path: Path;
  summary: string;
  query?: Q;
  body?: B;
  bodyKind?: BodyKind;
  /** An absent body is read as `{}`. */
  bodyOptional?: boolean;
  /** The whole body is the caller's own data: a field `namespace` in it means nothing here. */
  bodyIsData?: boolean;
  replies: Replies;
}>;

export type ProtectedSpec<Path extends string, Q extends QuerySchema, B extends z.ZodType, C> = RouteSpec<Path, Q, B> &
  Readonly<{
    scope: RequiredScope;
    /** Scopes that only the body tells. */
    bodyScopes?: (body: z.output<B>) => readonly string[];
    /** The scope is of something that only the body names: whoever may do it to anything gets that far. */
    bodyNamesScope?: boolean;
    handle: (call: C) => Handled;
  }>;

export type ErasedCall = NamespaceCall<string, Readonly<Record<string, unknown>>, unknown> &
  Readonly<{ bytes: Uint8Array }>;

/** One line of the route table, its types erased: the pipeline runs it, and the OpenAPI document is built from it. */
export type Route = Readonly<{
  method: Method;
  /** Whole path, parameters as `:name`. */
  path: string;
  summary: string;
  /** Whose rules it keeps: how query and body are read, what a refusal looks like, and where the namespace comes from. */
  door: Dialect;
  scope: RequiredScope | typeof PUBLIC;
  /** Acts within one namespace: that of the path under /v1/ns/:ns, that of the credential under /api. */
  isNamespaced: boolean;
  query: QuerySchema;
  body: z.ZodType | undefined;
  bodyKind: BodyKind;
  bodyOptional: boolean;
  bodyIsData: boolean;
  replies: Replies;
  bodyScopes: (body: unknown) => readonly string[];
  bodyNamesScope: boolean;
  handle: (call: ErasedCall) => Handled;
}>;

const NAMESPACE_PATH = '/v1/ns/:ns';

const base = <Path extends string, Q extends QuerySchema, B extends z.ZodType>(
  spec: RouteSpec<Path, Q, B>,
  door: Dialect = 'v1',
) => ({
  door,
  method: spec.method,
  summary: spec.summary,
  query: spec.query ?? noQuery,
  body: spec.body,
  bodyKind: spec.bodyKind ?? 'control',
  bodyOptional: spec.bodyOptional ?? false,
  bodyIsData: spec.bodyIsData ?? false,
  replies: spec.replies,
});

/** A route under /v1/ns/{ns}: `path` is what follows. */
export const namespaceRoute = <
  Path extends string,
  Q extends QuerySchema = typeof noQuery,
  B extends z.ZodType = z.ZodUndefined,
>(
  spec: ProtectedSpec<Path, Q, B, NamespaceCall<Path, z.output<Q>, z.output<B>>>,
): Route => ({
  ...base(spec),
  path: `${NAMESPACE_PATH}${spec.path}`,
  scope: spec.scope,
  isNamespaced: true,
  // The pipeline parses query and body with the schemas of this very spec before it calls either function.
  bodyScopes: (spec.bodyScopes ?? (() => [])) as Route['bodyScopes'],
  bodyNamesScope: spec.bodyNamesScope ?? false,
  handle: spec.handle as unknown as Route['handle'],
});

const CONDUCTOR_PATH = '/api';

/** A route under /api, within the namespace of the caller's credential: `path` is what follows. */
export const conductorRoute = <
  Path extends string,
  Q extends QuerySchema = typeof noQuery,
  B extends z.ZodType = z.ZodUndefined,
>(
  spec: Omit<ProtectedSpec<Path, Q, B, NamespaceCall<Path, z.output<Q>, z.output<B>>>, 'replies'>,
): Route => ({
  ...base({ ...spec, replies: {} }, 'conductor'),
  path: `${CONDUCTOR_PATH}${spec.path}`,
  scope: spec.scope,
  isNamespaced: true,
  bodyScopes: (spec.bodyScopes ?? (() => [])) as Route['bodyScopes'],
  bodyNamesScope: spec.bodyNamesScope ?? false,
  handle: spec.handle as unknown as Route['handle'],
});

/** A route under /api that needs no credentials. */
export const openConductorRoute = <Path extends string, B extends z.ZodType = z.ZodUndefined>(
  spec: Omit<RouteSpec<Path, typeof noQuery, B>, 'replies'> &
    Readonly<{ handle: (call: PublicCall<Path, z.output<B>>) => Handled }>,
): Route => ({ ...publicRoute({ ...spec, replies: {} }), path: `${CONDUCTOR_PATH}${spec.path}`, door: 'conductor' });

/** A protected route outside any namespace. */
export const platformRoute = <
  Path extends string,
  Q extends QuerySchema = typeof noQuery,
  B extends z.ZodType = z.ZodUndefined,
>(
  spec: ProtectedSpec<Path, Q, B, Call<Path, z.output<Q>, z.output<B>>>,
): Route => ({
  ...base(spec),
  path: spec.path,
  scope: spec.scope,
  isNamespaced: false,
  bodyScopes: (spec.bodyScopes ?? (() => [])) as Route['bodyScopes'],
  bodyNamesScope: spec.bodyNamesScope ?? false,
  handle: spec.handle as unknown as Route['handle'],
});

/** What a route without credentials is called with: no principal, and a body's bytes for whoever checks a signature. */
export type PublicCall<Path extends string, Body> = CallContext &
  Readonly<{ params: Readonly<Record<PathParameter<Path>, string>>; body: Body; bytes: Uint8Array }>;

/** A route that needs no credentials. */
export const publicRoute = <Path extends string, B extends z.ZodType = z.ZodUndefined>(
  spec: RouteSpec<Path, typeof noQuery, B> & Readonly<{ handle: (call: PublicCall<Path, z.output<B>>) => Handled }>,
): Route => ({
  ...base(spec),
  path: spec.path,
  scope: PUBLIC,
  isNamespaced: false,
  bodyScopes: () => [],
  bodyNamesScope: false,
  handle: spec.handle as unknown as Route['handle'],
});

const PARAMETER = /\{([a-zA-Z]+)\}/g;

/** The scope a call needs, path parameters filled in. */
export const requiredScope = (scope: RequiredScope, params: Readonly<Record<string, string>>): string =>
  scope.replaceAll(PARAMETER, (_, name: string) => params[name] ?? '');
