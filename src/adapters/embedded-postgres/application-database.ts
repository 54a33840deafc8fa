import { errorCodeOf } from './embedded-postgres-error.ts';
import { type Address, clientFor } from './probe.ts';

/** The database that the application uses. */
export const DATABASE = 'rondo';

/** Creates the application's database on the first start. */
export async function ensureDatabase(maintenance: Address): Promise<void> {
  const client = clientFor(maintenance, 'rondo setup');
  await client.connect();
  try {
    const { rowCount } = await client.query('select from pg_database where datname = $1', [DATABASE]);
    if (rowCount === 0) await client.query(`create database ${DATABASE}`);
  } catch (error) {
    // Two processes may start at once, and either may create it.
    if (errorCodeOf(error) !== '42P04' && errorCodeOf(error) !== '23505') throw error;
  } finally {
    await client.end();
  }
}
