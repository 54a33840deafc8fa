import type { Namespace } from '../domain/kernel/brand.ts';

/** What can be tagged: things that have a name in their namespace. */
export type TaggedKind = 'WORKFLOW' | 'TASK' | 'SCHEDULE' | 'EVENT_HANDLER' | 'SECRET' | 'ENVIRONMENT';

export type Tag = Readonly<{ key: string; value: string }>;

export type Tagged = Readonly<{ kind: TaggedKind; name: string }>;

export type TaggedWith = Tagged & Readonly<{ tag: Tag }>;

/** Tags of a namespace. Whether the thing exists is for the caller to know; who deletes it takes its tags away. */
export interface TagStore {
  /** Adds those that are not there. False: the thing would have more than `tagsMax`, and nothing was added. */
  addTags(namespace: Namespace, thing: Tagged, tags: readonly Tag[], tagsMax: number): Promise<boolean>;
  /** The thing has these tags and no others. */
  replaceTags(namespace: Namespace, thing: Tagged, tags: readonly Tag[]): Promise<void>;
  /** Returns how many of them it had. */
  removeTags(namespace: Namespace, thing: Tagged, tags: readonly Tag[]): Promise<number>;
  /** Takes all tags away, as when the thing itself is deleted. */
  clearTags(namespace: Namespace, thing: Tagged): Promise<void>;
  /** By key and value; a name without tags is absent. */
  tagsOf(
    namespace: Namespace,
    kind: TaggedKind,
    names: readonly string[],
  ): Promise<ReadonlyMap<string, readonly Tag[]>>;
  /** Names of the kind that have the tag, in order, at most `limit`. */
  namesWith(namespace: Namespace, kind: TaggedKind, tag: Tag, limit: number): Promise<readonly string[]>;
  /** Everything that is tagged, by kind, name, key and value, at most `limit`. */
  listTags(namespace: Namespace, limit: number): Promise<readonly TaggedWith[]>;
}
