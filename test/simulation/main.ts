import { runSeed } from './campaign.ts';

const seed = Number(process.argv[2] ?? 1);
const count = Number(process.argv[3] ?? 50);
const began = performance.now();
let steps = 0;
for (let each = seed; each < seed + count; each += 1) {
  if (process.env.TRACE) process.stderr.write(`${each} `);
  const result = await runSeed(each);
  steps += result.steps;
  if (result.violations.length > 0) {
    process.stdout.write(`seed ${each} ${JSON.stringify(result.config)}\n`);
    for (const v of result.violations.slice(0, 3)) process.stdout.write(`  ${v.invariant} @${v.step}: ${v.text}\n`);
  }
}
const seconds = (performance.now() - began) / 1000;
process.stdout.write(`${steps} steps in ${seconds.toFixed(1)} s: ${(steps / seconds).toFixed(0)} steps/s\n`);
