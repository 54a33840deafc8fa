import { type CompiledTemplate, compileTemplate } from '../expression/parse-template.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import type { DefinitionProblem } from './definition-problem.ts';
import { templateProblems } from './templates.ts';

/** Moments of a task that a definition can have told. */
export const STATE_CHANGES = ['onScheduled', 'onStart', 'onSuccess', 'onFailed', 'onCancelled'] as const;
export type StateChange = (typeof STATE_CHANGES)[number];

/** What is told, and to which sink. */
export type Listener = Readonly<{ sink: string; payload: CompiledTemplate }>;
export type Listeners = Readonly<Partial<Record<StateChange, readonly Listener[]>>>;

/** Where the changes of a run go unless its definition says so. */
export const STATUS_SINK = 'internal:workflow-status';

const INTERNAL = 'internal:';

const isStateChange = (text: string): text is StateChange => (STATE_CHANGES as readonly string[]).includes(text);

/** A name without a scheme is one of the internal sink. */
const sinkOf = (name: string): string => (name.includes(':') ? name : `${INTERNAL}${name}`);

const changesIn = (key: string): readonly string[] => key.split(',').map((change) => change.trim());

const eventsIn = (value: JsonValue): readonly JsonValue[] => (Array.isArray(value) ? value : [value]);

const listenerOf = (event: JsonValue): Listener | undefined => {
  if (!isJsonObject(event) || typeof event.type !== 'string' || event.type.trim() === '') return undefined;
  const payload = event.payload ?? {};
  const compiled = compileTemplate(payload, '');
  // Registration refuses what does not parse; what is stored already goes out as it is written.
  return {
    sink: sinkOf(event.type),
    payload: compiled.ok ? compiled.value : { kind: 'constant', value: payload },
  };
};

/** The listeners of an `onStateChange`; what makes no sense in a stored one is left out. Undefined where there is none. */
export const compileListeners = (given: JsonValue | undefined): Listeners | undefined => {
  if (!isJsonObject(given)) return undefined;
  const listeners: Partial<Record<StateChange, Listener[]>> = {};
  for (const [key, value] of Object.entries(given)) {
    const told = eventsIn(value)
      .map(listenerOf)
      .filter((listener) => listener !== undefined);
    for (const change of changesIn(key).filter(isStateChange)) {
      if (told.length > 0) listeners[change] = [...(listeners[change] ?? []), ...told];
    }
  }
  return Object.keys(listeners).length === 0 ? undefined : listeners;
};

/** Where the changes of a run go; undefined where nobody listens. */
export const statusSinkOf = ({ extra }: Readonly<{ extra: JsonObject }>): string | undefined => {
  if (extra.workflowStatusListenerEnabled !== true) return undefined;
  const sink = extra.workflowStatusListenerSink;
  return typeof sink === 'string' && sink.trim() !== '' ? sinkOf(sink) : STATUS_SINK;
};

/** What is wrong with an `onStateChange` at its registration. Problems: VALIDATION_FAILED, EXPRESSION_INVALID. */
export const listenerProblems = (given: JsonValue | undefined, path: string): readonly DefinitionProblem[] =>
  Object.entries(isJsonObject(given) ? given : {}).flatMap(([key, value]) => {
    const at = childPath(path, key);
    const unknown = changesIn(key).find((change) => !isStateChange(change));
    if (unknown !== undefined) {
      const message = `a change of state is one of ${STATE_CHANGES.join(', ')}`;
      return [{ code: 'VALIDATION_FAILED', message, path: at } as const];
    }
    return eventsIn(value).flatMap((event, index) => eventProblems(event, childPath(at, index)));
  });

const eventProblems = (event: JsonValue, path: string): readonly DefinitionProblem[] => {
  if (!isJsonObject(event) || typeof event.type !== 'string' || event.type.trim() === '') {
    return [{ code: 'VALIDATION_FAILED', message: 'what is told needs a type and may have a payload', path }];
  }
  return templateProblems(event.payload ?? {}, childPath(path, 'payload'));
};
