import type { CliIo } from './cli-io.ts';
import { CliError } from './exit-codes.ts';

/** Reads a JSON argument: the text itself, `@file`, or `-` for stdin. */
export const readJsonArgument = async (io: CliIo, argument: string, name: string): Promise<unknown> => {
  if (argument === '-') return parse(await io.readStdin(), name);
  if (argument.startsWith('@')) return readJsonFile(io, argument.slice(1));
  return parse(argument, name);
};

/** The same, and an object. */
export const readObjectArgument = async (
  io: CliIo,
  argument: string,
  name: string,
): Promise<Readonly<Record<string, never>>> => {
  const value = await readJsonArgument(io, argument, name);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, never>;
  throw new CliError('INVALID_JSON', `${name} is not a JSON object`);
};

/** Reads definitions from files, each holding one or a list of them. */
export const readDocuments = async (
  io: CliIo,
  files: readonly string[],
): Promise<readonly Readonly<{ file: string; document: unknown }>[]> => {
  const read = await Promise.all(files.map(async (file) => ({ file, content: await readJsonFile(io, file) })));
  return read.flatMap(({ file, content }) =>
    (Array.isArray(content) ? content : [content]).map((document: unknown) => ({ file, document })),
  );
};

const readJsonFile = async (io: CliIo, file: string): Promise<unknown> => {
  let text: string;
  try {
    text = await io.readFile(file);
  } catch (error) {
    throw new CliError('FILE_UNREADABLE', `${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
  return parse(text, file);
};

const parse = (text: string, name: string): unknown => {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CliError('INVALID_JSON', `${name}: ${error instanceof Error ? error.message : String(error)}`);
  }
};
