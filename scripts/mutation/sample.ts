/**
 * Draws one function of N, with all its mutants, where all of them would take too long: `RONDO_MUTATE_EVERY`, set by
 * `main.ts`. What is drawn hangs on names and places alone, so that the same sources give the same sample.
 */
import { createHash } from 'node:crypto';
import { declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';

const every = Number(process.env.RONDO_MUTATE_EVERY ?? 1);

type Node = Readonly<{ type: string; start?: number | null; end?: number | null }>;
type Path = Readonly<{ node: Node; parent?: Node | null }>;

const isDrawn = ({ type, start, end }: Node): boolean =>
  createHash('sha256').update(`${type} ${start} ${end}`).digest().readUInt32BE(0) % every === 0;

/** A declaration of a file, or a method of a class. */
const isWhole = ({ node, parent }: Path): boolean =>
  node.type !== 'ClassDeclaration' &&
  (parent?.type === 'Program' || parent?.type === 'ClassBody') &&
  !(
    node.type === 'ExportNamedDeclaration' && (node as { declaration?: Node }).declaration?.type === 'ClassDeclaration'
  );

export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'sample', {
    shouldIgnore: (given) => {
      const path = given as unknown as Path;
      return isWhole(path) && !isDrawn(path.node) ? 'not drawn' : undefined;
    },
  }),
];
