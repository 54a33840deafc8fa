import type { TaskId } from '../domain/kernel/brand.ts';

/** Makes and checks what proves that a callback is meant for a task. Every server over one database has the same seal. */
export interface CallbackSeal {
  /** The same task has the same token; without the seal's key nobody can make it. */
  token(taskId: TaskId): string;
  /** The task that a token is for; undefined when the seal did not make it. */
  taskOf(token: string): TaskId | undefined;
  /** Whether `signature` is the HMAC-SHA-256 under the secret, as 64 hex digits, of the text and the bytes after it. */
  isSigned(secret: string, text: string, bytes: Uint8Array, signature: string): boolean;
}
