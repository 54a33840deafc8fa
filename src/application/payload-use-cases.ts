import { addMs } from '../domain/kernel/brand.ts';
import { err, ok } from '../domain/kernel/result.ts';
import type { Clock } from '../ports/clock.ts';
import type { Ids } from '../ports/ids.ts';
import type { PayloadGrant, PayloadSeal, PayloadStore } from '../ports/payload-store.ts';
import type { ApplicationError } from './application-error.ts';
import type { UseCases } from './use-cases.ts';

/** How long an address to upload to or to read from is good for. */
export const PAYLOAD_GRANT_MS = 900_000;
/** How long an uploaded payload may wait to be named. */
export const PAYLOAD_KEPT_MS = 7 * 86_400_000;
/** Characters of a path. */
export const PAYLOAD_PATH_CHARS_MAX = 500;

type Deps = Readonly<{ store: PayloadStore; seal: PayloadSeal; clock: Clock; ids: Ids }>;

const noPayload = (path: string): ApplicationError => ({
  code: 'NOT_FOUND',
  message: `There is no external payload ${path}: it was not uploaded, or too long ago.`,
});

/** One body for every cause: a token that does not hold says nothing about what it is for. */
const REFUSED: ApplicationError = { code: 'NOT_FOUND', message: 'This address is not valid, or no longer.' };

/** Payloads that clients upload before they name them. Errors: NOT_FOUND, VALIDATION_FAILED. */
export const createPayloadUseCases = ({ store, seal, clock, ids }: Deps): UseCases['payloads'] => {
  const granted = (token: string, operation: PayloadGrant['operation']): PayloadGrant | undefined => {
    const grant = seal.grantOf(token);
    return grant?.operation === operation && grant.expiresAt > clock.now() ? grant : undefined;
  };
  return {
    location: async (namespace, { operation, kind, path }) => {
      if (operation === 'READ' && (path === undefined || path.length > PAYLOAD_PATH_CHARS_MAX)) {
        return err({ code: 'VALIDATION_FAILED', message: 'To read a payload its path is needed.', path: 'path' });
      }
      // A path of the client's own could be that of another payload.
      const at = operation === 'READ' && path !== undefined ? path : `${kind}/${ids.executionId()}.json`;
      const expiresAt = addMs(clock.now(), PAYLOAD_GRANT_MS);
      return ok({ path: at, token: seal.token({ namespace, path: at, operation, expiresAt }) });
    },
    upload: async (token, content) => {
      const grant = granted(token, 'WRITE');
      if (grant === undefined) return err(REFUSED);
      await store.putPayload(grant.namespace, grant.path, content);
      return ok(null);
    },
    download: async (token) => {
      const grant = granted(token, 'READ');
      const content = grant === undefined ? undefined : await store.findPayload(grant.namespace, grant.path);
      return content === undefined ? err(REFUSED) : ok(content);
    },
    load: async (namespace, path) => {
      const content = await store.findPayload(namespace, path);
      return content === undefined ? err(noPayload(path)) : ok(content);
    },
  };
};
