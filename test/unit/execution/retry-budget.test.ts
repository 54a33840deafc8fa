import { describe, expect, it } from 'vitest';
import { asksForRetry } from '../../../src/domain/execution/outcome.ts';
import { isBudgetSpent, retryBudgetOf } from '../../../src/domain/execution/retry-budget.ts';
import { fork, join, loop, simple } from '../../support/builders.ts';
import { Run, type Step } from '../../support/drive.ts';

const CHARGE = { taskName: 'charge', share: 0.3 };
const budgeted = (tasks: readonly Step[], retryBudget = 0.3): Run =>
  new Run({ tasks, taskDefinitions: [{ name: 'charge', retryBudget, retryCount: 2 }] });

describe('a retry budget', () => {
  it('never holds below 20 executions, whatever share of them were retries', () => {
    expect(isBudgetSpent(CHARGE, { attempts: 19, retries: 19 })).toBe(false);
    expect(isBudgetSpent({ ...CHARGE, share: 0 }, { attempts: 19, retries: 0 })).toBe(false);
  });

  it('allows its share of the executions to be retries, and not one more', () => {
    expect(isBudgetSpent(CHARGE, { attempts: 20, retries: 5 })).toBe(false);
    expect(isBudgetSpent(CHARGE, { attempts: 20, retries: 6 })).toBe(true);
    expect(isBudgetSpent({ ...CHARGE, share: 0 }, { attempts: 20, retries: 0 })).toBe(true);
  });

  it('is asked about only where a failure would be retried', () => {
    const run = budgeted([simple('charge')]);
    const asks = (status: 'COMPLETED' | 'FAILED' | 'FAILED_WITH_TERMINAL_ERROR') =>
      asksForRetry(run.state, run.outcomeOf('charge', status));
    expect([asks('COMPLETED'), asks('FAILED'), asks('FAILED_WITH_TERMINAL_ERROR')]).toEqual([false, true, false]);
    run.fail('charge').fail('charge');
    expect(asks('FAILED')).toBe(false);
  });

  it('is the one of the task definition, and none where it is all', () => {
    const of = (run: Run) => retryBudgetOf(run.state, run.outcomeOf('charge', 'FAILED'));
    expect(of(budgeted([simple('charge')], 0.1))).toEqual({ taskName: 'charge', share: 0.1 });
    expect(of(budgeted([simple('charge')], 1))).toBeUndefined();
    expect(of(new Run({ tasks: [simple('charge')] }))).toEqual(CHARGE);
    expect(of(new Run({ tasks: [simple('charge')], door: 'conductor' }))).toBeUndefined();
  });

  it('that is spent fails the task for good, and the closing says why', () => {
    const run = budgeted([simple('charge')]);
    run.settle('charge', 'FAILED', { reason: 'bank is down', budgetSpent: true });
    expect(run.status).toBe('FAILED');
    const [closed] = run.eventsOf('TaskClosed');
    expect(closed).toMatchObject({ disposition: { kind: 'fail' }, budgetSpent: true });
    expect(run.seen('charge').reason).toBe('bank is down (not retried: the retry budget of charge is spent)');
  });

  it('that is spent lets an optional task go on, a permissive one end its branch, and a run be retried by hand', () => {
    const optional = budgeted([simple('charge', { optional: true }), simple('after')]);
    optional.settle('charge', 'FAILED', { budgetSpent: true });
    expect(optional.open()).toEqual(['after']);
    const permissive = budgeted([fork('f', [[simple('charge', { permissive: true })], [simple('b')]]), join('j')]);
    permissive.settle('charge', 'FAILED', { budgetSpent: true });
    expect(permissive.open()).toEqual(['b']);
    permissive.complete('b');
    expect(permissive.status).toBe('FAILED');
    permissive.retry();
    expect(permissive.task('charge').attempt).toBe(2);
  });

  it('that is spent holds for timeouts and lost leases too, in loops as well', () => {
    const run = budgeted([loop('l', 2, [simple('charge')])]);
    run.complete('charge__1');
    run.settle('charge__2', 'TIMED_OUT', { deadline: 'HEARTBEAT', reason: 'gone', budgetSpent: true });
    expect(run.status).toBe('TIMED_OUT');
  });
});
