/**
 * Mechanisms that a test can take away, one at a time, to see that the simulation notices. Each is a mistake that was really
 * made somewhere, or that a careful reader could make here. They live in the simulated store and in wrappers alone.
 */
export const PLANTS = {
  'decide-row-do-nothing': 'a pass is asked for with ON CONFLICT DO NOTHING, which takes no lock',
  'read-before-claim': 'what was reported is read from the decide row before the row is claimed',
  'claim-without-delete': 'the decide row is deleted at the end of the pass, not at its beginning',
  'no-execution-lock': 'the execution rows are not locked, nor does a request on a run make a decide row to hold',
  'request-without-row': 'a request on a run makes no decide row to hold before it claims',
  'wake-outside-tx': 'the pass that a report earns is asked for in a transaction of its own',
  'reported-replaced': 'a second report replaces what the decide row tells of the first',
  'park-forgets': 'a parked run forgets what had been reported',
  'step-ends-others': 'the short road ends a run that has other attempts open',
  'fence-in-subselect': 'the lease token is compared in a subselect, not in the outer WHERE',
  'no-fence': 'a report is taken whatever its lease token',
  'heartbeat-unfenced': 'a heartbeat extends a lease that another holds',
  'release-unfenced': 'whoever held a lease once gives it back, another’s too',
  'expiry-unchecked': 'an expired lease is not looked at again once its row is locked',
  'expired-forever': 'an expired lease is ignored',
  'lease-without-lock': 'a poll does not lock the tasks that it picks',
  'limit-without-lock': 'leased tasks are counted without the advisory lock on their name',
  'timer-boundary': 'a timer that is due at this very millisecond is dropped and not fired',
  'timer-overwrites': 'a deadline ends an attempt that has an outcome',
  'timer-kept': 'the timers of a run that ended stay',
  'tasks-kept': 'a run that ends leaves its leased tasks open',
  'retry-identity': 'a retry has the identity of the attempt before',
  'key-by-look': 'an idempotency key is looked for and then written, without its unique index',
  'delivered-before-sent': 'a message is marked delivered when it is claimed',
  'messages-unordered': 'a message is taken in hand while an older one of its line waits',
  'children-left': 'a run that ends does not tell its children',
  'waiting-settled-twice': 'what ended a waiting attempt is replaced by what comes later',
  'revision-lost': 'the row of a run keeps the definition that the run followed before',
  'withdrawn-kept': 'an attempt that an action took away stays in the queue',
  'unknown-retried': 'a transaction whose commit got no answer runs again',
  'admission-without-lock': 'runs at a limit are counted without its advisory lock',
  'place-kept': 'a run that ends keeps its place at a limit',
  'queue-jumped': 'a queued run takes a free place whoever waits before it',
  'rate-uncounted': 'leases are not counted in the window of their rate limit',
  'permits-kept': 'a lease that is given back keeps its permits',
  'cache-after-rollback': 'the folded state of a pass that rolled back stays in the cache',
  'half-commit': 'a transaction that throws commits what it has done so far',
} as const;

export type Plant = keyof typeof PLANTS;

/** Those that need so seldom a meeting that the suite leaves them to `npm run simulate -- --plants`. */
export const SELDOM: ReadonlySet<Plant> = new Set<Plant>([
  'heartbeat-unfenced',
  'release-unfenced',
  'step-ends-others',
  'waiting-settled-twice',
  'permits-kept',
]);
