import { runCli } from './adapters/cli/program.ts';
import { bootstrap, dev, migrateSchema, serve } from './composition/commands.ts';

// Whatever was not expected ends the process at once: half a state is worse than a restart, and a restart loses nothing.
process.on('unhandledRejection', (reason) => {
  throw reason;
});

process.exitCode = await runCli(process.argv.slice(2), {
  runDev: dev,
  runServe: serve,
  runMigrate: migrateSchema,
  runBootstrap: bootstrap,
});
