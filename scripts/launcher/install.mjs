import { spawn } from 'node:child_process';
import { lstatSync } from 'node:fs';
import { join } from 'node:path';
import { markInstalled, reasonToInstall } from './freshness.mjs';
import { takeInstallLock } from './install-lock.mjs';
import { LauncherError } from './launcher-error.mjs';

// Development and optional packages are asked for by name, because NODE_ENV=production or an omit setting of the user
// would leave out the test runner, the bundled Node and the bundled PostgreSQL.
const NPM_ARGS = [
  'ci',
  '--ignore-scripts',
  '--no-audit',
  '--no-fund',
  '--no-update-notifier',
  '--include=dev',
  '--include=optional',
];
const TAIL_CHARS_MAX = 20_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const CAUSES = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|ERR_SOCKET_TIMEOUT|network/i,
    'the package registry cannot be reached; check the network (or the npm proxy and registry settings)',
  ],
  [/ENOSPC/, 'the disk is full; free some space'],
  [/EACCES|EPERM|EROFS/, 'this user may not write here; run as the owner of the checkout'],
];

export const say = (message) => process.stderr.write(`rondo: ${message}\n`);

const npmCi = (root) =>
  new Promise((resolve, reject) => {
    const npm = spawn('npm', NPM_ARGS, {
      cwd: root,
      stdio: ['ignore', 'pipe', 'pipe'],
      shell: process.platform === 'win32',
    });
    let tail = '';
    const tee = (chunk) => {
      process.stderr.write(chunk);
      tail = (tail + chunk).slice(-TAIL_CHARS_MAX);
    };
    npm.stdout.on('data', tee);
    npm.stderr.on('data', tee);
    let interrupted;
    const stop = (signal) => {
      interrupted = signal;
      npm.kill(signal);
    };
    for (const signal of SIGNALS) process.on(signal, stop);
    const settle = (outcome) => {
      for (const signal of SIGNALS) process.off(signal, stop);
      outcome();
    };
    npm.on('error', (error) =>
      settle(() => reject(new LauncherError(`npm cannot be run (${error.message}); install npm.`))),
    );
    npm.on('close', (code) => settle(() => resolve({ code, tail, interrupted })));
  });

const installNow = async (root) => {
  const { code, tail, interrupted } = await npmCi(root);
  if (interrupted !== undefined) throw new LauncherError('the install of the packages was interrupted.');
  if (code === 0) return markInstalled(root);
  const cause = CAUSES.find(([pattern]) => pattern.test(tail))?.[1] ?? 'npm says why above';
  throw new LauncherError(`installing the packages failed (npm ci, exit ${code}): ${cause}, then run this again.`);
};

/** Through a link, npm ci would empty the folder of another checkout while that one may be running. */
const refuseLink = (root, reason) => {
  const folder = join(root, 'node_modules');
  if (lstatSync(folder, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return;
  throw new LauncherError(
    `${reason}, but ${folder} is a link: install where it leads, or remove it and run this again.`,
  );
};

/**
 * Brings node_modules to what package-lock.json says, if it is not so already. Everything is written to stderr.
 * Only one process installs at a time; the others wait and then find the work done.
 */
export async function ensureInstalled(root) {
  if (reasonToInstall(root) === undefined) return;
  const release = await takeInstallLock(root, say);
  try {
    const reason = reasonToInstall(root);
    if (reason === undefined) return;
    refuseLink(root, reason);
    say(`${reason}: running npm ci (once; it takes about half a minute).`);
    await installNow(root);
  } finally {
    release();
  }
}
