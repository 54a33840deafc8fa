export type EmbeddedPostgresErrorCode =
  | 'PLATFORM_UNSUPPORTED'
  | 'BINARIES_UNUSABLE'
  | 'HOME_UNUSABLE'
  | 'NO_PERMISSION'
  | 'USER_UNKNOWN'
  | 'DISK_FULL'
  | 'DATA_DIRECTORY_CORRUPT'
  | 'DATA_DIRECTORY_VERSION'
  | 'DATA_DIRECTORY_IN_USE'
  | 'HOME_IN_USE'
  | 'PASSWORD_MISMATCH'
  | 'PORT_UNAVAILABLE'
  | 'SHARED_MEMORY_IN_USE'
  | 'START_FAILED'
  | 'STOP_FAILED';

/** A failure of the embedded server. The message is one line that says what happened and what to do about it. */
export class EmbeddedPostgresError extends Error {
  readonly code: EmbeddedPostgresErrorCode;

  constructor(code: EmbeddedPostgresErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'EmbeddedPostgresError';
    this.code = code;
  }
}

/** The code of a Node or PostgreSQL error, such as ENOENT or 57P03. */
export const errorCodeOf = (error: unknown): string | undefined => {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
};

/** Turns a failed file operation into an error that says what to do. Anything else is returned as it is. */
export function fileSystemError(error: unknown, path: string): unknown {
  switch (errorCodeOf(error)) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new EmbeddedPostgresError('DISK_FULL', `The disk is full at ${path}. Free some space, then start again.`, {
        cause: error,
      });
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new EmbeddedPostgresError(
        'NO_PERMISSION',
        `This user may not read or write ${path}. Run as its owner, set RONDO_HOME to a folder of your own, or set DATABASE_URL.`,
        { cause: error },
      );
    case 'EEXIST':
    case 'ENOTDIR':
      return new EmbeddedPostgresError(
        'HOME_UNUSABLE',
        `${path} cannot be a folder, because a file is in its way. Remove the file, or set RONDO_HOME to another folder.`,
        { cause: error },
      );
    default:
      return error;
  }
}

type Symptom = Readonly<{ pattern: RegExp; code: EmbeddedPostgresErrorCode; advice: string }>;

// The order matters: the first match wins, and a full disk also looks like a broken data directory.
const SYMPTOMS: readonly Symptom[] = [
  { pattern: /No space left on device/, code: 'DISK_FULL', advice: 'Free some space, then start again.' },
  {
    pattern: /could not look up effective user ID/,
    code: 'USER_UNKNOWN',
    advice: 'PostgreSQL needs a user with an entry in /etc/passwd: run as one, or set DATABASE_URL.',
  },
  {
    pattern: /could not bind|could not create any TCP\/IP sockets|Address already in use/,
    code: 'PORT_UNAVAILABLE',
    advice: 'Another program holds the port.',
  },
  {
    pattern: /lock file "postmaster.pid" already exists/,
    code: 'DATA_DIRECTORY_IN_USE',
    advice: 'Another PostgreSQL uses this data directory: stop it, or set RONDO_HOME to another folder.',
  },
  {
    pattern: /pre-existing shared memory block/,
    code: 'SHARED_MEMORY_IN_USE',
    advice: 'Processes of an earlier PostgreSQL still run: end them, then start again.',
  },
  {
    pattern: /Permission denied|has wrong ownership|has invalid permissions/,
    code: 'NO_PERMISSION',
    advice: 'Run as the owner of the folder, or set RONDO_HOME to another one.',
  },
  {
    pattern:
      /valid checkpoint record|pg_control|database files are incompatible|PANIC|invalid page|could not open (file|directory)|is not a valid data directory/,
    code: 'DATA_DIRECTORY_CORRUPT',
    advice: 'The data is damaged: restore a backup, or move the folder away to start empty.',
  },
];

/**
 * Reads the server's own words.
 * @param output what initdb or the server wrote, the newest last
 * @param context what was attempted, for the message
 */
export function serverOutputError(output: string, context: string): EmbeddedPostgresError {
  const symptom = SYMPTOMS.find(({ pattern }) => pattern.test(output));
  const reasons = output.split('\n').filter((line) => /FATAL|PANIC|error:|ERROR/.test(line));
  const said = (reasons[0] ?? output.trim().split('\n').at(-1) ?? '').trim();
  const advice = symptom?.advice ?? 'Set DATABASE_URL to use a PostgreSQL of your own.';
  return new EmbeddedPostgresError(symptom?.code ?? 'START_FAILED', `${context}: ${said || 'no output'}. ${advice}`);
}
