import type { Instant } from '../kernel/brand.ts';
import { entriesBelow } from './entries-below.ts';
import type { TakenBack, TaskClosed } from './events.ts';
import { loopOf } from './loop-state.ts';
import { type ExecutionState, ownerEntry, type TaskEntry } from './state.ts';
import type { Followers } from './what-follows.ts';

/** What a fact says that takes these entries back; the entries below them go with them. */
export const takingBack = (
  state: ExecutionState,
  roots: ReadonlySet<TaskEntry>,
  read: Followers['read'] = new Map(),
  rewound?: Readonly<{ loop: TaskEntry; iteration: number }>,
): TakenBack => {
  const reopened = new Set<string>();
  for (const entry of rewound === undefined ? roots : [...roots, rewound.loop]) reopenAround(state, entry, reopened);
  if (rewound?.loop.phase.kind === 'closed') reopened.add(rewound.loop.key);
  const all = [...roots].flatMap((root) => [root, ...allBelow(state, root)]);
  const rewoundBelow = rewound === undefined ? [] : allBelow(state, rewound.loop);
  const taken = new Set([...all, ...rewoundBelow, ...(rewound === undefined ? [] : [rewound.loop])]);
  const waits = waitsOf(taken, read);
  const withdrawn = [...all, ...rewoundBelow].filter(isOpenOperator).map(({ key }) => key);
  return {
    resets: [...roots].sort((a, b) => a.seq - b.seq || (a.key < b.key ? -1 : 1)).map(({ key }) => key),
    ...(rewound === undefined ? {} : { rewinds: [{ ref: rewound.loop.key, iteration: rewound.iteration }] }),
    ...(waits.length === 0 ? {} : { waits }),
    ...(reopened.size === 0 ? {} : { reopened: [...reopened] }),
    ...(withdrawn.length === 0 ? {} : { withdrawn }),
  };
};

/** A reader waits only for what runs again as it does. */
const waitsOf = (taken: ReadonlySet<TaskEntry>, read: Followers['read']): NonNullable<TakenBack['waits']> => {
  const refs = new Set([...taken].map(({ node }) => node.ref));
  return [...read]
    .map(([ref, entries]) => ({
      ref,
      on: [...entries]
        .filter((one) => taken.has(one))
        .map(({ key }) => key)
        .sort(),
    }))
    .filter(({ ref, on }) => on.length > 0 && refs.has(ref))
    .sort((a, b) => (a.ref < b.ref ? -1 : 1));
};

const reopenAround = (state: ExecutionState, entry: TaskEntry, reopened: Set<string>): void => {
  for (let at = ownerEntry(state, entry.node, entry.path); at !== undefined; at = ownerEntry(state, at.node, at.path)) {
    if (at.phase.kind === 'closed' && loopOf(at) !== undefined) reopened.add(at.key);
  }
};

export const allBelow = (state: ExecutionState, entry: TaskEntry): readonly TaskEntry[] =>
  entriesBelow(state, entry).flatMap((below) => [below, ...allBelow(state, below)]);

/** A join or a loop that history shows as open, or would when the run is reopened. */
const isOpenOperator = ({ phase, node }: TaskEntry): boolean => {
  const staysOpen = node.type === 'JOIN' || node.type === 'EXCLUSIVE_JOIN' || node.type === 'DO_WHILE';
  return staysOpen && !(phase.kind === 'closed' && phase.ok);
};

/** The facts that take away what is open of these entries and below them. */
export const withdrawals = (state: ExecutionState, roots: Iterable<TaskEntry>, at: Instant): readonly TaskClosed[] =>
  [...roots]
    .flatMap((root) => [root, ...allBelow(state, root)])
    .flatMap(({ phase }) => {
      if (phase.kind !== 'attempt') return [];
      const { ref, iteration, attempt } = phase.scheduled;
      const disposition = { kind: 'withdraw' } as const;
      return [{ type: 'TaskClosed', at, ref, iteration, attempt, status: 'CANCELED', output: {}, disposition }];
    });
