const COMMON = {
  // Only this machine can connect, and only by TCP: the path of a socket in a deep folder would be too long.
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  password_encryption: 'scram-sha-256',
  synchronous_commit: 'on',
  max_wal_size: '2GB',
  wal_compression: 'on',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
  log_checkpoints: 'off',
  log_line_prefix: '%m [%p] ',
  lc_messages: 'C',
} as const;

const DURABLE = { fsync: 'on', full_page_writes: 'on', shared_buffers: '256MB', max_connections: '200' } as const;
const DISPOSABLE = { fsync: 'off', full_page_writes: 'off', shared_buffers: '128MB', max_connections: '300' } as const;

/** The server's settings as command-line arguments, where nothing in the data directory overrides them. */
export const settingArguments = (durable: boolean, port: number): readonly string[] =>
  Object.entries({ ...COMMON, ...(durable ? DURABLE : DISPOSABLE), port: String(port) }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]);
