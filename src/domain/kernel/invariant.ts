/** Our own code or the log contradicts itself. The only thing the domain throws. */
export class InvariantError extends Error {
  override readonly name = 'InvariantError';
}

export function invariant(condition: unknown, message: string): asserts condition {
  if (!condition) throw new InvariantError(message);
}

export const unreachable = (value: never): never => {
  throw new InvariantError(`unreachable: ${JSON.stringify(value)}`);
};
