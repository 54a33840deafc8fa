import { readFileSync } from 'node:fs';

/** The version of this program, as its package says. */
export const VERSION: string = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
