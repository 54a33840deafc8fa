import type { OrkesClients, SchedulerClient } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { registerFlow, workflowOf } from './support/runs.ts';
import { sdkFor } from './support/sdk.ts';

type Body = Readonly<Record<string, unknown>>;

let server: ConductorServer;
let clients: OrkesClients;
let scheduler: SchedulerClient;

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
  scheduler = clients.getSchedulerClient();
  await registerFlow(server, 'report', [{ name: 'n', taskReferenceName: 'n', type: 'NOOP' }]);
});
afterAll(async () => {
  expect(server.problems).toEqual([]);
  await server.close();
});

const nightly = (name: string, more: Body = {}) => ({
  name,
  cronExpression: '0 30 2 ? * *',
  zoneId: 'Europe/Berlin',
  description: 'every night',
  runCatchupScheduleInstances: true,
  startWorkflowRequest: { name: 'report', version: 1, input: { full: true }, correlationId: 'c-1', priority: 3 },
  ...more,
});

describe('the scheduler client of Conductor', () => {
  it('saves a schedule and reads it as it was saved', async () => {
    await scheduler.saveSchedule(nightly('nightly', { createdBy: 'ann', scheduleStartTime: 1_700_000_000_000 }));
    const saved = await scheduler.getSchedule('nightly');
    expect(saved).toMatchObject({
      ...nightly('nightly'),
      scheduleStartTime: 1_700_000_000_000,
      paused: false,
      cronSchedules: [{ cronExpression: '0 30 2 ? * *', zoneId: 'Europe/Berlin' }],
      tags: [],
    });
    const [next] = await scheduler.getNextFewSchedules('0 30 2 ? * *', 0, 0, 1);
    expect(next).toBeGreaterThan(0);
    expect((saved as Body).nextRunTime).toBeTypeOf('number');
    expect((await scheduler.getAllSchedules('report')).map(({ name }) => name)).toContain('nightly');
    expect(await scheduler.getAllSchedules('nothing')).toEqual([]);
  });

  it('previews at most five instants, in their window', async () => {
    const from = Date.UTC(2030, 0, 1, 12);
    const times = await scheduler.getNextFewSchedules('0 0 2 * * *', from, from + 3 * 86_400_000, 10);
    expect(times).toEqual([1, 2, 3].map((day) => Date.UTC(2030, 0, 1 + day, 2)));
    expect(await scheduler.getNextFewSchedules('0 0 2 * * *', from, undefined, 100)).toHaveLength(5);
  });

  it('pauses with a reason, and resumes, by PUT and by GET', async () => {
    await scheduler.saveSchedule(nightly('paused'));
    await scheduler.pauseSchedule('paused', 'holidays');
    expect(await scheduler.getSchedule('paused')).toMatchObject({ paused: true, pausedReason: 'holidays' });
    await scheduler.resumeSchedule('paused');
    expect((await scheduler.getSchedule('paused')).paused).toBe(false);
    expect((await server.send('GET', '/api/scheduler/schedules/paused/pause')).status).toBe(200);
    expect((await scheduler.getSchedule('paused')).paused).toBe(true);
    expect((await server.send('GET', '/api/scheduler/schedules/paused/resume')).status).toBe(200);
    expect((await scheduler.getSchedule('paused')).paused).toBe(false);
  });

  it('pauses all and resumes those alone that it paused', async () => {
    await scheduler.saveSchedule(nightly('rests', { paused: true }));
    await scheduler.saveSchedule(nightly('goes'));
    await scheduler.pauseAllSchedules();
    expect((await scheduler.getSchedule('goes')).paused).toBe(true);
    await scheduler.resumeAllSchedules();
    expect((await scheduler.getSchedule('goes')).paused).toBe(false);
    expect((await scheduler.getSchedule('rests')).paused).toBe(true);
    await scheduler.requeueAllExecutionRecords();
  });

  it('tags a schedule, finds it by a tag, and takes tags away', async () => {
    await scheduler.saveSchedule(nightly('tagged'));
    const tags = [
      { key: 'team', value: 'x' },
      { key: 'tier', value: '1' },
    ];
    await scheduler.setSchedulerTags(tags, 'tagged');
    expect(await scheduler.getSchedulerTags('tagged')).toMatchObject(tags);
    const found = await server.send('GET', '/api/scheduler/schedules/tags?tag=team:x');
    expect((found.json as readonly Body[]).map(({ name }) => name)).toEqual(['tagged']);
    await scheduler.deleteSchedulerTags([{ key: 'team', value: 'x' }], 'tagged');
    expect(await scheduler.getSchedulerTags('tagged')).toMatchObject([{ key: 'tier', value: '1' }]);
    await scheduler.deleteSchedule('tagged');
    await scheduler.saveSchedule(nightly('tagged'));
    expect(await scheduler.getSchedulerTags('tagged')).toEqual([]);
  });

  it('starts the workflow with the facts of the firing in its input, and finds the firing', async () => {
    await scheduler.saveSchedule(nightly('often', { cronExpression: '* * * * * *', zoneId: 'UTC' }));
    const fired = async () => {
      const { results = [] } = await scheduler.search(0, 10, 'scheduledTime:DESC', '*', "scheduleName = 'often'");
      return results;
    };
    await expect.poll(fired, { timeout: 10_000 }).not.toEqual([]);
    await scheduler.pauseSchedule('often');
    const [run] = await fired();
    expect(run).toMatchObject({ state: 'EXECUTED', workflowName: 'report', scheduleName: 'often', zoneId: 'UTC' });
    expect(run?.startWorkflowRequest).toMatchObject({ name: 'report', input: { full: true } });
    const started = await workflowOf(server, run?.workflowId ?? '');
    expect(started).toMatchObject({
      workflowName: 'report',
      correlationId: 'c-1',
      priority: 3,
      input: {
        full: true,
        _startedByScheduler: 'often',
        _scheduledTime: run?.scheduledTime,
        _executionId: run?.executionId,
        _schedulerCron: '* * * * * *',
      },
    });
    const query = (text: string) => scheduler.search(0, 10, undefined, '*', text);
    expect((await query('state = FAILED AND scheduleName IN (often, "other")')).totalHits).toBe(0);
    expect((await query(`executionId = ${run?.executionId}`)).totalHits).toBe(1);
    await expect(query('colour = red')).rejects.toThrow(/colour = red/);
  });

  it('records a start that is refused as FAILED, with the reason', async () => {
    const startWorkflowRequest = { name: 'nobody' };
    await scheduler.saveSchedule(nightly('fails', { cronExpression: '* * * * * *', startWorkflowRequest }));
    const failed = async () => (await scheduler.search(0, 1, undefined, 'fails')).results ?? [];
    await expect.poll(failed, { timeout: 10_000 }).not.toEqual([]);
    expect((await failed())[0]).toMatchObject({ state: 'FAILED', reason: expect.stringContaining('nobody') });
    await scheduler.deleteSchedule('fails');
  });

  it('deletes a schedule, and is told where there is none', async () => {
    await scheduler.saveSchedule(nightly('gone'));
    await scheduler.deleteSchedule('gone');
    await expect(scheduler.getSchedule('gone')).rejects.toThrow(/no schedule gone/);
    await expect(scheduler.deleteSchedule('gone')).rejects.toThrow(/no schedule gone/);
    await expect(scheduler.pauseSchedule('gone')).rejects.toThrow(/no schedule gone/);
  });
});

describe('what only other clients of the scheduler ask', () => {
  it('several crons, each with its zone', async () => {
    const cronSchedules = [
      { cronExpression: '0 0 9 * * MON-FRI', zoneId: 'Asia/Tokyo' },
      { cronExpression: '0 0 12 L * *' },
    ];
    const { cronExpression: _, zoneId: _zone, ...rest } = nightly('several');
    const saved = await server.send('POST', '/api/scheduler/schedules', { json: { ...rest, cronSchedules } });
    expect(saved.json).toMatchObject({ cronSchedules: [cronSchedules[0], { ...cronSchedules[1], zoneId: 'UTC' }] });
  });

  it('search by name, workflow, state and text', async () => {
    const names = async (query: string) => {
      const { json } = await server.send('GET', `/api/scheduler/schedules/search?${query}`);
      return (json as { results: readonly Body[] }).results.map(({ name }) => name);
    };
    await scheduler.saveSchedule(nightly('found-b', { description: 'the needle' }));
    await scheduler.saveSchedule(nightly('found-a', { paused: true }));
    expect(await names('scheduleName=found')).toEqual(['found-a', 'found-b']);
    expect(await names('scheduleName=found&sort=name:DESC&size=1')).toEqual(['found-b']);
    expect(await names('scheduleName=found&paused=true')).toEqual(['found-a']);
    expect(await names('freeText=needle&workflowName=report')).toEqual(['found-b']);
    expect(await names('workflowName=nothing')).toEqual([]);
  });

  it('pause and resume in bulk, one answer each', async () => {
    await scheduler.saveSchedule(nightly('bulk'));
    for (const action of ['pause', 'resume']) {
      const { json } = await server.send('PUT', `/api/scheduler/bulk/${action}`, { json: ['bulk', 'nobody'] });
      expect(json).toEqual({
        bulkErrorResults: { nobody: 'There is no schedule nobody.' },
        bulkSuccessfulResults: ['bulk'],
        message: 'Bulk Request has been processed.',
      });
      expect((await scheduler.getSchedule('bulk')).paused).toBe(action === 'pause');
    }
  });

  it.each([
    [{ cronExpression: '0 0 25 * * *' }, 400],
    [{ cronExpression: '0 0 0 30 2 ?' }, 400],
    [{ zoneId: 'Mars/Phobos' }, 400],
    [{ name: '' }, 400],
    [{ startWorkflowRequest: {} }, 400],
    [{ startWorkflowRequest: { name: 'report', priority: 100 } }, 400],
  ])('a schedule with %j is refused', async (wrong, status) => {
    const answer = await server.send('POST', '/api/scheduler/schedules', { json: { ...nightly('wrong'), ...wrong } });
    expect(answer.json).toMatchObject({ status, message: expect.any(String) });
    expect(answer.status).toBe(status);
  });
});
