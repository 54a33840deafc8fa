/** The tests that state rules of the domain. */
export const INCLUDED: readonly string[] = [
  'test/unit/{application/definitions,children,definition,execution,expression,kernel,schedule,tasks}/**/*.test.ts',
  'test/unit/application/{failed-workflow,retry-budgets}.test.ts',
];

/** Slow ones, that find little which others do not, and those that read what is not in the mutated copy. */
export const EXCLUDED: readonly string[] = [
  'test/unit/execution/{matrix,cost,reported-kinds}.test.ts',
  'test/unit/definition/{conductor-corpus,parse-totality}.test.ts',
];
