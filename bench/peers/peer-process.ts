/**
 * One peer in a process of its own, so that what one leaves behind, or how it ends, touches no other.
 * `peer-process.ts NAME URL`; it is sent orders and answers each with samples.
 */
import type { Order } from './peer.ts';
import { PEERS } from './peers.ts';

const [name, url = ''] = process.argv.slice(2);
const send = (message: object): void => void process.send?.(message);
const fail = (error: unknown): void => {
  send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) });
};
process.on('unhandledRejection', fail);

const peer = PEERS.find((one) => one.name === name);
if (peer === undefined) throw new Error(`there is no peer ${name}`);
try {
  const running = await peer.start(url);
  process.on('message', (message: Order | 'stop') => {
    const answer =
      message === 'stop' ? running.stop() : running.run(message).then((samples) => send({ kind: 'samples', samples }));
    answer.then(() => {
      if (message === 'stop') process.exit(0);
    }, fail);
  });
  send({ kind: 'ready' });
} catch (error) {
  fail(error);
}
