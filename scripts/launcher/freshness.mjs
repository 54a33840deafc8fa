import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const read = (path) => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
};

const stampPath = (root) => join(root, 'node_modules', '.rondo-install');

// The platform belongs to the stamp because a checkout may be shared between machines, and the optional packages differ.
const stampFor = (lockfile) =>
  `${createHash('sha256').update(lockfile).digest('hex')} ${process.platform}-${process.arch}\n`;

const packagesOf = (lockfile) => {
  try {
    return JSON.parse(lockfile).packages ?? {};
  } catch {
    return {};
  }
};

/** Whether npm's own record of what it put into node_modules agrees with the lockfile. */
const agrees = (lockfile, installed) => {
  const wanted = packagesOf(lockfile);
  const present = packagesOf(installed);
  const complete = Object.entries(wanted).every(([path, entry]) => {
    if (path === '') return true;
    const found = present[path];
    return found === undefined ? entry.optional === true : found.version === entry.version;
  });
  return complete && Object.keys(present).every((path) => path in wanted);
};

/** Records that node_modules holds what the lockfile says. */
export function markInstalled(root) {
  const lockfile = read(join(root, 'package-lock.json'));
  if (lockfile === undefined) return;
  try {
    mkdirSync(dirname(stampPath(root)), { recursive: true });
    writeFileSync(stampPath(root), stampFor(lockfile));
  } catch {
    // Another user owns node_modules. The check is then made in full each time, which costs milliseconds.
  }
}

/**
 * Why the packages must be installed, as a phrase for people; undefined when they are as the lockfile says.
 * Packages that the user installed with a plain `npm ci` are recognised and left alone.
 */
export function reasonToInstall(root) {
  const lockfile = read(join(root, 'package-lock.json'));
  if (lockfile === undefined) return undefined;
  const stamp = read(stampPath(root));
  if (stamp === stampFor(lockfile)) return undefined;
  const installed = read(join(root, 'node_modules', '.package-lock.json'));
  if (installed === undefined) return 'the packages are not installed yet';
  const otherPlatform = stamp !== undefined && stamp.split(' ')[1] !== stampFor(lockfile).split(' ')[1];
  if (otherPlatform) return 'the installed packages are for another platform';
  if (!agrees(lockfile, installed)) return 'package-lock.json has changed since the last install';
  markInstalled(root);
  return undefined;
}
