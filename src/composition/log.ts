import pino, { type Logger } from 'pino';

export type Log = Logger;

/** JSON lines on stderr, one a record; stdout belongs to what the user asked for. */
export const createLog = (level: string): Log => pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
