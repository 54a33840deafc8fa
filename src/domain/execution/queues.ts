/** Queues of the engine's own; no worker can name them, since no task name begins with `$`. */
export const SYSTEM_QUEUE = '$system';
export const WAITING_QUEUE = '$waiting';
