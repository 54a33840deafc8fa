import type { Outbound } from '../../src/composition/container.ts';
import { err } from '../../src/domain/kernel/result.ts';

/** For tests that make no call. */
export const noCalls: Outbound = {
  slots: 4,
  datasources: {
    run: async () => err({ code: 'UNKNOWN_DATASOURCE', message: 'This test has no datasources.', retryable: false }),
  },
  drainMs: 20,
  http: { send: async () => err({ code: 'URL_NOT_ALLOWED', message: 'This test makes no calls.' }) },
};
