import type { TestProject } from 'vitest/node';
import { startTestPostgres, type TestPostgres } from './postgres-server.ts';

declare module 'vitest' {
  interface ProvidedContext {
    testPostgres: TestPostgres;
  }
}

/** Vitest calls this once a run, before the files that may use a database; what it returns is called after them. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { testPostgres, stop } = await startTestPostgres();
  project.provide('testPostgres', testPostgres);
  return stop;
}
