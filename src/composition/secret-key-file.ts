import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { SEAL_KEY_BYTES, type SealKey } from '../adapters/keys/aes-gcm-seal.ts';

const FILE = 'secret.key';
const ID = 'dev';

const isThere = (error: unknown): boolean => (error as { code?: string }).code === 'EEXIST';

/** The key of `rondo dev`, made once and kept in its folder: nobody there has to make one before a secret can be stored. */
export const keepSecretKey = async (home: string): Promise<SealKey> => {
  const path = join(home, FILE);
  await mkdir(home, { recursive: true });
  try {
    await writeFile(path, randomBytes(SEAL_KEY_BYTES).toString('base64'), { flag: 'wx', mode: 0o600 });
  } catch (error) {
    // Whoever came first has made it.
    if (!isThere(error)) throw error;
  }
  const bytes = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64');
  if (bytes.length !== SEAL_KEY_BYTES) throw new Error(`${path} holds no key of ${SEAL_KEY_BYTES} bytes`);
  return { id: ID, bytes };
};
