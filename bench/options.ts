import { parseArgs } from 'node:util';

export type Options = Readonly<{
  /** Scenarios, or peers, whose name contains the text; every one but those that are only run by name, unless told. */
  only: string | undefined;
  /** How big the scenarios are: chains of this many runs, and the others in proportion. */
  runs: number;
  /** How often each is run; the figures are medians. */
  repeat: number;
  json: string | undefined;
  list: boolean;
  peers: boolean;
  steps: readonly number[];
  inFlight: readonly number[];
}>;

const RUNS_DEFAULT = 3_000;

/** @throws TypeError for what cannot be understood */
export const parseOptions = (args: readonly string[]): Options => {
  const { values } = parseArgs({
    args: [...args],
    options: {
      only: { type: 'string' },
      runs: { type: 'string' },
      repeat: { type: 'string' },
      json: { type: 'string' },
      list: { type: 'boolean' },
      peers: { type: 'boolean' },
      steps: { type: 'string' },
      'in-flight': { type: 'string' },
    },
  });
  return {
    only: values.only,
    runs: whole('runs', values.runs ?? String(RUNS_DEFAULT)),
    repeat: whole('repeat', values.repeat ?? '1'),
    json: values.json,
    list: values.list ?? false,
    peers: values.peers ?? false,
    steps: wholes('steps', values.steps ?? '1,3,10'),
    inFlight: wholes('in-flight', values['in-flight'] ?? '1,10,50,200'),
  };
};

const wholes = (name: string, text: string): readonly number[] => text.split(',').map((part) => whole(name, part));

const whole = (name: string, text: string): number => {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1) return value;
  throw new TypeError(`--${name} takes whole numbers from 1, not ${text}`);
};

/** Whether a name is asked for; `byNameOnly` holds those that take long, and are run only when a part of their name is given. */
export const isAskedFor = (only: string | undefined, name: string, byNameOnly = false): boolean =>
  only === undefined ? !byNameOnly : name.includes(only);
