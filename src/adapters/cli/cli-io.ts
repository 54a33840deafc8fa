import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';

/** What the commands see of the process they run in. */
export type CliIo = Readonly<{
  out(text: string): void;
  err(text: string): void;
  colour: boolean;
  env: Readonly<Record<string, string | undefined>>;
  readFile(path: string): Promise<string>;
  readStdin(): Promise<string>;
}>;

/** The real one. Colours only where a person looks: on a terminal, and not against NO_COLOR. */
export const processIo = (): CliIo => {
  process.stdout.on('error', endQuietly);
  return {
    out: (line) => void process.stdout.write(line),
    err: (line) => void process.stderr.write(line),
    colour: process.stdout.isTTY === true && (process.env.NO_COLOR ?? '') === '' && process.env.TERM !== 'dumb',
    env: process.env,
    readFile: (path) => readFile(path, 'utf8'),
    readStdin: () => text(process.stdin),
  };
};

/** `rondo tail … | head` closes the pipe when it has seen enough: that is no error. */
const endQuietly = (error: NodeJS.ErrnoException): void => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
};
