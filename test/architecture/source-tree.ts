import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SourceTree } from './import-rules.ts';

const ROOT = join(import.meta.dirname, '..', '..');

export const existsInRepository = (path: string): boolean => existsSync(join(ROOT, path));

/** Every file with one of the endings below the folders. */
export const readTree = (folders: readonly string[], ending: RegExp): SourceTree =>
  new Map(
    folders.filter(existsInRepository).flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile() && ending.test(entry.name) && !entry.parentPath.includes('node_modules'))
        .map((entry): [string, string] => {
          const file = join(entry.parentPath, entry.name);
          return [file.slice(ROOT.length + 1).replaceAll('\\', '/'), readFileSync(file, 'utf8')];
        }),
    ),
  );
