import { TransportError } from './client-error.ts';

/** A single event larger than this is not ours: the server bounds payloads at 10 MB. */
const EVENT_CHARS_MAX = 32 * 1024 * 1024;

export type ServerSentEvent = Readonly<{
  /** Absent for notes that have no place in history. */
  id?: string;
  event: string;
  data: string;
}>;

type Draft = { id?: string; event: string; data: string[] };

const freshDraft = (): Draft => ({ event: 'message', data: [] });

/**
 * Reads server-sent events as they arrive; ends when the server closes the response.
 * @throws TransportError INVALID_RESPONSE when one event is beyond all bounds
 */
export async function* readEventStream(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder();
  let draft = freshDraft();
  let pending = '';
  for await (const chunk of body) {
    pending += decoder.decode(chunk, { stream: true });
    if (pending.length > EVENT_CHARS_MAX) throw new TransportError('INVALID_RESPONSE', 'an event is too long');
    const lines = pending.split(/\r\n|\n|\r(?!$)/);
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line !== '') {
        addField(draft, line);
        continue;
      }
      const complete = finish(draft);
      draft = freshDraft();
      if (complete !== undefined) yield complete;
    }
  }
}

const addField = (draft: Draft, line: string): void => {
  const colon = line.indexOf(':');
  const name = colon === -1 ? line : line.slice(0, colon);
  const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
  if (name === 'data') draft.data.push(value);
  else if (name === 'event') draft.event = value;
  else if (name === 'id') draft.id = value;
};

/** An event without data (a comment that keeps the connection alive) is none. */
const finish = (draft: Draft): ServerSentEvent | undefined =>
  draft.data.length === 0
    ? undefined
    : { event: draft.event, data: draft.data.join('\n'), ...(draft.id === undefined ? {} : { id: draft.id }) };
