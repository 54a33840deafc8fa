import type { IncomingMessage } from 'node:http';
import { ADMIN_GRANT, PLATFORM_ADMIN_GRANT } from '../../application/access/scopes.ts';
import type { CheckedToken, Principal, UseCases } from '../../application/use-cases.ts';
import { err, ok, type Result } from '../../domain/kernel/result.ts';
import type { AccessPolicy } from './access-policy.ts';
import type { ApiError } from './api-error.ts';
import { headerValues } from './headers.ts';
import { callerKind } from './local-caller.ts';

const CREDENTIAL_CHARS_MAX = 2_048;
/** A token has three parts; an API key none. */
const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const BEARER = /^Bearer +(\S+)$/i;

const LOCAL_ADMINISTRATOR: Principal = { id: 'local-administrator', scopes: [ADMIN_GRANT, PLATFORM_ADMIN_GRANT] };

/** What a client with a token has to hear: that it asks for another one. */
const EXPIRED: ApiError = {
  code: 'UNAUTHENTICATED',
  message: 'The token has expired.',
  details: { token: 'expired' },
};

/** One body for every cause, so that it does not tell a revoked key from one that never was. */
const UNAUTHENTICATED: ApiError = { code: 'UNAUTHENTICATED', message: 'Credentials are missing or not valid.' };
const CROSS_SITE: ApiError = {
  code: 'FORBIDDEN',
  message: 'Without credentials only this machine may call, by a loopback name and not from another site.',
};

/**
 * Who calls. Credentials that are given are always checked, also where none are needed. Errors: UNAUTHENTICATED; FORBIDDEN
 * for a web page of another site or a rebound name that hopes to act as the local administrator.
 */
export const authenticate = async (
  request: IncomingMessage,
  policy: AccessPolicy,
  access: UseCases['access'],
): Promise<Result<Principal, ApiError>> => {
  const authorization = headerValues(request, 'authorization');
  // Conductor's clients send what they have as it is, in a header of their own.
  const keys = [...headerValues(request, 'x-api-key'), ...headerValues(request, 'x-authorization')];
  if (authorization.length + keys.length === 0) return authenticateAnonymous(request, policy);
  const key = onlyCredential(authorization, keys);
  if (key === undefined) return err(UNAUTHENTICATED);
  if (TOKEN.test(key)) return authenticateToken(request, policy, await access.checkToken(key));
  const principal = await access.authenticate(key);
  return principal === undefined ? err(UNAUTHENTICATED) : ok(principal);
};

const authenticateToken = (
  request: IncomingMessage,
  policy: AccessPolicy,
  checked: CheckedToken,
): Result<Principal, ApiError> => {
  switch (checked.kind) {
    case 'principal':
      return ok(checked.principal);
    case 'local':
      return authenticateAnonymous(request, policy);
    case 'expired':
      return err(EXPIRED);
    case 'invalid':
      return err(UNAUTHENTICATED);
    default:
      return checked satisfies never;
  }
};

/** Whoever needs no credentials here. */
export const authenticateAnonymous = (
  request: IncomingMessage,
  { mode }: AccessPolicy,
): Result<Principal, ApiError> => {
  if (mode === 'credentials') return err(UNAUTHENTICATED);
  const kind = callerKind(request);
  if (kind === 'remote') return err(UNAUTHENTICATED);
  return kind === 'local' ? ok(LOCAL_ADMINISTRATOR) : err(CROSS_SITE);
};

/** Two credentials could name two principals: such a request has none. */
const onlyCredential = (authorization: readonly string[], keys: readonly string[]): string | undefined => {
  if (authorization.length + keys.length !== 1) return undefined;
  const key = keys[0] ?? BEARER.exec(authorization[0] ?? '')?.[1];
  return key === undefined || key.length > CREDENTIAL_CHARS_MAX ? undefined : key;
};
