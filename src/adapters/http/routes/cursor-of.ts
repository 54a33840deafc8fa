/** The cursor of a page as a field of its answer; absent on the last page. */
export const cursorOf = ({ nextCursor }: { readonly nextCursor?: string }): { nextCursor?: string } =>
  nextCursor === undefined ? {} : { nextCursor };
