import { launch } from './launcher/launch.mjs';

const [command, ...args] = process.argv.slice(2);
if (command === undefined) {
  process.stderr.write('usage: node scripts/run.mjs <command> [arguments]\n');
  process.exit(2);
}
await launch(command, args);
