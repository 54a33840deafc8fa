import { noopLogger, type OrkesApiConfig, OrkesClients } from '@io-orkes/conductor-javascript';

/** Conductor's own JavaScript clients, given a server's address as their users do. */
export const sdkFor = (url: string, config: Omit<OrkesApiConfig, 'serverUrl'> = {}): Promise<OrkesClients> =>
  OrkesClients.from({ serverUrl: url, logger: noopLogger, ...config });
