import type { Command } from 'commander';
import { EXIT } from '../exit-codes.ts';
import type { Session } from '../session.ts';
import { escapeText, terminalJson } from '../terminal-text.ts';

export type ReplayFileOptions = Readonly<{
  definition: string;
  taskDefinitions: readonly string[];
  workflowId?: string | undefined;
}>;

type ReplayFileReport = Readonly<
  { file: string; recorded: number } & (
    | { problem: string }
    | { same: true }
    | { same: false; difference: Readonly<{ seq: number; recorded: unknown; derived?: unknown }> }
  )
>;

/** Replays a history in this process; composition provides it. */
export type ReplayFile = (
  file: string,
  options: ReplayFileOptions,
  readFile: (path: string) => Promise<string>,
) => Promise<ReplayFileReport>;

/** Exit code 1: it did not come out as it is on record; 2: a file that is none. */
export const replayHistoryFile = async (
  session: Session,
  command: Command,
  file: string,
  options: ReplayFileOptions,
  replayFile: ReplayFile,
): Promise<void> => {
  const printer = session.printer(command);
  const report = await replayFile(file, options, session.io.readFile);
  session.exitCode = 'problem' in report ? EXIT.badTestFile : report.same ? EXIT.ok : EXIT.failed;
  printer.result(report, () => {
    if ('problem' in report) {
      printer.line(`${escapeText(file)}: ${escapeText(report.problem)}`);
      return;
    }
    const { definition } = options;
    if (report.same) {
      printer.line(`${report.recorded} events follow again from ${escapeText(definition)}`);
      return;
    }
    printer.line(`${escapeText(definition)} goes another way at event ${report.difference.seq}`);
    printer.line(`recorded ${terminalJson(report.difference.recorded)}`);
    if (report.difference.derived !== undefined) printer.line(`derived  ${terminalJson(report.difference.derived)}`);
  });
};
