import { err, ok, type Result } from '../domain/kernel/result.ts';
import type { Tag, TagStore } from '../ports/tag-store.ts';
import type { ApplicationError } from './application-error.ts';
import type { UseCases } from './use-cases.ts';

/** Tags of one thing. */
export const TAGS_MAX = 100;
/** Characters of a key, and of a value. */
export const TAG_CHARS_MAX = 255;
/** Tagged things, or names with a tag, that one answer tells of. */
export const TAGS_LISTED_MAX = 10_000;

const CONTROL = /\p{Cc}/u;

const tooMany = err<ApplicationError>({
  code: 'LIMIT_EXCEEDED',
  message: `A thing has at most ${TAGS_MAX} tags.`,
  path: 'tags',
});

const partProblem = (name: 'key' | 'value', text: string): string | undefined => {
  if (name === 'key' && text.trim() === '') return 'The key of a tag must not be empty.';
  if (text.length > TAG_CHARS_MAX) return `The ${name} of a tag has at most ${TAG_CHARS_MAX} characters.`;
  return CONTROL.test(text) ? `The ${name} of a tag must not hold control characters.` : undefined;
};

const checked = (tags: readonly Tag[]): Result<null, ApplicationError> => {
  for (const [index, tag] of tags.entries()) {
    for (const name of ['key', 'value'] as const) {
      const message = partProblem(name, tag[name]);
      if (message !== undefined) return err({ code: 'VALIDATION_FAILED', message, path: `[${index}].${name}` });
    }
  }
  return ok(null);
};

const distinct = (tags: readonly Tag[]): readonly Tag[] => [
  ...new Map(tags.map(({ key, value }) => [JSON.stringify([key, value]), { key, value }])).values(),
];

/** Tags of things with a name. Whether the thing exists is for whoever asks to know. */
export const createTagUseCases = (store: TagStore): UseCases['tags'] => ({
  add: async (namespace, thing, tags) => {
    const valid = checked(tags);
    if (!valid.ok) return valid;
    return (await store.addTags(namespace, thing, tags, TAGS_MAX)) ? ok(null) : tooMany;
  },
  replace: async (namespace, thing, tags) => {
    const valid = checked(tags);
    if (!valid.ok) return valid;
    const wanted = distinct(tags);
    if (wanted.length > TAGS_MAX) return tooMany;
    await store.replaceTags(namespace, thing, wanted);
    return ok(null);
  },
  remove: (namespace, thing, tags) => store.removeTags(namespace, thing, tags),
  clear: (namespace, thing) => store.clearTags(namespace, thing),
  of: (namespace, kind, names) => store.tagsOf(namespace, kind, names),
  namesWith: (namespace, kind, tag) => store.namesWith(namespace, kind, tag, TAGS_LISTED_MAX),
  list: (namespace) => store.listTags(namespace, TAGS_LISTED_MAX),
});
