/** What one HTTP server accepts and how long it waits. Bytes, items and milliseconds, as the names say. */
export type HttpLimits = Readonly<{
  /** A request that carries user payload. */
  payloadBytesMax: number;
  /** A request that carries none: controls, leases, keys. */
  controlBytesMax: number;
  /** Read on and thrown away after a refusal, so that the client sees the answer; beyond it the connection is cut. */
  discardBytesMax: number;
  urlCharsMax: number;
  headerBytesMax: number;
  headersMax: number;
  headersTimeoutMs: number;
  /** From the first byte of a request to its last. */
  requestTimeoutMs: number;
  /** Without one byte of the body arriving. */
  bodyIdleTimeoutMs: number;
  /** How often the two time-outs before are looked at. */
  timeoutCheckMs: number;
  /** Above the longest poll, so that a worker's connection lives from one poll to the next. */
  keepAliveTimeoutMs: number;
  /** A stream that takes nothing for so long is cut; its reader resumes from the last id it saw. */
  streamStallMs: number;
  streamHeartbeatMs: number;
  streamsPerPrincipalMax: number;
  /** From the request to stop until connections are cut. */
  stopTimeoutMs: number;
}>;

const MEGABYTE = 1_048_576;

export const HTTP_LIMITS: HttpLimits = {
  payloadBytesMax: 10 * MEGABYTE,
  controlBytesMax: MEGABYTE,
  discardBytesMax: 20 * MEGABYTE,
  urlCharsMax: 8_192,
  headerBytesMax: 16_384,
  headersMax: 100,
  headersTimeoutMs: 15_000,
  requestTimeoutMs: 60_000,
  bodyIdleTimeoutMs: 8_000,
  timeoutCheckMs: 1_000,
  keepAliveTimeoutMs: 75_000,
  streamStallMs: 30_000,
  streamHeartbeatMs: 15_000,
  streamsPerPrincipalMax: 100,
  stopTimeoutMs: 8_000,
};
