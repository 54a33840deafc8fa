import type { Tag } from '../../../../ports/tag-store.ts';

/** A tag as Orkes' clients read it. */
export type TagBody = Readonly<{ key: string; value: string; type: 'METADATA' }>;

export const tagBodyOf = ({ key, value }: Tag): TagBody => ({ key, value, type: 'METADATA' });
