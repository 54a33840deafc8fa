import type { Command } from 'commander';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import type { Printer } from '../printer.ts';
import type { Session } from '../session.ts';
import { escapeText, terminalJson } from '../terminal-text.ts';

type Difference = Readonly<{ path: string; expected: unknown; found: unknown }>;

type CaseReport = Readonly<{
  name: string;
  passed: boolean;
  differences: readonly Difference[];
  error?: string;
  waitingFor: readonly string[];
  unmocked: readonly string[];
  problems: readonly string[];
  elapsedMs: number;
  tookMs: number;
}>;

export type TestFileReport = Readonly<{ file: string; problem?: string; cases: readonly CaseReport[] }>;

/** Runs the cases of a file against the engine in this process; composition provides it. */
export type RunTestFile = (file: string, readFile: (path: string) => Promise<string>) => Promise<TestFileReport>;

export const addTestCommand = (program: Command, session: Session, runTestFile: RunTestFile): void => {
  program
    .command('test <files...>')
    .description('run the cases of test files on virtual time, without a server; exit 0 passed, 1 failed, 2 bad file')
    .action(async (files: readonly string[], _options: object, command: Command) => {
      const printer = session.printer(command);
      const reports: TestFileReport[] = [];
      for (const file of files) {
        const report = await runTestFile(file, session.io.readFile);
        reports.push(report);
        if (!printer.json) printFile(printer, report);
      }
      session.exitCode = exitCodeOf(reports);
      printer.result({ files: reports }, () => printTotals(printer, reports));
    });
};

const exitCodeOf = (reports: readonly TestFileReport[]): ExitCode => {
  if (reports.some(({ problem }) => problem !== undefined)) return EXIT.badTestFile;
  return reports.every(({ cases }) => cases.every(({ passed }) => passed)) ? EXIT.ok : EXIT.failed;
};

const printFile = (printer: Printer, { file, problem, cases }: TestFileReport): void => {
  printer.line(printer.paint('bold', escapeText(file)));
  if (problem !== undefined) printer.line(`  ${printer.paint('red', 'bad file')}  ${escapeText(problem)}`);
  for (const one of cases) printCase(printer, one);
};

const printCase = (printer: Printer, one: CaseReport): void => {
  const mark = one.passed ? printer.paint('green', 'pass') : printer.paint('red', 'FAIL');
  printer.line(`  ${mark}  ${escapeText(one.name)}  ${printer.paint('dim', `${one.tookMs} ms`)}`);
  if (one.unmocked.length > 0) note(printer, `not mocked: ${one.unmocked.join(', ')}`);
  if (one.passed) return;
  if (one.error !== undefined) note(printer, one.error);
  for (const { path, expected, found } of one.differences) {
    note(printer, path);
    printer.line(`        ${printer.paint('green', `- ${terminalJson(expected)}`)}`);
    printer.line(`        ${printer.paint('red', `+ ${terminalJson(found)}`)}`);
  }
  for (const why of [...one.waitingFor, ...one.problems]) note(printer, why);
};

const note = (printer: Printer, text: string): void => printer.line(`      ${escapeText(text)}`);

const printTotals = (printer: Printer, reports: readonly TestFileReport[]): void => {
  const cases = reports.flatMap((report) => report.cases);
  const failed = cases.filter(({ passed }) => !passed).length;
  const bad = reports.filter(({ problem }) => problem !== undefined).length;
  const parts = [`${cases.length - failed} passed`, ...(failed > 0 ? [`${failed} failed`] : [])];
  printer.line([...parts, ...(bad > 0 ? [`${bad} bad files`] : [])].join(', '));
};
