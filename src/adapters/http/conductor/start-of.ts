import type { StartRequest } from '../../../application/use-cases.ts';
import { withoutUndefined } from '../../../domain/definition/without-undefined.ts';
import type { JsonObject } from '../../../domain/kernel/json.ts';
import { err, ok, type Result } from '../../../domain/kernel/result.ts';
import type { ApiError } from '../api-error.ts';
import { headerValues } from '../headers.ts';
import type { NamespaceCall } from '../route.ts';
import { IDEMPOTENCY_KEY } from '../schemas/executions.ts';
import { IDEMPOTENCY_STRATEGIES, type StartBody } from './schemas/workflow.ts';

type Asked = Pick<NamespaceCall<string, unknown, unknown>, 'request' | 'principal'>;
type Idempotency = Readonly<Pick<StartRequest, 'idempotencyKey' | 'idempotencyStrategy'>>;

const invalid = (path: string, message: string) => err<ApiError>({ code: 'VALIDATION_FAILED', message, path });

const strategyNamed = (name: string) => IDEMPOTENCY_STRATEGIES.find((strategy) => strategy === name);

/** The headers count where the body says nothing. */
const idempotencyOf = ({ request }: Asked, body: Partial<StartBody>): Result<Idempotency, ApiError> => {
  const key = body.idempotencyKey ?? headerValues(request, 'x-idempotency-key')[0];
  if (key === undefined || key === '') return ok({ idempotencyStrategy: 'RETURN_EXISTING' });
  if (!IDEMPOTENCY_KEY.test(key)) return invalid('X-Idempotency-key', '1 to 255 printable ASCII characters');
  const named = body.idempotencyStrategy ?? headerValues(request, 'x-on-conflict')[0] ?? 'RETURN_EXISTING';
  const idempotencyStrategy = strategyNamed(named.toUpperCase());
  if (idempotencyStrategy === undefined) {
    return invalid('X-on-conflict', `One of ${IDEMPOTENCY_STRATEGIES.join(', ')} is expected.`);
  }
  return ok({ idempotencyKey: key, idempotencyStrategy });
};

const nameIn = (definition: JsonObject | undefined): string | undefined =>
  typeof definition?.name === 'string' ? definition.name : undefined;

/** Conductor marks the runs of definitions that were sent along. */
const inputOf = ({ input = {}, workflowDef }: Partial<StartBody>): JsonObject =>
  workflowDef === undefined ? input : { ...input, _systemMetadata: { dynamic: true } };

/**
 * The start that Conductor's request asks for. Version 0 is the highest there is, and a key is one of its workflow alone.
 * Errors: VALIDATION_FAILED.
 */
export const startOf = (call: Asked, given: Partial<StartBody>): Result<StartRequest, ApiError> => {
  const { version, correlationId, priority = 0, taskToDomain, workflowDef, createdBy = call.principal.id } = given;
  const name = given.name ?? nameIn(workflowDef);
  if (name === undefined || name === '') return invalid('name', 'Workflow name cannot be null or empty');
  const idempotency = idempotencyOf(call, given);
  if (!idempotency.ok) return idempotency;
  return ok(
    withoutUndefined({
      name,
      version: version === 0 ? undefined : version,
      input: inputOf(given),
      correlationId,
      priority,
      taskToDomain,
      inline: workflowDef === undefined ? undefined : { ...workflowDef, name },
      createdBy,
      idempotencyScope: 'workflow' as const,
      ...idempotency.value,
    }),
  );
};
