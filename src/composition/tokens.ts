import type { InjectionToken } from 'tsyringe';
import type { AdvanceRuns } from '../application/advance-runs.ts';
import type { CircuitBreakers } from '../application/circuit-breakers.ts';
import type { ControlExecution } from '../application/control-execution.ts';
import type { ResolveBundle } from '../application/definitions/load-bundle.ts';
import type { PlanCache } from '../application/definitions/plan-cache.ts';
import type { DelayedWakes } from '../application/delayed-wakes.ts';
import type { DomainPolls } from '../application/domain-polls.ts';
import type { Evaluator } from '../application/evaluate-executions.ts';
import type { FoldCache } from '../application/fold-cache.ts';
import type { HeldLeases } from '../application/held-leases.ts';
import type { LeaseTasks } from '../application/lease-tasks.ts';
import type { MaskedReads } from '../application/masked-reads.ts';
import type { ParkedPolls } from '../application/parked-polls.ts';
import type { QueryExecutions } from '../application/query-executions.ts';
import type { ReleaseLeases } from '../application/release-leases.ts';
import type { ReportTasks } from '../application/report-tasks.ts';
import type { RetryBudgets } from '../application/retry-budgets.ts';
import type { StartInTransaction } from '../application/start-in-transaction.ts';
import type { StartWorkflow } from '../application/start-workflow.ts';
import type { StoreClock } from '../application/store-clock.ts';
import type { TaskDoors } from '../application/task-doors.ts';
import type { UseCases } from '../application/use-cases.ts';
import type { FillSecrets } from '../application/values/fill-secrets.ts';
import type { WorkerRegistry } from '../application/worker-registry.ts';
import type { EvaluateScript } from '../domain/execution/script.ts';
import type { ParseCron } from '../domain/schedule/cron.ts';
import type { AccessStore } from '../ports/access-store.ts';
import type { AccessTokens } from '../ports/access-tokens.ts';
import type { BlobCollector } from '../ports/blob-store.ts';
import type { CallbackSeal } from '../ports/callback-seal.ts';
import type { Clock } from '../ports/clock.ts';
import type { DefinitionStore } from '../ports/definition-store.ts';
import type { EngineStore } from '../ports/engine-store.ts';
import type { EventHandlerStore } from '../ports/event-handler-store.ts';
import type { ExecutionIndex } from '../ports/execution-index.ts';
import type { HealthProbe } from '../ports/health-probe.ts';
import type { Ids } from '../ports/ids.ts';
import type { SemaphoreStore } from '../ports/limits.ts';
import type { NamedValueStore } from '../ports/named-values.ts';
import type { PayloadSeal, PayloadStore } from '../ports/payload-store.ts';
import type { ScheduleStore } from '../ports/schedule-store.ts';
import type { SchemaValidator } from '../ports/schema-validator.ts';
import type { SteeringSandbox, TaskSandbox } from '../ports/script-sandbox.ts';
import type { SecretSeal } from '../ports/secret-seal.ts';
import type { TagStore } from '../ports/tag-store.ts';
import type { WakeSignal } from '../ports/wake-signal.ts';
import type { WorkerPollStore } from '../ports/worker-polls.ts';
import type { Outbound } from './container.ts';
import type { Log } from './log.ts';

const token = <T>(name: string): InjectionToken<T> => Symbol(name);

/** What the container holds, by type. */
export const TOKENS = {
  log: token<Log>('log'),
  clock: token<Clock>('clock'),
  ids: token<Ids>('ids'),
  engine: token<EngineStore>('engine'),
  index: token<ExecutionIndex>('index'),
  definitions: token<DefinitionStore>('definitions'),
  semaphores: token<SemaphoreStore>('semaphores'),
  tags: token<TagStore>('tags'),
  payloads: token<PayloadStore>('payloads'),
  values: token<NamedValueStore>('values'),
  seal: token<SecretSeal>('seal'),
  fillSecrets: token<FillSecrets>('fillSecrets'),
  workerPolls: token<WorkerPollStore>('workerPolls'),
  access: token<AccessStore>('access'),
  schedules: token<ScheduleStore>('schedules'),
  eventHandlers: token<EventHandlerStore>('eventHandlers'),
  parseCron: token<ParseCron>('parseCron'),
  health: token<HealthProbe>('health'),
  blobs: token<BlobCollector>('blobs'),
  wake: token<WakeSignal>('wake'),
  steering: token<SteeringSandbox>('steering'),
  sandbox: token<TaskSandbox>('sandbox'),
  outbound: token<Outbound>('outbound'),
  evaluateScript: token<EvaluateScript>('evaluateScript'),
  schemas: token<SchemaValidator>('schemas'),
  foldCache: token<FoldCache>('foldCache'),
  heldLeases: token<HeldLeases>('heldLeases'),
  parkedPolls: token<ParkedPolls>('parkedPolls'),
  storeClock: token<StoreClock>('storeClock'),
  advance: token<AdvanceRuns | undefined>('advance'),
  plans: token<PlanCache>('plans'),
  retryBudgets: token<RetryBudgets>('retryBudgets'),
  delayed: token<DelayedWakes>('delayed'),
  evaluator: token<Evaluator>('evaluator'),
  resolveBundle: token<ResolveBundle>('resolveBundle'),
  start: token<StartWorkflow>('start'),
  startInTransaction: token<StartInTransaction>('startInTransaction'),
  workers: token<WorkerRegistry>('workers'),
  domains: token<DomainPolls>('domains'),
  breakers: token<CircuitBreakers>('breakers'),
  release: token<ReleaseLeases>('release'),
  leases: token<LeaseTasks>('leases'),
  reports: token<ReportTasks>('reports'),
  control: token<ControlExecution>('control'),
  masks: token<MaskedReads>('masks'),
  queries: token<QueryExecutions>('queries'),
  doors: token<TaskDoors>('doors'),
  callbacks: token<CallbackSeal>('callbacks'),
  payloadSeal: token<PayloadSeal>('payloadSeal'),
  accessTokens: token<AccessTokens>('accessTokens'),
  useCases: token<UseCases>('useCases'),
} as const;
