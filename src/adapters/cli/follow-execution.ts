import { type Backoff, backoffMs, pause } from '../../client/backoff.ts';
import { ApiError, isTransient } from '../../client/client-error.ts';
import { readEventStream, type ServerSentEvent } from '../../client/event-stream.ts';
import type { HttpClient } from '../../client/http-client.ts';
import type { ExecutionSummaryBody, HistoryEventBody } from '../../client/wire.ts';

const BACKOFF: Backoff = { baseMs: 200, capMs: 5_000 };

export type Followed = Readonly<{ kind: 'event'; event: HistoryEventBody } | { kind: 'note'; note: unknown }>;

export type FollowOptions = Readonly<{
  /** Begin after this event. */
  after: number;
  signal: AbortSignal;
  /** Bear with a server that cannot be reached at first, too. */
  patient: boolean;
  /** Told before each new attempt. */
  onLost: (after: number) => void;
}>;

type Position = { after: number; ended: boolean; opened: boolean };

/**
 * Every event of a run in order, once, as it happens; ends after the last. A broken connection is taken up again where
 * it broke.
 * @throws ApiError when the server refuses
 * @throws TransportError when it cannot be reached at first, unless `patient`
 */
export async function* followExecution(
  client: HttpClient,
  id: string,
  options: FollowOptions,
): AsyncGenerator<Followed> {
  const position: Position = { after: options.after, ended: false, opened: false };
  for (let failures = 0; !options.signal.aborted; ) {
    const before = position.after;
    try {
      yield* readOnce(client, id, position, options.signal);
      if (position.ended || (position.after === before && (await isClosed(client, id, options.signal)))) return;
    } catch (error) {
      if (options.signal.aborted) return;
      if (!mayResume(error) || !(position.opened || options.patient)) throw error;
    }
    failures = position.after === before ? failures + 1 : 1;
    options.onLost(position.after);
    await pause(backoffMs(failures, BACKOFF), options.signal);
  }
}

/** What breaks while reading is the connection; only the server's own word is final. */
const mayResume = (error: unknown): boolean => !(error instanceof ApiError) || isTransient(error);

async function* readOnce(
  client: HttpClient,
  id: string,
  position: Position,
  signal: AbortSignal,
): AsyncGenerator<Followed> {
  const response = await client.open(`/executions/${encodeURIComponent(id)}/stream`, {
    signal,
    headers: {
      accept: 'text/event-stream',
      ...(position.after === 0 ? {} : { 'last-event-id': String(position.after) }),
    },
  });
  position.opened = true;
  if (response.body === null) return;
  for await (const sent of readEventStream(response.body)) {
    if (sent.event === 'end') {
      // Not ExecutionClosed: a run that was retried has it in the middle, too.
      position.ended = true;
      return;
    }
    const followed = parse(sent);
    if (followed.kind === 'event') position.after = followed.event.seq;
    yield followed;
  }
}

const parse = (sent: ServerSentEvent): Followed => {
  const data: unknown = JSON.parse(sent.data);
  return sent.id === undefined ? { kind: 'note', note: data } : { kind: 'event', event: data as HistoryEventBody };
};

const isClosed = async (client: HttpClient, id: string, signal: AbortSignal): Promise<boolean> => {
  const path = `/executions/${encodeURIComponent(id)}/status`;
  const { status } = await client.call<ExecutionSummaryBody>('GET', path, { signal });
  return status !== 'RUNNING' && status !== 'PAUSED';
};
