import { err, ok, type Result } from '../kernel/result.ts';
import { compileListeners, statusSinkOf } from './compile-listeners.ts';
import { compileSequence, newCompilation } from './compile-sequence.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { environmentNamesIn } from './environment-names.ts';
import { PROBLEMS_MAX } from './limits.ts';
import type { Plan, PlanGates } from './plan.ts';
import { enforcedSchemasOf } from './schemas.ts';
import type { TaskDefinition } from './task-definition.ts';
import { compiledOrProblems } from './templates.ts';
import type { WorkflowDefinition } from './workflow-definition.ts';

const MS_PER_SECOND = 1_000;

const gatesOf = (workflow: WorkflowDefinition, problems: DefinitionProblem[]): PlanGates | undefined => {
  const { maxConcurrentExecutions: concurrentMax, rateLimitConfig: config } = workflow;
  const key =
    config === undefined
      ? undefined
      : compiledOrProblems(config.rateLimitKey, 'rateLimitConfig.rateLimitKey', problems);
  if (concurrentMax === undefined && (config === undefined || key === undefined)) return undefined;
  const perKey =
    config === undefined || key === undefined
      ? undefined
      : { key, limit: config.concurrentExecLimit, waits: config.policy === 'QUEUE' };
  return { concurrentMax, perKey };
};

/** A definition and the task definitions it names, by name: what a run pins. */
export type CompilableBundle = Readonly<{
  workflow: WorkflowDefinition;
  taskDefinitions: Readonly<Record<string, TaskDefinition>>;
}>;

/**
 * Builds the plan of a bundle; `hash` is the bundle's and names the plan. It finds only what makes a plan impossible, so that
 * a stored definition is never judged by rules that came later: those are in `checkDefinition`, asked at registration.
 * Problems: DUPLICATE_REFERENCE, INVALID_GRAPH (fork without its join, join without a fork, empty loop or fork),
 * EXPRESSION_INVALID (a `${…}` that does not parse), VALIDATION_FAILED (a chooser without an expression).
 */
export const compilePlan = (bundle: CompilableBundle, hash: string): Result<Plan, readonly DefinitionProblem[]> => {
  const { workflow, taskDefinitions } = bundle;
  const compilation = newCompilation(workflow.dialect, taskDefinitions, []);
  const { nodes, problems } = compilation;
  const root = compileSequence(workflow.tasks, { path: 'tasks', owner: { kind: 'root' }, loops: [] }, compilation);
  const outputParameters =
    workflow.outputParameters === undefined
      ? undefined
      : compiledOrProblems(workflow.outputParameters, 'outputParameters', problems);
  const listeners = compileListeners(workflow.extra.onStateChange);
  const statusSink = statusSinkOf(workflow);
  const isNodeHeard = [...nodes.values()].some(({ listeners: own, compensation }) => own ?? compensation?.listeners);
  const gates = gatesOf(workflow, problems);
  if (problems.length > 0) return err(problems.slice(0, PROBLEMS_MAX));
  return ok({
    hash,
    dialect: workflow.dialect,
    definition: workflow,
    taskDefinitions,
    root,
    nodes,
    outputParameters,
    schemas: enforcedSchemasOf(workflow),
    timeoutMs: workflow.timeoutSeconds * MS_PER_SECOND,
    timeoutPolicy: workflow.timeoutPolicy,
    listeners,
    statusSink,
    isHeard: isNodeHeard || listeners !== undefined || statusSink !== undefined,
    gates,
    environment: environmentNamesIn([workflow, taskDefinitions]),
    tasksInFlightMax: workflow.maxConcurrentTasks ?? Number.POSITIVE_INFINITY,
  });
};
