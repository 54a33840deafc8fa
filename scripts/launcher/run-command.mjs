import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { LauncherError } from './launcher-error.mjs';

const REPEAT_MS = 2_000;

/**
 * Whether a terminal delivers Ctrl-C to this process and its child alike. The kernel knows: the process group is the
 * terminal's foreground group. Elsewhere a terminal on any of the standard streams is taken as the sign.
 */
const terminalSignalsGroup = () => {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 1).split(' ');
    return group === foreground;
  } catch {
    return process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  }
};

/**
 * Passes signals on to the child, each at most once in two seconds. A second SIGINT usually means "stop now, without
 * draining", so the child must not get one Ctrl-C twice: once from the terminal and once from here, or from npm.
 */
const forwardSignals = (child) => {
  const lastMs = new Map();
  const forward = (signal) => {
    if (signal === 'SIGINT' && terminalSignalsGroup()) return;
    const nowMs = performance.now();
    if (nowMs - (lastMs.get(signal) ?? -REPEAT_MS) < REPEAT_MS) return;
    lastMs.set(signal, nowMs);
    child.kill(signal);
  };
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, forward);
};

const pathWith = (root, node) =>
  [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].filter(Boolean).join(delimiter);

/** Runs a command with the given Node first in PATH and the installed tools after it. Resolves to its exit code. */
export function runCommand({ root, node, command, args }) {
  return new Promise((resolve, reject) => {
    const isNode = command === 'node';
    const child = spawn(isNode ? node : command, args, {
      stdio: 'inherit',
      env: { ...process.env, PATH: pathWith(root, node) },
      shell: process.platform === 'win32' && !isNode,
    });
    forwardSignals(child);
    child.on('error', (error) => reject(new LauncherError(`${command} cannot be run: ${error.message}`)));
    child.on('exit', (code, signal) => resolve(code ?? 128 + (constants.signals[signal] ?? 0)));
  });
}
