import { pullOf } from '../execution/messages.ts';
import type { Instant } from '../kernel/brand.ts';
import type { JsonValue } from '../kernel/json.ts';
import { addDuration, parseDuration, parseUntil } from '../kernel/time.ts';
import { type EnterContext, resolvedInput, type Step, type TaskSemantics } from './task-semantics.ts';

const isGiven = (value: JsonValue | undefined): value is JsonValue =>
  value !== undefined && value !== null && value !== '';

const refuse = (input: JsonValue, what: string, value: JsonValue): Step => ({
  kind: 'refuse',
  input,
  reason: `WAIT cannot read ${what} ${JSON.stringify(value)}.`,
});

const untilTime = (input: JsonValue, value: JsonValue, taskName: string): Step => {
  const until = typeof value === 'string' ? parseUntil(value) : undefined;
  if (until?.ok !== true) return refuse(input, 'until', value);
  return { kind: 'dispatch', input, taskName, fireAt: until.value };
};

const forDuration = (input: JsonValue, value: JsonValue, taskName: string, now: Instant): Step => {
  const duration = typeof value === 'string' || typeof value === 'number' ? parseDuration(value) : undefined;
  if (duration?.ok !== true) return refuse(input, 'duration', value);
  return { kind: 'dispatch', input, taskName, fireAt: addDuration(now, duration.value) };
};

/** Ends by the clock (duration, until) or, with neither, by a signal. */
export const wait: TaskSemantics<'WAIT'> = {
  family: 'waiting',
  enter: (context) => {
    const resolved = resolvedInput(context);
    if (!resolved.ok) return resolved.step;
    const { input } = resolved;
    const { duration, until } = input;
    if (isGiven(duration) && isGiven(until)) {
      return { kind: 'refuse', input, reason: 'WAIT takes a duration or an until, not both.' };
    }
    if (isGiven(duration)) return forDuration(input, duration, context.node.name, context.now);
    if (isGiven(until)) return untilTime(input, until, context.node.name);
    return { kind: 'dispatch', input, taskName: context.node.name };
  },
};

const opened = (context: EnterContext): Step => {
  const resolved = resolvedInput(context);
  if (!resolved.ok) return resolved.step;
  return { kind: 'dispatch', input: resolved.input, taskName: context.node.name };
};

/** Ends by a signal. */
export const yieldTask: TaskSemantics<'YIELD'> = { family: 'waiting', enter: opened };

/** Ends by what a person says: a signal, or the door of the task itself. What is asked of the person is its input. */
export const human: TaskSemantics<'HUMAN'> = { family: 'waiting', enter: opened };

/** Ends with the messages that it takes off the run's own queue; without any it waits, or goes on at once. */
export const pullMessages: TaskSemantics<'PULL_WORKFLOW_MESSAGES'> = {
  family: 'waiting',
  enter: (context) => {
    const step = opened(context);
    if (step.kind !== 'dispatch') return step;
    const pull = pullOf(step.input);
    return typeof pull === 'string' ? { kind: 'refuse', input: step.input, reason: pull } : step;
  },
};
