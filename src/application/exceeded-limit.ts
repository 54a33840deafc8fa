import type { ExceededLimit } from '../domain/execution/admit.ts';
import type { JsonObject } from '../domain/kernel/json.ts';
import type { ApplicationError } from './application-error.ts';

const MS_PER_SECOND = 1_000;

type Exceeded = ExceededLimit | Readonly<{ scope: 'namespace'; quota: string; limit: number; current: number }>;

/** How a limit that has no room is told: `quota`, `limit` and `current` for programs, and when to come back if that is known. */
export const exceededError = (exceeded: Exceeded, definition: string): ApplicationError => {
  const { scope, quota, limit, current } = exceeded;
  const key = 'key' in exceeded && exceeded.key !== undefined ? { key: exceeded.key } : {};
  const retryAfterMs = 'retryAfterMs' in exceeded ? exceeded.retryAfterMs : undefined;
  const details: JsonObject = {
    scope,
    quota,
    limit,
    current,
    ...(scope === 'definition' ? { definition } : {}),
    ...key,
    ...(retryAfterMs === undefined ? {} : { retryAfterSeconds: Math.ceil(retryAfterMs / MS_PER_SECOND) }),
  };
  const whose = scope === 'definition' ? `of the definition ${definition}` : 'of the namespace';
  return {
    code: 'LIMIT_EXCEEDED',
    message: `The limit ${quota} ${whose} is reached: ${current} of ${limit}.`,
    details,
  };
};
