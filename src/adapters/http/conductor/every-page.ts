import type { ApplicationError } from '../../../application/application-error.ts';
import type { Outcome, Page } from '../../../application/use-cases.ts';
import { ok, type Result } from '../../../domain/kernel/result.ts';

/** What one look takes. */
export const PAGE_ITEMS = 1_000;

/** All pages of a list, for answers that Conductor gives whole. */
export const everyPage = async <T>(
  list: (limit: number, cursor?: string) => Outcome<Page<T>>,
): Promise<Result<readonly T[], ApplicationError>> => {
  const items: T[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await list(PAGE_ITEMS, cursor);
    if (!page.ok) return page;
    items.push(...page.value.items);
    cursor = page.value.nextCursor;
    if (cursor === undefined) return ok(items);
  }
};
