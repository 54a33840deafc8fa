/** Reads page after page until `limit` items are there or no page is left. */
export const collectPages = async <T>(
  limit: number,
  readPage: (
    limit: number,
    cursor: string | undefined,
  ) => Promise<Readonly<{ items: readonly T[]; nextCursor?: string | undefined }>>,
): Promise<readonly T[]> => {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const page = await readPage(Math.min(limit - items.length, PAGE_ITEMS_MAX), cursor);
    items.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== undefined && items.length < limit);
  return items;
};

const PAGE_ITEMS_MAX = 1_000;
