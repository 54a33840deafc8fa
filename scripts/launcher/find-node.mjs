import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LauncherError } from './launcher-error.mjs';

const MAJOR_MIN = 24;

/**
 * The path of a Node that can run Rondo: the running one if it is new enough, else the one that npm installed.
 * Throws a LauncherError where neither is there.
 */
export function findNode({ root, version, execPath, platform, arch }) {
  if (Number(version.split('.')[0]) >= MAJOR_MIN) return execPath;
  const os = platform === 'win32' ? 'win' : platform;
  const bundled = join(root, 'node_modules', `node-${os}-${arch}`, 'bin', platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(bundled)) return bundled;
  throw new LauncherError(
    `Node ${MAJOR_MIN} or newer is needed, this is ${version}, and none comes with Rondo for ${os}-${arch}: install Node ${MAJOR_MIN}.`,
  );
}
