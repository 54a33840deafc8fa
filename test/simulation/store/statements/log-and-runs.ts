import type { SequencedEvent } from '../../../../src/domain/execution/events.ts';
import { isClosedExecution } from '../../../../src/domain/execution/statuses.ts';
import type { ExecutionId, Instant } from '../../../../src/domain/kernel/brand.ts';
import type { Tx, TxMethods } from '../session.ts';
import { limitsStarts } from './admissions.ts';

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

export const eventMethods = (session: Tx): Pick<TxMethods, 'readEvents' | 'appendEvents'> => {
  const { events } = session.database.tables;
  return {
    readEvents: async (after) => {
      if (after.size === 0) return new Map();
      return session.run('read-events', (statement) => {
        const logs = new Map<ExecutionId, SequencedEvent[]>();
        for (const [id, seq] of after) {
          const log = statement
            .scan(events.ofRun(id), (row) => row.seq > seq)
            .map(({ row }): SequencedEvent => ({ seq: row.seq, event: row.event }))
            .sort((a, b) => a.seq - b.seq);
          if (log.length > 0) logs.set(id, log);
        }
        return logs;
      });
    },
    appendEvents: async (appended) => {
      if (appended.length === 0) return;
      await session.run('append', async (statement) => {
        for (const { executionId, namespace, item } of appended) {
          await statement.mustInsert(events, { executionId, namespace, seq: item.seq, event: item.event });
        }
      });
    },
  };
};

export const executionMethods = (
  session: Tx,
): Pick<TxMethods, 'lookUpRun' | 'createExecutions' | 'projectExecutions' | 'reviseExecutions'> => {
  const { executions } = session.database.tables;
  return {
    lookUpRun: (id, startsIn) =>
      session.run('look-up-run', (statement) => {
        const now = Math.floor(statement.now()) as Instant;
        const row = statement.find(executions, id);
        const isLimited = limitsStarts(statement, startsIn);
        if (row === undefined) return { now, isLimited };
        const { executionId, namespace, status, definitionHash } = row;
        return { now, head: { executionId, namespace, status, definitionHash }, isLimited };
      }),
    createExecutions: async (created) => {
      if (created.length === 0) return;
      await session.run('create', async (statement) => {
        for (const execution of [...created].sort((a, b) => compareText(a.executionId, b.executionId))) {
          await statement.mustInsert(executions, {
            ...execution,
            status: 'RUNNING',
            updatedAt: execution.startedAt,
          });
        }
      });
    },
    reviseExecutions: async (revisions) => {
      if (revisions.length === 0 || session.plant === 'revision-lost') return;
      await session.run('revise', async (statement) => {
        const last = new Map(revisions.map((revision) => [revision.executionId, revision]));
        for (const { executionId, namespace, item } of last.values()) {
          const cell = executions.find(executionId);
          if (cell === undefined || statement.get(cell)?.namespace !== namespace) continue;
          const row = await statement.lock(cell);
          if (row === undefined) continue;
          const { correlationId: _correlation, ...rest } = row;
          const { definitionHash, version, input, correlationId } = item;
          const correlated = correlationId === undefined ? {} : { correlationId };
          statement.write(cell, { ...rest, definitionHash, version, input, ...correlated });
        }
      });
    },
    projectExecutions: async (projections) => {
      if (projections.length === 0) return;
      await session.run('project', async (statement) => {
        const last = new Map(projections.map((projection) => [projection.executionId, projection]));
        for (const { executionId, namespace, item } of last.values()) {
          const cell = executions.find(executionId);
          if (cell === undefined || statement.get(cell)?.namespace !== namespace) continue;
          const row = await statement.lock(cell);
          if (row === undefined) continue;
          const { output: _output, reason: _reason, failedTask: _failed, endedAt: _ended, ...rest } = row;
          statement.write(cell, {
            ...rest,
            status: item.status,
            updatedAt: item.at,
            ...(item.output === undefined ? {} : { output: item.output }),
            ...(item.reason === undefined ? {} : { reason: item.reason }),
            ...(item.failedTask === undefined ? {} : { failedTask: item.failedTask }),
            ...(isClosedExecution(item.status) ? { endedAt: item.at } : {}),
          });
        }
      });
    },
  };
};
