import { runCli } from './adapters/cli/program.ts';

// Whatever was not expected ends the process at once: half a state is worse than a restart, and a restart loses nothing.
process.on('unhandledRejection', (reason) => {
  throw reason;
});

// The server is loaded only where it is run: a client command starts in a fraction of the time.
const server = () => import('./composition/commands.ts');

process.exitCode = await runCli(process.argv.slice(2), {
  runDev: async () => (await server()).dev(),
  runServe: async () => (await server()).serve(),
  runMigrate: async () => (await server()).migrateSchema(),
  runBootstrap: async (options) => (await server()).bootstrap(options),
  replayFile: async (file, options, readFile) =>
    (await import('./testing/replay-file.ts')).replayFile(file, options, readFile),
  runTestFile: async (file, readFile) => (await import('./testing/run-test-file.ts')).runTestFile(file, readFile),
});
