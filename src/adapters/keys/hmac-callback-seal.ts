import { createHmac, timingSafeEqual } from 'node:crypto';
import { parseTaskId, type TaskId } from '../../domain/kernel/brand.ts';
import type { CallbackSeal } from '../../ports/callback-seal.ts';

/** Keeps tokens apart from whatever else a key may ever be used for. */
const PURPOSE = 'rondo callback\n';
const SIGNATURE = /^[0-9a-f]{64}$/;

const isEqual = (left: Buffer, right: Buffer): boolean => left.length === right.length && timingSafeEqual(left, right);

/**
 * A token is the id of the task and the 256 bits of an HMAC of it: it needs no row of its own, and none is left behind when
 * the task is over.
 */
export const createCallbackSeal = (key: string): CallbackSeal => {
  const macOf = (taskId: string): Buffer => createHmac('sha256', key).update(`${PURPOSE}${taskId}`).digest();
  return {
    token: (taskId) => `${taskId}.${macOf(taskId).toString('base64url')}`,
    taskOf: (token) => {
      const at = token.lastIndexOf('.');
      const taskId = token.slice(0, at);
      // Buffer skips what is no base64url, so that many texts would be the same token.
      const mac = Buffer.from(token.slice(at + 1), 'base64url');
      if (at < 0 || mac.toString('base64url') !== token.slice(at + 1)) return undefined;
      return isEqual(mac, macOf(taskId)) && parseTaskId(taskId) !== undefined ? (taskId as TaskId) : undefined;
    },
    isSigned: (secret, text, bytes, signature) => {
      if (secret === '' || !SIGNATURE.test(signature)) return false;
      const digest = createHmac('sha256', secret).update(text, 'utf8').update(bytes).digest();
      return isEqual(digest, Buffer.from(signature, 'hex'));
    },
  };
};
