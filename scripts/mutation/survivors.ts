/** Tells each mutant that no test found as soon as that is known, since a run takes long; the report follows at its end. */

import type { MutantResult } from '@stryker-mutator/api/core';
import { declareClassPlugin, PluginKind } from '@stryker-mutator/api/plugin';
import type { Reporter } from '@stryker-mutator/api/report';

class Survivors implements Reporter {
  onMutantTested({ status, fileName, location, mutatorName, replacement = '' }: Readonly<MutantResult>): void {
    if (status === 'Killed' || status === 'Ignored') return;
    const { line, column } = location.start;
    const change = replacement.replace(/\s+/g, ' ').slice(0, 120);
    process.stdout.write(`${status} ${fileName}:${line}:${column} ${mutatorName}: ${change}\n`);
  }
}

export const strykerPlugins = [declareClassPlugin(PluginKind.Reporter, 'survivors', Survivors)];
