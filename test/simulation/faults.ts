import type { Chance } from '../support/chance.ts';
import type { StatementFault } from './store/database.ts';

/** Everything that can go wrong, each counted when it does. */
export const FAULTS = [
  'statement-error',
  'connection-lost',
  'done-but-lost',
  'server-crash',
  'server-freeze',
  'frozen-cut',
  'worker-crash',
  'duplicate-report',
  'late-report',
  'hint-lost',
  'hint-repeated',
  'clock-step',
  'operator',
  'odd-answer',
] as const;

export type Fault = (typeof FAULTS)[number];
export type FaultRates = Readonly<Record<Fault, number>>;

/** How often each may happen at its site, where it happens at all. */
const RATES: FaultRates = {
  'statement-error': 0.02,
  'connection-lost': 0.01,
  'done-but-lost': 0.02,
  'server-crash': 0.01,
  'server-freeze': 0.02,
  'frozen-cut': 0.5,
  'worker-crash': 0.05,
  'duplicate-report': 0.15,
  'late-report': 0.1,
  'hint-lost': 0.3,
  'hint-repeated': 0.2,
  'clock-step': 0.02,
  operator: 0.08,
  'odd-answer': 0.3,
};

/** One world in five has none; in the others each kind is there or not, often or seldom. */
export const drawRates = (chance: Chance): FaultRates => {
  const isCalm = chance.isBelow(0.2);
  const rate = (fault: Fault): number => {
    const isThere = chance.isBelow(0.6);
    const strength = chance.pick([0.3, 1, 2]);
    return isCalm || !isThere ? 0 : Math.min(0.9, RATES[fault] * strength);
  };
  return Object.fromEntries(FAULTS.map((fault) => [fault, rate(fault)])) as FaultRates;
};

export const NO_FAULTS = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as FaultRates;

/** 40001 and 40P01 are lost races, 57014 a statement that took too long, 08006 a broken connection. */
const SQLSTATES = ['40001', '40P01', '57014', '08006'] as const;

/** Draws the faults of one world until it is healed. */
export class FaultPlan {
  readonly fired: Record<Fault, number>;
  private readonly rates: FaultRates;
  private readonly chance: Chance;
  private isHealed = false;

  constructor(rates: FaultRates, chance: Chance) {
    this.rates = rates;
    this.chance = chance;
    this.fired = Object.fromEntries(FAULTS.map((fault) => [fault, 0])) as Record<Fault, number>;
  }

  heal(): void {
    this.isHealed = true;
  }

  /** Whether this fault happens here and now. */
  happens(fault: Fault): boolean {
    const rate = this.rates[fault];
    if (this.isHealed || rate === 0 || !this.chance.isBelow(rate)) return false;
    this.fired[fault] += 1;
    return true;
  }

  ofStatement(label: string): StatementFault | undefined {
    if (this.happens('statement-error')) return 'error';
    if (this.happens('connection-lost')) return 'lost';
    const isCommit = label === 'commit' || label === 'alone';
    return isCommit && this.happens('done-but-lost') ? 'done-but-lost' : undefined;
  }

  sqlstate(): string {
    return this.chance.pick(SQLSTATES);
  }
}
