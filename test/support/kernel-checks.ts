import type { Plan } from '../../src/domain/definition/plan.ts';
import { accept } from '../../src/domain/execution/accept.ts';
import type { Command } from '../../src/domain/execution/commands.ts';
import { applyAccepted, decide, decideOwned } from '../../src/domain/execution/decide.ts';
import type { SequencedEvent, WorkflowEvent } from '../../src/domain/execution/events.ts';
import { applyEvent, evolve } from '../../src/domain/execution/evolve.ts';
import { lookAtAll } from '../../src/domain/execution/look-at-all.ts';
import { projectView } from '../../src/domain/execution/project-view.ts';
import { recount } from '../../src/domain/execution/recount.ts';
import { replayLog } from '../../src/domain/execution/replay.ts';
import { resume } from '../../src/domain/execution/resume.ts';
import { copyState, type ExecutionState, emptyState } from '../../src/domain/execution/state.ts';
import { keyOf } from '../../src/domain/execution/task-key.ts';
import type { Instant } from '../../src/domain/kernel/brand.ts';
import { canonicalJson } from '../../src/domain/kernel/canonical-json.ts';
import type { DecisionEnvironment } from '../../src/domain/tasks/task-semantics.ts';
import { findViolation } from './schemas.ts';
import { snapshot } from './snapshot.ts';

/** What the checks look at: a run, the effects it has carried out, and what it decides with. */
export type Driven = Readonly<{
  state: ExecutionState;
  /** Every plan that the log names, by hash. */
  plans: ReadonlyMap<string, Plan>;
  log: readonly SequencedEvent[];
  openTasks: ReadonlyMap<string, Command>;
  timers: ReadonlyMap<string, Extract<Command, { type: 'ArmTimer' }>>;
  environment: DecisionEnvironment;
  now: Instant;
}>;

const must = (holds: boolean, promise: string, details: () => unknown): void => {
  if (!holds) throw new Error(`broken: ${promise}\n${JSON.stringify(details(), null, 1)}`);
};

const foldOf = (run: Driven, log: readonly SequencedEvent[]): ExecutionState => {
  const first = run.log[0]?.event;
  const hash = first?.type === 'ExecutionStarted' ? first.definitionHash : run.state.plan.hash;
  const state = emptyState(run.state.executionId, run.plans.get(hash) ?? run.state.plan, run.plans);
  for (const { event } of log) applyEvent(state, event);
  return state;
};

/** Everything that must hold after a step that began with `accepted`, when the log had `before` facts. */
export const checkAll = (run: Driven, before: number, accepted: readonly WorkflowEvent[]): void => {
  checkHistory(run.log);
  checkFold(run, before);
  checkFixedPoint(run);
  checkReplay(run, before, accepted);
  checkOwed(run);
  checkCounts(run);
  checkInFlight(run);
  checkMoves(run);
  checkClosed(run);
  checkWholeReplay(run);
  checkUndone(run);
};

/** Of a run that has ended, so that each log is derived again once and not at every step. */
const checkWholeReplay = (run: Driven): void => {
  const { lifecycle } = run.state;
  if (lifecycle.status === 'RUNNING' || lifecycle.status === 'PAUSED') return;
  const replayed = () => replayLog(foldOf(run, []), run.log, run.environment);
  let replay = replayed();
  while (replay.kind === 'needs') replay = replayed();
  must(replay.kind === 'same', 'the whole log follows again from its own version', () => replay);
};

const checkFold = (run: Driven, before: number): void => {
  const kept = snapshot(run.state);
  const early = foldOf(run, run.log.slice(0, before));
  const untouched = snapshot(early);
  const late = evolve(
    early,
    run.log.slice(before).map(({ event }) => event),
  );
  must(snapshot(late) === kept, 'evolve(s, a ++ b) = evolve(evolve(s, a), b)', () => [
    JSON.parse(snapshot(late)),
    JSON.parse(kept),
  ]);
  must(snapshot(early) === untouched, 'evolve leaves the given state as it was', () => []);
  const folded = snapshot(foldOf(run, run.log));
  must(folded === kept, 'the log folded from scratch is the state that was kept', () => JSON.parse(folded));
  checkView(run);
};

/** What history shows is what the fold knows. */
const checkView = ({ state, log }: Driven): void => {
  const view = projectView(state.executionId, log);
  const { variables, status, awaitingAdmission = false, tasks, input, correlationId, parent } = view;
  must(canonicalJson(variables) === canonicalJson(state.variables), 'history tells the variables', () => variables);
  must(status === state.lifecycle.status, 'history tells the status', () => status);
  must(awaitingAdmission === state.awaitingAdmission, 'history tells what the run awaits', () => awaitingAdmission);
  must(canonicalJson(input) === canonicalJson(state.started?.input ?? {}), 'history tells the input', () => input);
  must(correlationId === state.started?.correlationId, 'history tells the correlation id', () => correlationId);
  must(parent?.taskId === state.parent?.taskId, 'history tells who waits for the run', () => parent);
  const latest = new Map(tasks.map((task) => [keyOf(task), task]));
  for (const { key, phase, status: its, attempt } of state.tasks.values()) {
    if (phase.kind !== 'attempt') continue;
    const shown = latest.get(key);
    must(shown?.status === its && shown.attempt === attempt, 'history tells what is open', () => [shown, its, attempt]);
  }
};

const checkFixedPoint = (run: Driven): void => {
  const warm = decide(run.state, run.environment, run.now);
  must(warm.events.length === 0, 'deciding the decided yields nothing', () => warm.events);
  const cold = decide(foldOf(run, run.log), run.environment, run.now);
  must(cold.events.length === 0, 'deciding the folded log yields nothing', () => cold.events);
  const asked = copyState(run.state);
  lookAtAll(asked);
  const full = decideOwned(asked, run.environment, run.now);
  must(full.events.length === 0, 'looking at everything finds nothing that the hints missed', () => full.events);
};

const checkReplay = (run: Driven, before: number, accepted: readonly WorkflowEvent[]): void => {
  const state = foldOf(run, run.log.slice(0, before));
  const events = [...applyAccepted(state, accepted).events];
  for (let more = true; more; ) {
    const decision = decideOwned(state, run.environment, run.now);
    events.push(...decision.events);
    more = decision.more || decision.needs.length > 0;
  }
  const replayed = JSON.stringify(events);
  const recorded = JSON.stringify(run.log.slice(before));
  must(replayed === recorded, 'the same log decides the same facts, byte for byte', () => [replayed, recorded]);
};

const checkOwed = (run: Driven): void => {
  const owed = resume(run.state);
  const tasks = owed.flatMap((command) => (command.type === 'EnqueueTask' ? [command.taskId as string] : []));
  const timers = owed.flatMap((command) => (command.type === 'ArmTimer' ? [timerText(command)] : []));
  const same = (a: readonly string[], b: readonly string[]) => [...a].sort().join() === [...b].sort().join();
  must(same(tasks, [...run.openTasks.keys()]), 'resume owes the open tasks', () => [tasks, [...run.openTasks.keys()]]);
  const armed = [...run.timers.values()].map(timerText);
  must(same(timers, armed), 'resume owes the armed timers', () => [timers, armed]);
};

const timerText = (timer: Extract<Command, { type: 'ArmTimer' }>): string =>
  `${keyOf(timer)}/${timer.attempt}/${timer.purpose}@${timer.fireAt}`;

/** What the fold counts as it goes is what there is. */
const checkCounts = (run: Driven): void => {
  const { status } = run.state.lifecycle;
  if ((status !== 'RUNNING' && status !== 'PAUSED') || run.state.pendingEnd !== undefined) return;
  if (run.state.compensation !== undefined) return;
  const counted = copyState(run.state);
  recount(counted);
  const [again, kept] = [counts(counted), counts(run.state)];
  must(again === kept, 'counting again gives what was counted', () => [JSON.parse(again), JSON.parse(kept)]);
};

/** A join may go on watching what no longer matters to it, and a fork may look from an earlier branch on. */
const counts = (state: ExecutionState): string =>
  JSON.stringify(JSON.parse(snapshot(state)), (key, value) =>
    key === 'watched' || key === 'watchers' || key === 'entered' ? undefined : value,
  );

const checkInFlight = (run: Driven): void => {
  const counted = [...run.openTasks.values()].filter(
    (command) => command.type === 'EnqueueTask' && command.family !== 'waiting',
  ).length;
  const max = run.state.plan.tasksInFlightMax;
  must(counted <= max, 'no run has more tasks in flight than its definition allows', () => [counted, max]);
  must(counted === run.state.tasksInFlight, 'the tasks in flight are counted', () => [
    counted,
    run.state.tasksInFlight,
  ]);
};

const checkMoves = (run: Driven): void => {
  if (run.state.lifecycle.status !== 'RUNNING' || run.state.awaitingAdmission) return;
  must(run.openTasks.size > 0, 'a running execution has something open', () => snapshot(run.state));
};

/** What may be undone, told from the log alone: completed attempts of nodes that declare how, in the order of their ends. */
const undoable = (run: Driven): readonly string[] => {
  const keys: string[] = [];
  for (const { event } of run.log) {
    if (event.type === 'CompensationStarted') break;
    if (event.type !== 'TaskClosed' || event.status !== 'COMPLETED') continue;
    const ref = keyOf(event).replace(/(__\d+)+$/, '');
    const isBroughtIn = !run.state.plan.nodes.has(ref);
    if (isBroughtIn || run.state.plan.nodes.get(ref)?.compensation !== undefined) keys.push(keyOf(event));
  }
  return keys;
};

/** The log from where the whole run began for the last time. */
const sinceItBegan = (log: readonly SequencedEvent[]): readonly SequencedEvent[] => {
  const began = log.findLastIndex(
    ({ event }) => event.type === 'ExecutionRestarted' || (event.type === 'ExecutionRerun' && event.from === undefined),
  );
  return log.slice(began + 1);
};

const checkUndone = (run: Driven): void => {
  const undone: string[] = [];
  const log = sinceItBegan(run.log);
  for (const { event } of log) {
    if (event.type !== 'TaskScheduled' || event.compensates === undefined) continue;
    if (undone.at(-1) !== event.compensates) undone.push(event.compensates);
  }
  const started = log.filter(({ event }) => event.type === 'CompensationStarted').length;
  must(started <= 1, 'a run turns back once', () => run.log);
  // What ran twice is undone twice, under one name.
  if (log.some(({ event }) => TAKING_BACK.has(event.type))) return;
  const ended = undoable({ ...run, log });
  const wanted = [...ended].reverse().filter((key) => undone.includes(key));
  const found = undone.filter((key) => ended.includes(key));
  must(wanted.join() === found.join(), 'the last that finished is undone first, each once', () => [wanted, undone]);
  const last = run.log.at(-1)?.event;
  const failed = last?.type === 'ExecutionClosed' && (last.status === 'FAILED' || last.status === 'TIMED_OUT');
  must(!failed || run.state.compensable.length === 0 || started === 1, 'a run that fails is undone', () => last);
  if (run.state.compensation?.status !== 'COMPLETED') return;
  must(run.state.compensable.length === 0, 'nothing is left to undo', () => wanted);
};

const OPEN_REQUESTS = [
  { type: 'SkipTask', ref: 'any', by: 'test' },
  { type: 'CancelTask', ref: 'any', by: 'test' },
  { type: 'SetVariables', variables: {}, by: 'test' },
  { type: 'Jump', to: 'any', by: 'test' },
  { type: 'Pause', by: 'test' },
  { type: 'Resume', by: 'test' },
  { type: 'Terminate', by: 'test' },
  { type: 'PassExecutionDeadline' },
  { type: 'Signal', status: 'COMPLETED', output: {}, by: 'test' },
] as const;

const checkClosed = (run: Driven): void => {
  const { status } = run.state.lifecycle;
  if (status === 'RUNNING' || status === 'PAUSED') return;
  for (const request of OPEN_REQUESTS) {
    const answer = accept(run.state, request, run.now, findViolation);
    must(!answer.ok && answer.error.code === 'TERMINAL_STATE', `a closed execution refuses ${request.type}`, () => []);
  }
  const isOver = status === 'COMPLETED' || run.state.compensation?.status === 'COMPLETED';
  must(accept(run.state, { type: 'Retry', by: 'test' }, run.now, findViolation).ok === !isOver, 'only Retry', () => []);
};

const REOPENING: ReadonlySet<string> = new Set([
  'ExecutionRetried',
  'ExecutionRerun',
  'TasksRerun',
  'ExecutionRestarted',
]);

const TAKING_BACK: ReadonlySet<string> = new Set([
  'ExecutionRerun',
  'TasksRerun',
  'ExecutionRestarted',
  'ExecutionJumped',
]);

const checkHistory = (log: readonly SequencedEvent[]): void => {
  const attempts = new Map<string, number>();
  const iterations = new Map<string, number>();
  let open = false;
  let tookBack = false;
  for (const [index, { seq, event }] of log.entries()) {
    must(seq === index + 1, 'the log has no gaps', () => seq);
    must((event.type === 'ExecutionStarted') === (index === 0), 'history begins with its start, once', () => event);
    must(open || index === 0 || REOPENING.has(event.type), 'nothing follows the end but what reopens', () => event);
    if (event.type === 'ExecutionStarted' || REOPENING.has(event.type)) open = true;
    tookBack ||= TAKING_BACK.has(event.type);
    if (event.type === 'ExecutionClosed') open = false;
    if (event.type === 'TaskScheduled' || event.type === 'TaskRefused') {
      const last = attempts.get(keyOf(event)) ?? 0;
      const follows = tookBack ? event.attempt > last : event.attempt === last + 1;
      must(follows, 'attempts are numbered from 1 without gaps, and never twice', () => event);
      attempts.set(keyOf(event), event.attempt);
    }
    if (event.type === 'OperatorOpened') iterations.set(keyOf(event), 1);
    if (event.type === 'LoopIterated') {
      must(tookBack || event.next === (iterations.get(keyOf(event)) ?? 0) + 1, 'iterations have no gaps', () => event);
      iterations.set(keyOf(event), event.next);
    }
  }
};
