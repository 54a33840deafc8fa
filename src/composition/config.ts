import { resolve } from 'node:path';
import { z } from 'zod';
import type { SealKey } from '../adapters/keys/aes-gcm-seal.ts';
import { err, ok, type Result } from '../domain/kernel/result.ts';

export const ROLES = ['api', 'decider', 'poller'] as const;
/** What a process does: answer HTTP; evaluate runs and relay messages; watch clocks and run system tasks. */
export type Role = (typeof ROLES)[number];

const MEGABYTE = 1_048_576;

const integer = (min: number, max: number, fallback: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .default(fallback);

const boolean = (fallback: boolean) =>
  z
    .enum(['true', 'false'])
    .transform((text) => text === 'true')
    .default(fallback);

const roles = z
  .string()
  .transform((text) => text.split(',').map((role) => role.trim()))
  .pipe(z.array(z.enum(ROLES)).min(1))
  .default([...ROLES]);

const HOST = /^(\*\.)?([a-z0-9_-]+\.)*[a-z0-9_-]+(:\d{1,5})?$|^\[[0-9a-f:.]+\](:\d{1,5})?$/;

const hosts = z
  .string()
  .transform((text) => text.split(',').map((host) => host.trim().toLowerCase()))
  .pipe(z.array(z.string().regex(HOST, 'must be host names such as api.example.com, *.example.com or host:8443')))
  .default([]);

const KEY = /^([A-Za-z0-9_-]{1,64}):([A-Za-z0-9+/_-]{43}=?)$/;

/** `id:base64` of 32 bytes each; no problem tells a part of a key. */
const secretKeys = z
  .string()
  .transform((text) => text.split(',').map((key) => KEY.exec(key.trim())))
  .refine((keys) => keys.every((key) => key !== null), 'must be id:base64, with 32 bytes each, comma-separated')
  .transform((keys) => keys.map((key) => ({ id: key?.[1] ?? '', bytes: Buffer.from(key?.[2] ?? '', 'base64') })))
  .refine((keys) => new Set(keys.map(({ id }) => id)).size === keys.length, 'must not have two keys of one id')
  .default([]);

const TOKEN_SECRET_CHARS_MIN = 32;

/** No problem tells a part of a secret. */
const tokenSecrets = z
  .string()
  .transform((text) => text.split(',').map((secret) => secret.trim()))
  .refine(
    (secrets) => secrets.every((secret) => secret.length >= TOKEN_SECRET_CHARS_MIN),
    `must be secrets of at least ${TOKEN_SECRET_CHARS_MIN} characters, comma-separated`,
  )
  .transform((secrets) => secrets as unknown as readonly [string, ...string[]])
  .optional();

/** A JSON object of names and URLs; no problem tells a part of one. */
const datasources = z
  .string()
  .transform((text) => {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      return undefined;
    }
  })
  .pipe(
    z.record(z.string().regex(/^[A-Za-z0-9_.-]{1,64}$/), z.string().regex(/^postgres(ql)?:\/\//), {
      error: 'must be a JSON object of names and URLs that begin with postgres://',
    }),
  )
  .transform((urls) => new Map(Object.entries(urls)))
  .default(new Map());

/** Every variable that Rondo reads; docs/operations.md describes them and test/unit/docs/operations.test.ts keeps it so. */
export const environmentSchema = z.object({
  PORT: integer(0, 65_535, 8080).describe('port of the HTTP server; 0 takes a free one'),
  RONDO_HOST: z.string().min(1).optional().describe('address that `rondo serve` listens on; default 0.0.0.0'),
  RONDO_HOME: z.string().min(1).default('.rondo').describe('folder of the embedded PostgreSQL of `rondo dev`'),
  RONDO_BLOB_DIR: z
    .string()
    .min(1)
    .optional()
    .describe('folder for large values, which all servers share; default: a table of the database'),
  DATABASE_URL: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must begin with postgres:// or postgresql://')
    .optional()
    .describe('a PostgreSQL of yours (15 to 18) instead of the embedded one'),
  RONDO_ROLES: roles.describe('what this process does, comma-separated: api, decider, poller; default all'),
  RONDO_POOL_MAX: integer(4, 200, 12).describe('database connections at most'),
  RONDO_FOLD_CACHE_MB: integer(1, 65_536, 256).describe('memory for folded runs, in MB'),
  RONDO_NOTIFY: boolean(true).describe('hint other processes through NOTIFY; all works without, a little later'),
  RONDO_SANDBOX_THREADS: integer(1, 64, 2).describe('threads for scripts and jq'),
  RONDO_CALLS_MAX: integer(1, 1_000, 64).describe('calls to the outside that this process makes at a time'),
  RONDO_OUTBOUND_NETWORKS: z
    .enum(['public', 'loopback', 'private'])
    .optional()
    .describe('where calls may go: the internet alone, this machine too, or private networks too'),
  RONDO_OUTBOUND_HOSTS: hosts.describe('hosts that may be called, comma-separated; empty: all that the networks allow'),
  RONDO_CIRCUIT_BREAKERS: boolean(false).describe(
    'leave targets of system tasks alone for a while that fail again and again',
  ),
  RONDO_DATASOURCES: datasources.describe('databases that JDBC tasks may use by name: a JSON object of names and URLs'),
  RONDO_SECRET_KEYS: secretKeys.describe('keys that secrets are sealed with, id:base64: the first seals, all open'),
  RONDO_TOKEN_SECRETS: tokenSecrets.describe(
    'what access tokens are signed with; default: a secret that the database keeps',
  ),
  RONDO_LOG_LEVEL: z
    .enum(['debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('what is logged to stderr'),
  RONDO_ALLOW_UNSAFE_DURABILITY: boolean(false).describe('start on a PostgreSQL that may lose commits; for tests only'),
});

export type Config = Readonly<{
  port: number;
  host: string | undefined;
  home: string;
  blobFolder: string | undefined;
  databaseUrl: string | undefined;
  roles: ReadonlySet<Role>;
  poolMax: number;
  foldCacheBytesMax: number;
  notify: boolean;
  sandboxThreads: number;
  callsMax: number;
  /** Undefined: what the command says. */
  outboundNetworks: 'public' | 'loopback' | 'private' | undefined;
  outboundHosts: readonly string[];
  circuitBreakers: boolean;
  secretKeys: readonly SealKey[];
  tokenSecrets: readonly [string, ...string[]] | undefined;
  datasources: ReadonlyMap<string, string>;
  logLevel: 'debug' | 'info' | 'warn' | 'error' | 'silent';
  allowUnsafeDurability: boolean;
}>;

/** Reads the configuration from environment variables; every problem is listed at once. An empty variable counts as unset. */
export const readConfig = (
  environment: Readonly<Record<string, string | undefined>>,
): Result<Config, readonly string[]> => {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environmentSchema.safeParse(given);
  if (!parsed.success) {
    return err(parsed.error.issues.map((issue) => `${issue.path[0]?.toString() ?? '?'}: ${issue.message}`));
  }
  const values = parsed.data;
  return ok({
    port: values.PORT,
    host: values.RONDO_HOST,
    home: resolve(values.RONDO_HOME),
    blobFolder: values.RONDO_BLOB_DIR === undefined ? undefined : resolve(values.RONDO_BLOB_DIR),
    databaseUrl: values.DATABASE_URL,
    roles: new Set(values.RONDO_ROLES),
    poolMax: values.RONDO_POOL_MAX,
    foldCacheBytesMax: values.RONDO_FOLD_CACHE_MB * MEGABYTE,
    notify: values.RONDO_NOTIFY,
    sandboxThreads: values.RONDO_SANDBOX_THREADS,
    callsMax: values.RONDO_CALLS_MAX,
    outboundNetworks: values.RONDO_OUTBOUND_NETWORKS,
    datasources: values.RONDO_DATASOURCES,
    secretKeys: values.RONDO_SECRET_KEYS,
    outboundHosts: values.RONDO_OUTBOUND_HOSTS,
    circuitBreakers: values.RONDO_CIRCUIT_BREAKERS,
    tokenSecrets: values.RONDO_TOKEN_SECRETS,
    logLevel: values.RONDO_LOG_LEVEL,
    allowUnsafeDurability: values.RONDO_ALLOW_UNSAFE_DURABILITY,
  });
};
