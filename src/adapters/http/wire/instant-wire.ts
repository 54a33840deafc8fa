import type { Instant } from '../../../domain/kernel/brand.ts';

/** An instant as it leaves: ISO-8601 in UTC with milliseconds. */
export const isoText = (at: Instant): string => new Date(at).toISOString();

/** The named fields of an object as ISO-8601; those that are absent stay absent. */
export const isoFields = <K extends string>(
  source: { readonly [P in K]?: Instant | undefined },
  names: readonly K[],
): { [P in K]?: string } => {
  const texts: { [P in K]?: string } = {};
  for (const name of names) {
    const at = source[name];
    if (at !== undefined) texts[name] = isoText(at);
  }
  return texts;
};
