import type { DecisionReads, DefinitionReads, EngineStore } from '../ports/engine-store.ts';

/** What decisions read, for who decides outside of a transaction. */
export const decisionReads = (engine: EngineStore, definitions: DefinitionReads): DecisionReads => ({
  findTasks: (namespace, names) => definitions.findTasks(namespace, names),
  findTaskOutput: (namespace, wanted, now) => engine.findTaskOutput(namespace, wanted, now),
  polledQueues: (namespace, queues, withinMs) => engine.polledQueues(namespace, queues, withinMs),
  findEnvironment: (namespace, names) => engine.findEnvironment(namespace, names),
  retryCounts: (namespace, names) => engine.retryCounts(namespace, names),
});
