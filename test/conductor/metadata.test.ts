import type { OrkesClients } from '@io-orkes/conductor-javascript';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ConductorServer, startConductorServer } from './support/conductor-server.ts';
import { sdkFor } from './support/sdk.ts';

let server: ConductorServer;
let clients: OrkesClients;

beforeAll(async () => {
  server = await startConductorServer();
  clients = await sdkFor(server.url);
});
afterAll(() => server.close());

const simple = (name: string) => ({ name, taskReferenceName: `${name}_ref`, type: 'SIMPLE', inputParameters: {} });
const workflow = (name: string, version = 1, more: object = {}) =>
  ({ name, version, tasks: [simple('charge')], schemaVersion: 2, timeoutSeconds: 0, inputParameters: [], ...more }) as never;

describe('MetadataClient', () => {
  it('registers, reads, updates, lists and deletes task definitions', async () => {
    const metadata = clients.getMetadataClient();
    await metadata.registerTask({ name: 'm_one', retryCount: 5 } as never);
    await metadata.registerTasks([{ name: 'm_two' }, { name: 'm_three', timeoutSeconds: 60, responseTimeoutSeconds: 10 }] as never);
    expect(await metadata.getTask('m_one')).toMatchObject({ name: 'm_one', retryCount: 5, retryLogic: 'FIXED', retryDelaySeconds: 60 });
    await metadata.updateTask({ name: 'm_one', retryCount: 1 } as never);
    await metadata.updateTask({ name: 'm_four' } as never);
    expect((await metadata.getTask('m_one')).retryCount).toBe(1);
    const names = (await metadata.getAllTaskDefs()).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['m_one', 'm_two', 'm_three', 'm_four']));
    await metadata.unregisterTask('m_four');
    await expect(metadata.getTask('m_four')).rejects.toThrow('No such taskType found by name: m_four');
  });
});
