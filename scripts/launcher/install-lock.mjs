import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LauncherError } from './launcher-error.mjs';

const POLL_MS = 100;
const HEARTBEAT_MS = 5_000;
const SILENT_MS_MAX = 60_000;
const WAIT_MS_MAX = 10 * 60_000;

const holderOf = (lock) => {
  try {
    const [pid, host, token] = readFileSync(join(lock, 'holder'), 'utf8').split('\n');
    return { pid: Number(pid), host, token };
  } catch {
    return undefined;
  }
};

const isAlive = (pid) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
};

/** A holder refreshes the lock while it works, so silence means that it died, even when its pid now belongs to another. */
const isAbandoned = (lock, holder) => {
  if (holder?.host === hostname() && !isAlive(holder.pid)) return true;
  const age = Date.now() - (statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
  return age > SILENT_MS_MAX;
};

const removeAbandoned = (lock, holder) => {
  const aside = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, aside);
  } catch {
    return;
  }
  // Between the look and the rename another launcher may have replaced the lock: a live one is put back.
  if (holderOf(aside)?.token !== holder?.token) renameSync(aside, lock);
  else rmSync(aside, { recursive: true, force: true });
};

const tryTake = (lock) => {
  try {
    mkdirSync(lock);
  } catch (error) {
    if (error.code === 'EEXIST') return undefined;
    throw new LauncherError(`cannot install the packages: ${lock} cannot be created (${error.code}).`);
  }
  writeFileSync(join(lock, 'holder'), `${process.pid}\n${hostname()}\n${randomUUID()}`);
  const heartbeat = setInterval(() => {
    const now = new Date();
    try {
      utimesSync(lock, now, now);
    } catch {
      // The lock was removed from outside. The install goes on, and npm is left to cope.
    }
  }, HEARTBEAT_MS);
  heartbeat.unref();
  return () => {
    clearInterval(heartbeat);
    rmSync(lock, { recursive: true, force: true });
  };
};

/** Takes the install lock of a checkout, waiting for another launcher if need be. Returns the function that gives it back. */
export async function takeInstallLock(root, say) {
  const lock = join(root, '.rondo-install.lock');
  const deadline = Date.now() + WAIT_MS_MAX;
  for (let announced = false; Date.now() < deadline; await delay(POLL_MS)) {
    const release = tryTake(lock);
    if (release !== undefined) return release;
    const holder = holderOf(lock);
    if (isAbandoned(lock, holder)) {
      removeAbandoned(lock, holder);
      continue;
    }
    if (!announced)
      say(`another process (pid ${holder?.pid ?? 'unknown'}) is installing the packages: waiting for it.`);
    announced = true;
  }
  throw new LauncherError(`another install has not ended within 10 minutes; if none is running, remove ${lock}.`);
}
