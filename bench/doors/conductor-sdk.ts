import { noopLogger, OrkesClients, TaskManager } from '@io-orkes/conductor-javascript';
import { markOf } from '../task-clock.ts';
import { type Door, outputOf, QUEUE } from './door.ts';
import { httpDoor } from './http.ts';

const MANAGERS = 2;
const CONCURRENCY = 10;
const POLL_INTERVAL_MS = 5;

/** Workers of Conductor's own JavaScript client, as its users run them. */
export const withConductorSdk: Door = httpDoor('/api with the Conductor SDK', async (url, _send, clock) => {
  const clients = await OrkesClients.from({ serverUrl: url, logger: noopLogger });
  const execute = async ({ inputData }: { inputData?: unknown }) => {
    const mark = markOf(inputData);
    clock.leased(mark);
    clock.reportSent(mark);
    clock.reportAnswered(mark);
    return { status: 'COMPLETED' as const, outputData: outputOf(inputData) };
  };
  const managers = Array.from({ length: MANAGERS }, (_, index) => {
    const options = { pollInterval: POLL_INTERVAL_MS, concurrency: CONCURRENCY, workerID: `bench-${index}` };
    const workers = [{ taskDefName: QUEUE, execute, concurrency: CONCURRENCY }];
    const manager = new TaskManager(clients.getClient(), workers, { logger: noopLogger, options });
    manager.startPolling();
    return manager;
  });
  return async () => {
    await Promise.all(managers.map((manager) => manager.stopPolling()));
  };
});
