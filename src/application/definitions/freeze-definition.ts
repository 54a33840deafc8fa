import type { CheckScript } from '../../domain/definition/check-context.ts';
import { checkDefinition } from '../../domain/definition/check-definition.ts';
import { parseWorkflowDefinition } from '../../domain/definition/parse-definition.ts';
import type { Dialect } from '../../domain/definition/workflow-definition.ts';
import type { Namespace } from '../../domain/kernel/brand.ts';
import type { JsonObject } from '../../domain/kernel/json.ts';
import { ok, type Result } from '../../domain/kernel/result.ts';
import type { ContentHasher } from '../../ports/content-hasher.ts';
import type { ApplicationError } from '../application-error.ts';
import { nothingMore } from '../message-handler.ts';
import { workflowHash } from './content.ts';
import { refusedDefinition } from './definition-error.ts';
import { type BundleStore, bundleOf, type ResolvedBundle } from './load-bundle.ts';
import { taskNamesOf } from './task-names.ts';

export type FreezeDeps = Readonly<{ hash: ContentHasher; checkScript: CheckScript }>;

/**
 * A definition that no name leads to is judged as a registration judges it, and pinned by its content like every other.
 * Errors: those of a registration.
 */
export const freezeDefinition = async (
  { hash, checkScript }: FreezeDeps,
  store: Pick<BundleStore, 'findTasks' | 'putBundle'>,
  namespace: Namespace,
  document: JsonObject,
  dialect: Dialect,
): Promise<Result<ResolvedBundle, ApplicationError>> => {
  const parsed = parseWorkflowDefinition(document, dialect);
  if (!parsed.ok) return refusedDefinition(parsed.error);
  const workflow = parsed.value;
  const names = taskNamesOf(workflow);
  const resolved = await bundleOf(store, hash, namespace, { workflow, hash: workflowHash(hash, workflow), names });
  const problems = checkDefinition(resolved.bundle, checkScript);
  if (problems.length > 0) return refusedDefinition(problems);
  await store.putBundle(resolved.hash, resolved.bundle);
  return ok({ ...resolved, remember: nothingMore });
};
