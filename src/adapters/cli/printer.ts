import Table from 'cli-table3';
import type { CliIo } from './cli-io.ts';
import { escapeText, type Paint, painter, paintStatus, terminalJson } from './terminal-text.ts';

/** A cell: text of users is escaped; a status is painted. */
export type Cell = string | number | undefined | Readonly<{ status: string }>;

const NO_BORDERS = Object.fromEntries(
  [
    'top',
    'top-mid',
    'top-left',
    'top-right',
    'bottom',
    'bottom-mid',
    'bottom-left',
    'bottom-right',
    'left',
    'left-mid',
    'mid',
    'mid-mid',
    'right',
    'right-mid',
  ].map((name) => [name, '']),
);

/** Writes results: for people, or with `--json` for programs. */
export class Printer {
  readonly json: boolean;
  readonly paint: Paint;
  private readonly io: CliIo;

  constructor(io: CliIo, json: boolean) {
    this.io = io;
    this.json = json;
    this.paint = painter(io.colour && !json);
  }

  /** One line of JSON for programs; for people what `human` prints. */
  result(value: unknown, human: () => void): void {
    if (this.json) this.io.out(`${terminalJson(value)}\n`);
    else human();
  }

  line(text: string): void {
    this.io.out(`${text}\n`);
  }

  /** A remark for people; never on stdout, where a result may be piped from. */
  note(text: string): void {
    this.io.err(`${escapeText(text)}\n`);
  }

  pretty(value: unknown): void {
    this.line(terminalJson(value, 2));
  }

  status(status: string): string {
    return paintStatus(this.paint, status);
  }

  table(head: readonly string[], rows: readonly (readonly Cell[])[]): void {
    const table = new Table({
      head: head.map((title) => this.paint('bold', title)),
      chars: { ...NO_BORDERS, middle: '  ' },
      style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0, compact: true },
    });
    for (const row of rows) table.push(row.map((cell) => this.cell(cell)));
    for (const line of table.toString().split('\n')) this.line(line.trimEnd());
  }

  private cell(cell: Cell): string {
    if (typeof cell === 'object') return this.status(cell.status);
    return cell === undefined ? '' : escapeText(String(cell));
  }
}
