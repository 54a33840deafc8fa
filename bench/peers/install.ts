import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('.', import.meta.url));

/** The peers are no part of Rondo: they are installed in this folder when they are first measured. */
export const installPeers = (): void => {
  if (existsSync(`${FOLDER}node_modules`)) return;
  console.log('installing what is compared with, in bench/peers');
  execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: FOLDER, stdio: 'inherit' });
};
