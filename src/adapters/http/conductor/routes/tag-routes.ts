import type { UseCases } from '../../../../application/use-cases.ts';
import type { Namespace } from '../../../../domain/kernel/brand.ts';
import { ok, type Result } from '../../../../domain/kernel/result.ts';
import type { Tagged } from '../../../../ports/tag-store.ts';
import type { ApiError } from '../../api-error.ts';
import { conductorRoute, json, NOTHING, type RequiredScope, type Route } from '../../route.ts';
import { tags } from '../schemas/metadata.ts';
import { tagBodyOf } from '../wire/tags.ts';

/** What is tagged at a path with a `:name`. */
export type TaggedPath = Readonly<{
  path: `/${string}/:name/tags` | `/${string}/:name`;
  kind: Tagged['kind'];
  scopes: Readonly<{ read: RequiredScope; write: RequiredScope }>;
  /** Whether there is such a thing; its refusal is the answer. */
  find: (useCases: UseCases, namespace: Namespace, name: string) => Promise<Result<unknown, ApiError>>;
  /** Schedules, handlers and secrets are tagged with PUT, which adds; the definitions have POST for that, and PUT replaces. */
  putAdds?: boolean;
}>;

type Write = 'add' | 'replace' | 'remove';

const NAMED = '/:name' as const;

/** The routes for the tags of one kind of thing. */
export const tagRoutesOf = ({ path, kind, scopes, find, putAdds = false }: TaggedPath): readonly Route[] => {
  const write = (method: 'POST' | 'PUT' | 'DELETE', action: Write, summary: string): Route =>
    conductorRoute({
      method,
      path: path as typeof NAMED,
      summary,
      scope: scopes.write,
      body: tags,
      handle: async ({ useCases, namespace, params: { name }, body }) => {
        const found = await find(useCases, namespace, name);
        if (!found.ok) return found;
        const thing = { kind, name };
        if (action === 'remove') {
          await useCases.tags.remove(namespace, thing, body);
          return ok(NOTHING);
        }
        const written = await useCases.tags[action](namespace, thing, body);
        return written.ok ? ok(NOTHING) : written;
      },
    });
  const read = conductorRoute({
    method: 'GET',
    path: path as typeof NAMED,
    summary: 'Its tags.',
    scope: scopes.read,
    handle: async ({ useCases, namespace, params: { name } }) => {
      const exists = await find(useCases, namespace, name);
      if (!exists.ok) return exists;
      const found = await useCases.tags.of(namespace, kind, [name]);
      return ok(json(200, (found.get(name) ?? []).map(tagBodyOf)));
    },
  });
  const add = write('POST', 'add', 'Add tags, one or a list.');
  return [
    read,
    ...(putAdds ? [] : [add]),
    putAdds ? write('PUT', 'add', 'Add tags.') : write('PUT', 'replace', 'Set the tags: others go.'),
    write('DELETE', 'remove', 'Take tags away.'),
  ];
};

const DEFINITION_SCOPES = { read: 'definitions:read', write: 'definitions:write' } as const;

const WORKFLOWS = {
  kind: 'WORKFLOW',
  scopes: DEFINITION_SCOPES,
  find: ({ definitions }, namespace, name) => definitions.getWorkflow(namespace, name),
} as const satisfies Omit<TaggedPath, 'path'>;

const TASKS = {
  kind: 'TASK',
  scopes: DEFINITION_SCOPES,
  find: ({ definitions }, namespace, name) => definitions.getTask(namespace, name),
} as const satisfies Omit<TaggedPath, 'path'>;

const all = conductorRoute({
  method: 'GET',
  path: '/metadata/tags',
  summary: 'Every tag there is, once.',
  scope: 'definitions:read',
  handle: async ({ useCases, namespace }) => {
    const listed = await useCases.tags.list(namespace);
    const distinct = new Map(listed.map(({ tag }) => [JSON.stringify([tag.key, tag.value]), tag]));
    return ok(json(200, [...distinct.values()].map(tagBodyOf)));
  },
});

export const tagRoutes: readonly Route[] = [
  all,
  ...tagRoutesOf({ ...WORKFLOWS, path: '/metadata/workflow/:name/tags' }),
  ...tagRoutesOf({ ...TASKS, path: '/metadata/task/:name/tags' }),
  // As Conductor's Python client spells them.
  ...tagRoutesOf({ ...WORKFLOWS, path: '/metadata/tags/workflow/:name' }),
  ...tagRoutesOf({ ...TASKS, path: '/metadata/tags/task/:name' }),
];
