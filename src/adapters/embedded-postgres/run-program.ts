import { spawn } from 'node:child_process';
import type { Cluster } from './cluster.ts';
import { spawnIdentity } from './server-user.ts';

/**
 * The environment of every PostgreSQL program. Variables such as PGDATA and PGOPTIONS of the user's shell would change
 * what the server does, and messages are read by patterns in English.
 */
export const serverEnvironment = (): NodeJS.ProcessEnv => {
  const inherited = Object.entries(process.env).filter(([name]) => !name.startsWith('PG'));
  return { ...Object.fromEntries(inherited), LC_ALL: 'C', LC_MESSAGES: 'C', TZ: 'UTC' };
};

/** Runs a program to its end as the server's user, with both its output streams joined. */
export function runProgram(
  cluster: Cluster,
  program: string,
  args: readonly string[],
): Promise<{ exitCode: number | null; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      cwd: cluster.directory,
      env: serverEnvironment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      ...spawnIdentity(cluster.user),
    });
    let output = '';
    const collect = (chunk: Buffer) => {
      output += chunk.toString();
    };
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    child.on('error', reject);
    child.on('close', (exitCode) => resolve({ exitCode, output }));
  });
}
