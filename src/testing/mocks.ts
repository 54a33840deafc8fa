import { stripSuffix } from '../domain/execution/task-key.ts';
import type { JsonObject, JsonValue } from '../domain/kernel/json.ts';

/** What a task that is not really done answers. */
export type MockOutcome = Readonly<{
  output?: JsonObject;
  /** COMPLETED unless told. */
  status?: 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR';
  reason?: string;
  /** How long it takes, on virtual time. */
  afterSeconds?: number;
  /** Its worker is never heard of again: the lease runs out. */
  never?: boolean;
}>;

/** The attempt that a mock is asked about. */
export type MockedTask = Readonly<{
  /** The workflow it runs in. */
  workflow: string;
  /** With the suffixes of the loops around it. */
  ref: string;
  taskName: string;
  type: string;
  attempt: number;
  input: JsonValue;
}>;

/** One answer for all attempts, one after the other (the last one stays), or a function of the attempt. */
export type Mock = MockOutcome | readonly MockOutcome[] | ((task: MockedTask) => MockOutcome);

/** By ref, by ref with its iteration (`charge__2`), by `workflow/ref`, or by the name of the task. */
export type Mocks = Readonly<Record<string, Mock>>;

const withoutSuffixes = (ref: string): string => {
  let plain = ref;
  for (let inner = stripSuffix(plain); inner !== undefined; inner = stripSuffix(plain)) plain = inner.ref;
  return plain;
};

/** Finds the mock of an attempt, the closest name first, and keeps count of those that are lists. */
export class MockBook {
  private readonly mocks: Mocks;
  private readonly used = new Map<string, number>();

  private readonly repeatsLast: boolean;

  /** Without `repeatsLast` a list answers as often as it is long, and then nobody mocks the attempt. */
  constructor(mocks: Mocks, repeatsLast = true) {
    this.mocks = mocks;
    this.repeatsLast = repeatsLast;
  }

  /** Undefined: nobody mocks it. */
  answer(task: MockedTask): MockOutcome | undefined {
    const ref = withoutSuffixes(task.ref);
    const names = [`${task.workflow}/${task.ref}`, `${task.workflow}/${ref}`, task.ref, ref, task.taskName];
    const name = names.find((candidate) => Object.hasOwn(this.mocks, candidate));
    const mock = name === undefined ? undefined : this.mocks[name];
    if (name === undefined || mock === undefined) return undefined;
    if (typeof mock === 'function') return mock(task);
    if (!isList(mock)) return mock;
    const count = this.used.get(name) ?? 0;
    this.used.set(name, count + 1);
    if (!this.repeatsLast) return mock[count];
    return mock[Math.min(count, mock.length - 1)] ?? {};
  }
}

const isList = (mock: MockOutcome | readonly MockOutcome[]): mock is readonly MockOutcome[] => Array.isArray(mock);
