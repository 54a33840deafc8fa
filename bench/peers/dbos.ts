import { closedLoop, load, type Peer, RunNotes } from './peer.ts';

type Handle = Readonly<{ getResult(): Promise<unknown> }>;
type Workflow = (run: string, steps: number) => Promise<void>;
type Sdk = Readonly<{
  DBOS: Readonly<{
    setConfig(config: object): void;
    registerWorkflow(workflow: Workflow, options: object): Workflow;
    runStep(step: () => Promise<number>, options: object): Promise<number>;
    startWorkflow(workflow: Workflow): (run: string, steps: number) => Promise<Handle>;
    launch(): Promise<void>;
    shutdown(): Promise<void>;
  }>;
}>;

/** Started in the process; the start is awaited, then the result. */
export const dbos: Peer = {
  name: 'DBOS',
  start: async (url) => {
    const { DBOS } = await load<Sdk>('@dbos-inc/dbos-sdk');
    let notes = new RunNotes();
    DBOS.setConfig({ name: 'bench', systemDatabaseUrl: url, logLevel: 'error' });
    const workflow = DBOS.registerWorkflow(
      async (run, steps) => {
        for (let n = 1; n <= steps; n += 1) {
          const step = async (): Promise<number> => {
            notes.step(run, n);
            return n;
          };
          await DBOS.runStep(step, { name: `s${n}` });
        }
      },
      { name: 'chain' },
    );
    await DBOS.launch();
    return {
      run: (order) => {
        notes = new RunNotes();
        return closedLoop(order, notes, async (run) => {
          const handle = await DBOS.startWorkflow(workflow)(run, order.steps);
          await handle.getResult();
        });
      },
      stop: () => DBOS.shutdown(),
    };
  },
};
