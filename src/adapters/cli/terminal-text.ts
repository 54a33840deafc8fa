import { styleText } from 'node:util';

/** C0, DEL and C1 controls, and what turns the direction of text or breaks lines: none may reach a terminal from data. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the purpose.
const UNSAFE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the same without line feeds, which lay out JSON.
const UNSAFE_BUT_LINES = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const visible = (character: string): string =>
  SHORT[character] ?? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** Text of users on one line, every control character written out. */
export const escapeText = (text: string): string => text.replace(UNSAFE, visible);

/** JSON whose escapes keep its meaning, so that it is safe on a terminal and still what a program reads. */
export const terminalJson = (value: unknown, indent?: number): string =>
  (JSON.stringify(value, undefined, indent) ?? 'null').replace(UNSAFE_BUT_LINES, visible);

export type Style = 'green' | 'red' | 'yellow' | 'cyan' | 'magenta' | 'dim' | 'bold';
export type Paint = (style: Style, text: string) => string;

export const painter =
  (colour: boolean): Paint =>
  (style, text) =>
    colour ? styleText(style, text, { validateStream: false }) : text;

const STATUS_STYLES: Readonly<Record<string, Style>> = {
  COMPLETED: 'green',
  COMPLETED_WITH_ERRORS: 'yellow',
  FAILED: 'red',
  FAILED_WITH_TERMINAL_ERROR: 'red',
  TIMED_OUT: 'red',
  TERMINATED: 'yellow',
  CANCELED: 'yellow',
  RUNNING: 'cyan',
  IN_PROGRESS: 'cyan',
  PAUSED: 'magenta',
};

export const paintStatus = (paint: Paint, status: string): string => {
  const style = STATUS_STYLES[status];
  return style === undefined ? escapeText(status) : paint(style, status);
};
