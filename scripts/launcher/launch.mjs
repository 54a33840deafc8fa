import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { findNode } from './find-node.mjs';
import { ensureInstalled, say } from './install.mjs';
import { LauncherError } from './launcher-error.mjs';
import { runCommand } from './run-command.mjs';

/** The root of the checkout. */
export const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))));

/**
 * Installs what is missing, finds a Node that is new enough, runs the command with it and exits with its code.
 * This file and those beside it are plain JavaScript for Node 20, because they run before anything newer is there.
 */
export async function launch(command, args) {
  try {
    await ensureInstalled(root);
    const { platform, arch, execPath, versions } = process;
    const node = findNode({ root, version: versions.node, execPath, platform, arch });
    process.exit(await runCommand({ root, node, command, args }));
  } catch (error) {
    if (!(error instanceof LauncherError)) throw error;
    say(error.message);
    process.exit(1);
  }
}
