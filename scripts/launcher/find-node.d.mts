/** The types of find-node.mjs, which is plain JavaScript because it runs before a Node that strips types is found. */
export function findNode(
  where: Readonly<{ root: string; version: string; execPath: string; platform: string; arch: string }>,
): string;
