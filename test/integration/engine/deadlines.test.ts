import { describe, expect, it } from 'vitest';
import type { ExecutionId } from '../../../src/domain/kernel/brand.ts';
import type { JsonObject } from '../../../src/domain/kernel/json.ts';
import { NAMESPACE, useCluster } from '../../support/engine.ts';
import { eventsOf, ofType, registerWorkflow, startRun, statusOf, whenEnded } from '../../support/runs.ts';
import { leaseFrom, leaseOne, reportOne } from '../../support/workers.ts';
import { chain, workflow } from './definitions.ts';
import { countOf, passDeadlines } from './given.ts';

/** How late the clock may be noticed on a busy machine: the idle time of the loop, and room. */
const LATE_MS_MAX = 2_500;

describe('deadlines', () => {
  const { at, cluster } = useCluster({}, {});

  const given = async (name: string, change: JsonObject, run: JsonObject = {}): Promise<ExecutionId> => {
    await registerWorkflow(at(0), { ...chain(name, 1, name, { retryDelaySeconds: 0, ...change }), ...run });
    return startRun(at(0), name);
  };

  const fireAtOnce = async () => {
    await Promise.all([at(0).runLoopOnce('deadlines'), at(1).runLoopOnce('deadlines')]);
    await at(1).evaluateAll();
  };

  const closings = async (id: ExecutionId) => ofType(await eventsOf(at(0), id), 'TaskClosed');

  const waiting = (name: string, duration: string) =>
    workflow(name, [{ name: 'wait', taskReferenceName: 'wait', type: 'WAIT', inputParameters: { duration } }]);

  it('WAIT fires when it is due, not before, and soon after, by the loops alone', async () => {
    await registerWorkflow(at(0), waiting('soon', '1 second'));
    const id = await startRun(at(0), 'soon');
    for (const server of cluster().servers) server.startLoops('deadlines', 'evaluate');
    expect(await whenEnded(at(0), id)).toBe('COMPLETED');
    await Promise.all(cluster().servers.map((server) => server.stopLoops()));
    const events = await eventsOf(at(0), id);
    const fireAt = ofType(events, 'TaskScheduled')[0]?.fireAt ?? 0;
    const [closed] = ofType(events, 'TaskClosed');
    expect(closed).toMatchObject({ status: 'COMPLETED' });
    expect((closed?.at ?? 0) - fireAt).toBeGreaterThanOrEqual(0);
    expect((closed?.at ?? 0) - fireAt).toBeLessThan(LATE_MS_MAX);
  });

  it('WAIT that is not due does not fire; one that is due fires once though two servers look at the same moment', async () => {
    await registerWorkflow(at(0), waiting('later', '1 hour'));
    const id = await startRun(at(0), 'later');
    await fireAtOnce();
    expect(await statusOf(at(0), id)).toBe('RUNNING');
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(await closings(id)).toHaveLength(1);
  });

  it('schedule-to-start ends an attempt that no worker took, and spares one that a worker has', async () => {
    const id = await given('unserved', { scheduleToStartTimeout: 60, retryCount: 1 });
    const served = await given('served', { scheduleToStartTimeout: 60 });
    const task = await leaseOne(at(0), 'served');
    await passDeadlines(cluster().observer, id);
    await passDeadlines(cluster().observer, served);
    await fireAtOnce();
    expect(await closings(id)).toMatchObject([{ status: 'TIMED_OUT', deadline: 'SCHEDULE_TO_START', attempt: 1 }]);
    expect(await reportOne(at(0), await leaseOne(at(0), 'unserved'))).toBe('settled');
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
    expect(await statusOf(at(0), served)).toBe('COMPLETED');
  });

  it('start-to-close counts from the first lease and retries', async () => {
    const id = await given('slow', { startToCloseTimeout: 60, retryCount: 1 });
    await passDeadlines(cluster().observer, id);
    expect(await countOf(cluster().observer, 'select count(*) from timers where workflow_id = $1', [id])).toBe(0);
    await leaseOne(at(0), 'slow');
    expect(await countOf(cluster().observer, 'select count(*) from timers where workflow_id = $1', [id])).toBe(1);
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    expect(await closings(id)).toMatchObject([{ status: 'TIMED_OUT', deadline: 'START_TO_CLOSE' }]);
    expect(await countOf(cluster().observer, 'select count(*) from timers where workflow_id = $1', [id])).toBe(0);
    expect((await leaseOne(at(0), 'slow')).attempt).toBe(2);
  });

  it('the total deadline is over all attempts and is never retried', async () => {
    const id = await given('total', { totalTimeout: 60, retryCount: 5 });
    expect(await reportOne(at(0), await leaseOne(at(0), 'total'), { status: 'FAILED' })).toBe('settled');
    await at(0).evaluateAll();
    expect((await leaseOne(at(0), 'total')).attempt).toBe(2);
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    expect(await closings(id)).toMatchObject([
      { attempt: 1, status: 'FAILED' },
      { attempt: 2, status: 'TIMED_OUT', deadline: 'SCHEDULE_TO_CLOSE', disposition: { kind: 'fail' } },
    ]);
    expect(await statusOf(at(0), id)).toBe('TIMED_OUT');
  });

  it('ALERT_ONLY records that the deadline passed, once over two servers, and the attempt goes on to count', async () => {
    const id = await given('alerting', { startToCloseTimeout: 60, timeoutPolicy: 'ALERT_ONLY' });
    const task = await leaseOne(at(0), 'alerting');
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    await fireAtOnce();
    expect(ofType(await eventsOf(at(0), id), 'TaskDeadlineMissed')).toMatchObject([{ deadline: 'START_TO_CLOSE' }]);
    expect(await reportOne(at(0), task)).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
  });

  it('TIME_OUT_WF ends the run though retries are left', async () => {
    const id = await given('fatal', { startToCloseTimeout: 60, timeoutPolicy: 'TIME_OUT_WF', retryCount: 5 });
    await leaseOne(at(0), 'fatal');
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    expect(await statusOf(at(0), id)).toBe('TIMED_OUT');
    expect(await leaseFrom(at(0), ['fatal'])).toEqual([]);
  });

  it('the deadline of the run ends it and everything open in it, once over two servers', async () => {
    const id = await given('bounded', {}, { timeoutSeconds: 60 });
    const task = await leaseOne(at(0), 'bounded');
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    expect(await statusOf(at(0), id)).toBe('TIMED_OUT');
    expect(ofType(await eventsOf(at(0), id), 'ExecutionClosed')).toHaveLength(1);
    expect(await reportOne(at(0), task)).toBe('LEASE_LOST');
  });

  it('the deadline of a run with ALERT_ONLY is recorded once over two servers, and the run goes on', async () => {
    const id = await given('alert_run', {}, { timeoutSeconds: 60, timeoutPolicy: 'ALERT_ONLY' });
    await passDeadlines(cluster().observer, id);
    await fireAtOnce();
    await fireAtOnce();
    expect(ofType(await eventsOf(at(0), id), 'ExecutionDeadlineMissed')).toHaveLength(1);
    expect(await reportOne(at(0), await leaseOne(at(0), 'alert_run'))).toBe('settled');
    await at(0).evaluateAll();
    expect(await statusOf(at(0), id)).toBe('COMPLETED');
  });

  it('nothing fires after the end', async () => {
    const id = await given('ended', { startToCloseTimeout: 60, totalTimeout: 90 }, { timeoutSeconds: 120 });
    await leaseOne(at(0), 'ended');
    await passDeadlines(cluster().observer, id);
    await Promise.all([
      at(0).useCases.executions.terminate(NAMESPACE, id, 'test'),
      at(1).runLoopOnce('deadlines'),
      at(0).runLoopOnce('deadlines'),
    ]);
    await fireAtOnce();
    const events = await eventsOf(at(0), id);
    expect(events.at(-1)?.type).toBe('ExecutionClosed');
    expect(ofType(events, 'ExecutionClosed')).toHaveLength(1);
    expect(await countOf(cluster().observer, 'select count(*) from timers where workflow_id = $1', [id])).toBe(0);
  });
});
