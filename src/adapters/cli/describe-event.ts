import type { HistoryEventBody } from '../../client/wire.ts';
import type { Printer } from './printer.ts';
import { escapeText, type Style } from './terminal-text.ts';

const STYLES: Readonly<Partial<Record<HistoryEventBody['type'], Style>>> = {
  ExecutionStarted: 'bold',
  ExecutionClosed: 'bold',
  ExecutionPaused: 'magenta',
  ExecutionResumed: 'magenta',
  ExecutionRetried: 'yellow',
  CompensationStarted: 'yellow',
  CompensationEnded: 'yellow',
  ExecutionRerun: 'yellow',
  TasksRerun: 'yellow',
  ExecutionRestarted: 'yellow',
  ExecutionJumped: 'yellow',
  ExecutionUpgraded: 'yellow',
  VariablesSet: 'yellow',
  SkipRequested: 'yellow',
  TaskCanceled: 'magenta',
  ExecutionQueued: 'magenta',
  ExecutionAdmitted: 'magenta',
  TaskDeadlineMissed: 'yellow',
  ExecutionDeadlineMissed: 'yellow',
};

const TIME_AT = 11;

/** One fact on one line: number, time of day (UTC), type, task, what came of it. */
export const describeEvent = (printer: Printer, event: HistoryEventBody): string => {
  const style = STYLES[event.type];
  const type = style === undefined ? event.type : printer.paint(style, event.type);
  const parts = [
    printer.paint('dim', String(event.seq).padStart(5)),
    printer.paint('dim', escapeText(event.at.slice(TIME_AT))),
    type,
    taskOf(event),
    typeof event.status === 'string' ? printer.status(event.status) : '',
    escapeText(remarkOf(event)),
  ];
  return parts.filter((part) => part !== '').join('  ');
};

const taskOf = ({ taskRef, iteration, attempt }: HistoryEventBody): string => {
  if (typeof taskRef !== 'string') return '';
  const suffix = typeof iteration === 'number' && iteration > 0 ? `__${iteration}` : '';
  const tries = typeof attempt === 'number' && attempt > 1 ? ` (attempt ${attempt})` : '';
  return escapeText(`${taskRef}${suffix}${tries}`);
};

const remarkOf = ({ reason, workerId, taskName, name }: HistoryEventBody): string => {
  if (typeof reason === 'string') return reason;
  if (typeof workerId === 'string') return `by ${workerId}`;
  if (typeof taskName === 'string') return taskName;
  return typeof name === 'string' ? name : '';
};
