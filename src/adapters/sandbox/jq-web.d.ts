/** The package has no types of its own. */
declare module 'jq-web' {
  /** Runs jq like the command line on a JSON text. An error carries `exitCode` when jq ended by itself. */
  const jq: PromiseLike<{ raw(json: string, query: string, flags: readonly string[]): unknown }>;
  export default jq;
}
