import type { Worker } from 'rondo/worker';

export type Connection = Readonly<{ url: string; namespace: string; apiKey?: string }>;

/** From the environment, as the `rondo` command reads it. */
export const connectionFromEnvironment = (): Connection => {
  const { RONDO_URL, RONDO_NAMESPACE, RONDO_API_KEY } = process.env;
  return {
    url: RONDO_URL ?? 'http://127.0.0.1:8080',
    namespace: RONDO_NAMESPACE ?? 'default',
    ...(RONDO_API_KEY === undefined ? {} : { apiKey: RONDO_API_KEY }),
  };
};

/** Runs a worker until Ctrl+C or SIGTERM, and lets it finish what it has begun. */
export const runUntilStopped = async (createWorker: (connection: Connection) => Worker): Promise<void> => {
  const worker = createWorker(connectionFromEnvironment());
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => void worker.stop());
  worker.start();
  console.log(`worker ${worker.workerId} is polling`);
  await worker.done;
};
