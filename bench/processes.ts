import { readdirSync, readFileSync } from 'node:fs';

/** The kernel counts processor time in hundredths of a second. */
const CLOCK_TICK_MS = 10;

/** The fields of proc(5) after the name of the program that are used here. */
const PARENT = 1;
const USED_BY_ITSELF = [11, 12];
const USED_BY_ENDED_CHILDREN = [13, 14];

/** Processor time of a process, its ended children and all its descendants that run; undefined where it cannot be looked at. */
export const cpuMsOfTree = (pid: number): number | undefined => {
  const own = statOf(pid);
  if (own === undefined) return undefined;
  const children = new Map<number, (readonly [number, readonly number[]])[]>();
  for (const entry of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const stat = statOf(Number(entry));
    const parent = stat?.[PARENT];
    if (stat === undefined || parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), [Number(entry), stat]]);
  }
  const ticksOf = (id: number, stat: readonly number[]): number =>
    [...USED_BY_ITSELF, ...USED_BY_ENDED_CHILDREN].reduce((sum, field) => sum + (stat[field] ?? 0), 0) +
    (children.get(id) ?? []).reduce((sum, [child, of]) => sum + ticksOf(child, of), 0);
  return ticksOf(pid, own) * CLOCK_TICK_MS;
};

export const parentOf = (pid: number): number | undefined => statOf(pid)?.[PARENT];

/** The numbers after the name of the program. */
const statOf = (pid: number): readonly number[] | undefined => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return text
      .slice(text.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number);
  } catch {
    return undefined;
  }
};

/** Processor time of the whole machine, without what it idled; undefined where it cannot be looked at. */
export const busyMsOfMachine = (): number | undefined => {
  try {
    const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (
      readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
    )
      .split(/ +/)
      .map(Number);
    return (user + nice + system + irq + softirq) * CLOCK_TICK_MS;
  } catch {
    return undefined;
  }
};

/** Memory that a process has in use, in MiB. */
export const memoryMib = (pid: number): number | undefined => {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
    return kib === undefined ? undefined : Math.round(Number(kib) / 1_024);
  } catch {
    return undefined;
  }
};
