import { readFileSync } from 'node:fs';

export type TestCounts = Readonly<{ passed: number; failed: number; skipped: number }>;

type Report = Readonly<{
  testResults: readonly Readonly<{ status: string; assertionResults: readonly Readonly<{ status: string }>[] }>[];
}>;

const readReport = (path: string): Report | undefined => {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch {
    return undefined;
  }
};

/**
 * Counts the tests in a report of vitest's JSON reporter. What failed outside any test counts as one failure each: a
 * file that could not be loaded, and an exit code that no failed test explains. So "0 failed" always means a green run.
 */
export function readCounts(reportPath: string, exitCode: number): TestCounts {
  const files = readReport(reportPath)?.testResults ?? [];
  const statuses = files.flatMap((file) => file.assertionResults.map((test) => test.status));
  const count = (status: string) => statuses.filter((each) => each === status).length;
  const passed = count('passed');
  const skipped = statuses.length - passed - count('failed');
  const brokenFiles = files.filter(
    (file) => file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed'),
  );
  const failed = count('failed') + brokenFiles.length;
  return { passed, failed: failed === 0 && exitCode !== 0 ? 1 : failed, skipped };
}

/** The line that ends a run of the suite. */
export const closingLine = ({ passed, failed, skipped }: TestCounts): string =>
  `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
