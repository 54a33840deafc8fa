import type { JsonValue } from '../kernel/json.ts';
import { childPath } from '../kernel/value-path.ts';
import { compensationOf } from './compensation.ts';
import type { TaskNodeDefinition } from './workflow-definition.ts';

/** The fields of a node that hold other nodes, by the types they mean something in. */
export const CHILD_FIELDS = {
  decisionCases: ['SWITCH', 'DECISION'],
  defaultCase: ['SWITCH', 'DECISION'],
  forkTasks: ['FORK_JOIN'],
  loopOver: ['DO_WHILE'],
} as const;

export type ChildField = keyof typeof CHILD_FIELDS;

export const CHILD_FIELD_NAMES = Object.keys(CHILD_FIELDS) as readonly ChildField[];

export const holdsChildren = (type: string, field: ChildField): boolean =>
  (CHILD_FIELDS[field] as readonly string[]).includes(type);

/** A list of nodes inside a node, with the path of the list. */
export type ChildList = Readonly<{ nodes: readonly TaskNodeDefinition[]; path: string }>;

/** The lists of nodes that a node holds, in the order they are written. */
export const childListsOf = (node: TaskNodeDefinition, path: string): readonly ChildList[] => [
  ...Object.entries(node.decisionCases ?? {}).map(([label, nodes]) => ({
    nodes,
    path: childPath(childPath(path, 'decisionCases'), label),
  })),
  ...(node.defaultCase === undefined ? [] : [{ nodes: node.defaultCase, path: childPath(path, 'defaultCase') }]),
  ...(node.forkTasks ?? []).map((nodes, index) => ({ nodes, path: childPath(childPath(path, 'forkTasks'), index) })),
  ...(node.loopOver === undefined ? [] : [{ nodes: node.loopOver, path: childPath(path, 'loopOver') }]),
];

/** A node where it stands in a definition. */
export type NodePlace = Readonly<{
  node: TaskNodeDefinition;
  path: string;
  /** The list it stands in, and its place there. */
  siblings: readonly TaskNodeDefinition[];
  index: number;
  /** The place of the node whose list that is, or that it undoes; undefined at the top. */
  parent: NodePlace | undefined;
  /** It undoes its parent: it runs only when the run fails. */
  isCompensation: boolean;
}>;

const placesIn = (list: ChildList, parent: NodePlace | undefined, places: NodePlace[]): void => {
  list.nodes.forEach((node, index) => {
    const place = {
      node,
      path: childPath(list.path, index),
      siblings: list.nodes,
      index,
      parent,
      isCompensation: false,
    };
    places.push(place);
    for (const child of childListsOf(node, place.path)) placesIn(child, place, places);
    const compensation = compensationOf(node);
    if (compensation !== undefined) places.push(compensationPlace(compensation, place));
  });
};

/** A compensation is one task, and nothing is inside of it. */
const compensationPlace = (node: TaskNodeDefinition, parent: NodePlace): NodePlace => ({
  node,
  path: childPath(parent.path, 'compensateWith'),
  siblings: [node],
  index: 0,
  parent,
  isCompensation: true,
});

/** Every node of a definition in the order it is written, parents before their children and compensations. */
export const nodePlaces = (tasks: readonly TaskNodeDefinition[], path = 'tasks'): readonly NodePlace[] => {
  const places: NodePlace[] = [];
  placesIn({ nodes: tasks, path }, undefined, places);
  return places;
};

/** Whether a field that holds nodes was left out or holds none. */
export const isEmptyChild = (value: JsonValue | undefined): boolean =>
  value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
