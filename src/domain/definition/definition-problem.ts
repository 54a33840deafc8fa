export type DefinitionProblemCode =
  | 'VALIDATION_FAILED'
  | 'UNKNOWN_FIELD'
  | 'INVALID_NAME'
  | 'DUPLICATE_REFERENCE'
  | 'INVALID_GRAPH'
  | 'UNKNOWN_TASK_TYPE'
  | 'EXPRESSION_INVALID'
  | 'LIMIT_EXCEEDED';

/** What is wrong with a definition, and where: `path` is like `tasks[2].decisionCases.gold[0].inputParameters.id`. */
export type DefinitionProblem = Readonly<{ code: DefinitionProblemCode; message: string; path: string }>;
