import { describe, expect, it } from 'vitest';
import { FairTurns } from '../../../src/domain/execution/fair-turns.ts';

const LINE = 'queue/0';
const take = (turns: FairTurns, flow: string, run: string, scheduledAt = 1_000): number =>
  turns.turnOf({ line: LINE, flow, run, scheduledAt });

describe('turns in a queue', () => {
  it('are first come, first served as long as nobody floods it', () => {
    const turns = new FairTurns();
    const taken = Array.from({ length: 500 }, (_, index) =>
      take(turns, `flow-${index % 7}`, `run-${index % 90}`, 1_000 + Math.floor(index / 50)),
    );
    expect(taken).toEqual([...taken].sort((a, b) => a - b));
    expect(taken.at(-1)).toBe(1_009_000);
  });

  it('put the task of another behind no more than what is being served, however many stand in line and since when', () => {
    const turns = new FairTurns();
    const flood = Array.from({ length: 100_000 }, (_, index) => take(turns, 'flood', `run-${index}`));
    turns.serve(LINE, flood[5_000] ?? 0);
    const single = take(turns, 'single', 'one', 600_000);
    expect(flood.filter((turn) => turn > (flood[5_000] ?? 0) && turn < single)).toEqual([]);
    expect(take(turns, 'flood', 'another', 600_000)).toBeGreaterThan(flood.at(-1) ?? 0);
  });

  it('are told to another process by the two ends of the queue', () => {
    const [one, two] = [new FairTurns(), new FairTurns()];
    const flood = Array.from({ length: 10_000 }, () => take(one, 'flood', 'wide'));
    two.see(LINE, flood[200] ?? 0, { turn: flood.at(-1) ?? 0, scheduledAt: 1_000 });
    expect(take(two, 'single', 'one', 600_000)).toBeLessThanOrEqual(flood[200] ?? 0);
  });

  it('let others of a definition go before a run of it that opens many at once', () => {
    const turns = new FairTurns();
    const wide = Array.from({ length: 5_000 }, () => take(turns, 'w', 'wide'));
    turns.serve(LINE, wide[300] ?? 0);
    expect(take(turns, 'w', 'other', 9_000)).toBeLessThanOrEqual(wide[301] ?? 0);
  });

  it('share the queue between two that flood it', () => {
    const turns = new FairTurns();
    const one = Array.from({ length: 5_000 }, () => take(turns, 'one', 'r1'));
    const two = Array.from({ length: 5_000 }, () => take(turns, 'two', 'r2', 2_000));
    const ahead = one.filter((turn) => turn < (two[2_500] ?? 0)).length;
    expect(ahead).toBeGreaterThan(2_000);
    expect(ahead).toBeLessThan(3_000);
  });

  it('never bring a queue back: a task that is given back changes nothing for newcomers', () => {
    const turns = new FairTurns();
    const flood = Array.from({ length: 5_000 }, () => take(turns, 'flood', 'wide'));
    turns.serve(LINE, flood[2_000] ?? 0);
    turns.serve(LINE, flood[0] ?? 0);
    expect(take(turns, 'single', 'one', 9_000)).toBe(flood[2_000]);
  });

  it('forget who stood in line once the queue was empty', () => {
    const turns = new FairTurns();
    for (let index = 0; index < 5_000; index += 1) take(turns, 'flood', 'wide');
    turns.empty(LINE);
    expect(take(turns, 'flood', 'wide', 2_000)).toBe(2_000_000);
  });
});
