/** Tests as their files declare them; the runner decides when each runs. */
export type Hook = () => unknown;
export type Test = Readonly<{ id: string; name: string; file: string; run: () => unknown }>;
export type TestFile = {
  readonly path: string;
  readonly tests: Test[];
  readonly before: Hook[];
  readonly after: Hook[];
};

export const files: TestFile[] = [];

export const beginFile = (path: string): void => {
  files.push({ path, tests: [], before: [], after: [] });
};

export const currentFile = (): TestFile => {
  const file = files.at(-1);
  if (file === undefined) throw new Error('tests are declared by test files only');
  return file;
};
