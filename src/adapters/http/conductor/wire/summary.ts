import type { JsonValue } from '../../../../domain/kernel/json.ts';
import type { ExecutionRow } from '../../../../ports/execution-index.ts';
import { isoText } from '../../wire/instant-wire.ts';

/** Conductor's WorkflowSummary: instants as text in GMT, payloads as text. */
export type WorkflowSummaryBody = Readonly<{
  workflowType: string;
  version: number;
  workflowId: string;
  correlationId?: string;
  startTime: string;
  updateTime: string;
  endTime?: string;
  status: string;
  input: string;
  output: string;
  reasonForIncompletion?: string;
  executionTime: number;
  failedReferenceTaskNames: string;
  failedTaskNames: readonly string[];
  inputSize: number;
  outputSize: number;
  priority: number;
  idempotencyKey?: string;
  parentWorkflowId?: string;
}>;

const textOf = (value: JsonValue | undefined): string => (value === undefined ? '{}' : JSON.stringify(value));

export const workflowSummaryOf = (row: ExecutionRow): WorkflowSummaryBody => {
  const [input, output] = [textOf(row.input), textOf(row.output)];
  return {
    workflowType: row.name,
    version: row.version,
    workflowId: row.executionId,
    ...(row.correlationId !== undefined && { correlationId: row.correlationId }),
    startTime: isoText(row.startedAt),
    updateTime: isoText(row.updatedAt),
    ...(row.endedAt !== undefined && { endTime: isoText(row.endedAt) }),
    status: row.status,
    input,
    output,
    ...(row.reason !== undefined && { reasonForIncompletion: row.reason }),
    executionTime: row.endedAt === undefined ? 0 : row.endedAt - row.startedAt,
    failedReferenceTaskNames: row.failedTask ?? '',
    failedTaskNames: row.failedTask === undefined ? [] : [row.failedTask],
    inputSize: input.length,
    outputSize: output.length,
    priority: row.priority,
    ...(row.idempotencyKey !== undefined && { idempotencyKey: row.idempotencyKey }),
    ...(row.parentExecutionId !== undefined && { parentWorkflowId: row.parentExecutionId }),
  };
};
