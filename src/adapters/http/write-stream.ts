import type { ServerResponse } from 'node:http';
import type { StreamItem } from '../../application/use-cases.ts';
import type { HttpLimits } from './limits.ts';
import { historyEventOf } from './wire/event-wire.ts';

type StreamLimits = Pick<HttpLimits, 'streamHeartbeatMs' | 'streamStallMs'>;

const HEARTBEAT = ':\n\n';

/** One frame of the stream. Only facts of the log carry an id: a reader resumes from a fact. */
export const frameOf = (item: StreamItem): string => {
  switch (item.kind) {
    case 'event': {
      const event = historyEventOf(item.entry);
      return `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
    }
    case 'note':
      return `event: note\ndata: ${JSON.stringify(item.note)}\n\n`;
    case 'end':
      return 'event: end\ndata: {}\n\n';
    default:
      throw new TypeError(`unknown stream item: ${JSON.stringify(item satisfies never)}`);
  }
};

/**
 * Writes the items as server-sent events until they end, the reader goes away, or it takes nothing for `streamStallMs`. The
 * next item is only asked for when the last was taken, so a slow reader holds one item, never a growing buffer.
 */
export const writeStream = async (
  response: ServerResponse,
  items: AsyncIterable<StreamItem>,
  limits: StreamLimits,
): Promise<void> => {
  // A proxy that buffers would hold the facts back; a connection that lived on after the stream would be of no use.
  const headers = { 'x-accel-buffering': 'no', connection: 'close' };
  response.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8' });
  response.flushHeaders();
  const heartbeat = setInterval(() => {
    if (!response.writableNeedDrain && !response.destroyed) response.write(HEARTBEAT);
  }, limits.streamHeartbeatMs);
  try {
    for await (const item of items) {
      if (!(await writeFrame(response, frameOf(item), limits.streamStallMs))) break;
      if (item.kind === 'end') break;
    }
  } finally {
    clearInterval(heartbeat);
  }
  response.end();
};

/** False when the reader has gone, or was cut because it took nothing for so long. */
const writeFrame = async (response: ServerResponse, frame: string, stallMs: number): Promise<boolean> => {
  if (response.destroyed) return false;
  if (response.write(frame)) return true;
  const isDrained = await drained(response, stallMs);
  if (!isDrained) response.destroy();
  return isDrained;
};

const drained = (response: ServerResponse, stallMs: number): Promise<boolean> =>
  new Promise((resolve) => {
    const onDrain = () => settle(true);
    const onClose = () => settle(false);
    const stalled = setTimeout(onClose, stallMs);
    const settle = (isDrained: boolean) => {
      clearTimeout(stalled);
      response.off('drain', onDrain).off('close', onClose);
      resolve(isDrained);
    };
    response.on('drain', onDrain).on('close', onClose);
  });
