/** How a command ended, for scripts. */
export const EXIT = {
  ok: 0,
  /** The run did not complete, or a definition is not valid. */
  failed: 1,
  /** `run --wait` gave up waiting. */
  stillRunning: 2,
  /** `test` was given a file that is none. */
  badTestFile: 2,
  refused: 3,
  usage: 4,
  unreachable: 5,
  internal: 70,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** A command cannot go on, through the fault of its user. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
