import { childListsOf, type NodePlace } from './node-children.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

/** Texts and comments of a script: what stands in them reads nothing. */
const TEXT = /'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|\/\/[^\n]*|\/\*[\s\S]*?\*\//y;
/** A `$` that is no part of another name, with the name that it is asked for, as `$.name` or `$['name']`. */
const READ = /\$\s*(?:\.\s*([A-Za-z_$][\w$]*)|\[\s*(?:'([^'\\]*)'|"([^"\\]*)")\s*\])(\s*=(?![=>]))?/y;
const NAME_CHARACTER = /[\w$]/;

type Names = Readonly<{ read: ReadonlySet<string>; written: ReadonlySet<string> }>;

/** Names right behind `$`: those that the script reads, and those that it sets for itself. */
const namesIn = (source: string): Names => {
  const names = { read: new Set<string>(), written: new Set<string>() };
  for (let at = 0; at < source.length; ) {
    TEXT.lastIndex = at;
    READ.lastIndex = at;
    const isPartOfName = at > 0 && NAME_CHARACTER.test(source[at - 1] ?? '');
    const text = TEXT.exec(source);
    const read = isPartOfName ? null : READ.exec(source);
    if (read !== null) {
      const name = read[1] ?? read[2] ?? read[3] ?? '';
      (read[4] === undefined ? names.read : names.written).add(name);
    }
    at += (text ?? read)?.[0].length ?? 1;
  }
  return names;
};

const inputsOf = (node: TaskNodeDefinition): readonly string[] => Object.keys(node.inputParameters);

/** Refs that run in the same iteration as the lists: inner loops as one. Undefined: data brings in others. */
const refsIn = (nodes: readonly TaskNodeDefinition[]): readonly string[] | undefined => {
  const refs: string[] = [];
  for (const node of nodes) {
    if (node.type === 'FORK_JOIN_DYNAMIC') return undefined;
    refs.push(node.taskReferenceName);
    const lists = node.type === 'DO_WHILE' ? [] : childListsOf(node, '');
    for (const list of lists) {
      const inner = refsIn(list.nodes);
      if (inner === undefined) return undefined;
      refs.push(...inner);
    }
  }
  return refs;
};

/** Undefined: only the data of a run tells what is joined. */
const joinedRefs = ({ node, siblings, index }: NodePlace): readonly string[] | undefined => {
  const fork = siblings.slice(0, index).findLast(({ type }) => type === 'FORK_JOIN' || type === 'FORK_JOIN_DYNAMIC');
  if (fork?.type !== 'FORK_JOIN') return undefined;
  const last = (fork.forkTasks ?? []).flatMap((branch) => branch.at(-1)?.taskReferenceName ?? []);
  return [...(node.joinOn ?? []), ...last];
};

/** Names that the script of a node finds in `$`; undefined where that is not known before it runs. */
const knownTo = (place: NodePlace): readonly string[] | undefined => {
  const { node } = place;
  switch (node.type) {
    case 'SWITCH':
    case 'DECISION':
      return inputsOf(node);
    case 'DO_WHILE': {
      const body = refsIn(node.loopOver ?? []);
      return body && [...inputsOf(node), ...body, node.taskReferenceName];
    }
    case 'JOIN': {
      const joined = joinedRefs(place);
      return joined && ['joinOn', ...joined];
    }
    default:
      return undefined;
  }
};

/** What a script that steers reads of `$` and can never find there. */
export const unknownNames = (place: NodePlace, source: string): readonly string[] => {
  const known = knownTo(place);
  if (known === undefined) return [];
  const { read, written } = namesIn(source);
  return [...read].filter((name) => !known.includes(name) && !written.has(name));
};
