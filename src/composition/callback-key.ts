import { systemClock } from '../adapters/clock/system-clock.ts';
import { createSystemIds } from '../adapters/ids/system-ids.ts';
import type { AccessStore } from '../ports/access-store.ts';

/** The key of the callbacks of this database; the first server draws it. */
export const callbackKeyOf = (access: AccessStore): Promise<string> =>
  access.keepServerKey('callbacks', createSystemIds(systemClock).secret());
