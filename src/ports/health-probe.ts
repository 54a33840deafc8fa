/** What readiness asks of the database; each problem is one sentence an operator can act on. */
export interface HealthProbe {
  problems(): Promise<readonly string[]>;
}
