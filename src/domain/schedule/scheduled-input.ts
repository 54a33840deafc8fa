import { evaluateTemplate, V1_MODE } from '../expression/evaluate.ts';
import { compileTemplate } from '../expression/parse-template.ts';
import { scopeOf } from '../expression/scope.ts';
import type { ExecutionId, Instant } from '../kernel/brand.ts';
import { isJsonObject, type JsonObject } from '../kernel/json.ts';
import { err, ok, type Result } from '../kernel/result.ts';
import { formatInstant } from '../kernel/time.ts';
import type { Schedule } from './schedule.ts';

/** One firing, as the run that it starts can know it. */
export type FiringFacts = Readonly<{
  scheduledAt: Instant;
  firedAt: Instant;
  executionId: ExecutionId;
  /** Fired by hand. */
  manual: boolean;
}>;

const cronsOf = ({ crons }: Schedule): string => crons.map(({ expression }) => expression).join(' | ');

/** What Conductor's scheduler adds to the input of the runs that it starts. */
const conductorFacts = (schedule: Schedule, facts: FiringFacts): JsonObject => ({
  _startedByScheduler: schedule.name,
  _scheduledTime: facts.scheduledAt,
  _executedTime: facts.firedAt,
  _executionId: facts.executionId,
  _schedulerCron: cronsOf(schedule),
});

const expressionRoots = (schedule: Schedule, facts: FiringFacts): JsonObject => ({
  schedule: {
    name: schedule.name,
    cron: cronsOf(schedule),
    scheduledAt: formatInstant(facts.scheduledAt),
    firedAt: formatInstant(facts.firedAt),
    manual: facts.manual,
  },
});

/** The input of the run: of a schedule of /v1 its expressions are evaluated, of one of Conductor's the facts are added. */
export const scheduledInput = (schedule: Schedule, facts: FiringFacts): Result<JsonObject, string> => {
  const { input } = schedule.start;
  if (schedule.dialect === 'conductor') return ok({ ...input, ...conductorFacts(schedule, facts) });
  const template = compileTemplate(input, 'workflow.input');
  if (!template.ok) return err('The input of the schedule holds an expression that cannot be read.');
  const evaluated = evaluateTemplate(template.value, scopeOf(expressionRoots(schedule, facts)), V1_MODE);
  if (!evaluated.ok) return err(evaluated.error.message);
  return ok(isJsonObject(evaluated.value.value) ? evaluated.value.value : {});
};
