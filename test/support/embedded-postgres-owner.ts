/** A process of its own that owns an embedded server, to be killed by a test. It prints what it got and then waits. */
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres/embedded-postgres.ts';

const [home = '', durability] = process.argv.slice(2);
const { url, port, reused } = await startEmbeddedPostgres({
  home,
  durable: durability === 'durable',
  binaries: 'bundled',
  log: () => undefined,
});
process.stdout.write(`${JSON.stringify({ url, port, reused })}\n`);
process.stdin.resume();
