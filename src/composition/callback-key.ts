import { systemClock } from '../adapters/clock/system-clock.ts';
import { createSystemIds } from '../adapters/ids/system-ids.ts';
import type { AccessStore } from '../ports/access-store.ts';

/** The key of the callbacks of this database; the first server draws it. */
export const callbackKeyOf = (access: AccessStore): Promise<string> =>
  access.keepServerKey('callbacks', createSystemIds(systemClock).secret());

/** What access tokens are signed with where the configuration names no secret. */
export const tokenSecretOf = (access: AccessStore): Promise<string> =>
  access.keepServerKey('access-tokens', createSystemIds(systemClock).secret());
