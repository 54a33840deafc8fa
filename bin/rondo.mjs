#!/usr/bin/env node
import { join } from 'node:path';
import { launch, root } from '../scripts/launcher/launch.mjs';

await launch('node', [join(root, 'src', 'main.ts'), ...process.argv.slice(2)]);
