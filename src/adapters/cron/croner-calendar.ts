import { Cron as Croner } from 'croner';
import type { Instant } from '../../domain/kernel/brand.ts';
import { err, ok } from '../../domain/kernel/result.ts';
import type { Cron, CronRule, ParseCron } from '../../domain/schedule/cron.ts';

const SPRING_FIELDS = 6;
const EXPRESSION = /^(?:@[a-z]+|\S+(?: +\S+){4,5})$/i;

const instantOf = (date: Date | null | undefined): Instant | undefined =>
  date === null || date === undefined ? undefined : (date.getTime() as Instant);

/**
 * Crons by the library croner. A time of day that the clocks skip comes at the first instant after the gap, one that comes
 * twice counts once: what runs daily runs once a day. What runs every so often goes by the time that passes.
 */
const rule = ({ expression, zone }: Cron): CronRule => {
  const croner = new Croner(expression, {
    timezone: zone,
    mode: '5-or-6-parts',
    // Unix fires when either day matches, Spring when both do.
    domAndDow: expression.split(/ +/).length === SPRING_FIELDS,
    // Spring's 0/15 counts from 0 on.
    sloppyRanges: true,
    fixedTimeRule: 'no-wildcard',
  });
  return {
    next: (after) => instantOf(croner.nextRun(new Date(after))),
    previous: (before) => instantOf(croner.previousRuns(1, new Date(before))[0]),
  };
};

export const parseCron: ParseCron = (cron) => {
  const expression = cron.expression.trim();
  if (!EXPRESSION.test(expression)) return err('A cron has five fields, or six with seconds first.');
  // The library has no other way to say what it cannot read; a zone it only meets when it is asked for an instant.
  try {
    const read = rule({ expression, zone: cron.zone });
    read.next(0 as Instant);
    return ok(read);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^Cron(?:Pattern|Date): /, '') : 'it cannot be read';
    return err(`The cron ${expression} in the zone ${cron.zone} cannot be read: ${why.split('. Original')[0]}`);
  }
};
