/**
 * The vocabulary of authorisation. A scope is `resource:action`, for some actions followed by a name; a grant is a scope,
 * a prefix of scopes that ends in `:*`, or `admin`.
 */
const ACTIONS = {
  definitions: ['read', 'write', 'delete'],
  executions: ['start', 'read', 'control', 'signal', 'delete'],
  tasks: ['read', 'report', 'complete'],
  queues: ['read', 'lease'],
  webhooks: ['receive'],
  events: ['read', 'publish'],
  eventHandlers: ['read', 'write'],
  deadLetters: ['read', 'control'],
  semaphores: ['read', 'write'],
  schedules: ['read', 'write', 'control'],
  environment: ['read', 'write'],
  secrets: ['read', 'write'],
  keys: ['read', 'write'],
  quotas: ['read'],
  platform: ['admin'],
} as const;

type Actions = typeof ACTIONS;

/** Every `resource:action` there is. */
export type ScopeAction = { [R in keyof Actions]: `${R}:${Actions[R][number]}` }[keyof Actions];

/** Covers every scope but those of the platform itself. */
export const ADMIN_GRANT = 'admin';
export const PLATFORM_ADMIN_GRANT = 'platform:admin';

const covers = (grant: string, scope: string): boolean => {
  if (grant === ADMIN_GRANT) return !scope.startsWith('platform:');
  return grant.endsWith(':*') ? scope.startsWith(grant.slice(0, -1)) : grant === scope;
};

/**
 * Whether one of the grants covers the scope: exact, or by a trailing wildcard. `queues:lease:x` does not cover
 * `queues:lease:x:domain`, `queues:lease:x:*` does. A scope may itself be a grant: then it says whether everything that
 * grant covers is covered.
 */
export const isGranted = (grants: readonly string[], scope: string): boolean =>
  grants.some((grant) => covers(grant, scope));

/** Whether one of the grants covers the scope, or the scope for some name. */
export const isGrantedSomewhere = (grants: readonly string[], scope: string): boolean =>
  isGranted(grants, scope) || grants.some((grant) => grant.startsWith(`${scope}:`));

/** Whether the text is a grant that can ever cover something: a misspelt one would silently grant nothing. */
export const isGrant = (text: string): boolean => {
  if (text === ADMIN_GRANT) return true;
  const [resource = '', action = '', ...name] = text.split(':');
  if (!Object.hasOwn(ACTIONS, resource)) return false;
  const actions: readonly string[] = ACTIONS[resource as keyof Actions];
  if (action === '*') return name.length === 0;
  return actions.includes(action) && !name.includes('') && !name.slice(0, -1).includes('*');
};
