import type { OutputKey } from './output-cache.ts';

/** What a decision has to know from the store before it can go on: it is decided again with it. */
export type Need =
  | Readonly<{ type: 'needsTaskDefinition'; name: string }>
  | Readonly<{ type: 'needsCachedOutput'; wanted: OutputKey }>
  | Readonly<{ type: 'needsEnvironment'; names: readonly string[] }>
  | Readonly<{ type: 'needsPolls'; queues: readonly string[] }>;
