/** What somebody at the HTTP server may cost. */
export const HTTP_LIMITS = {
  headersBytesMax: 8 * 1024,
  headersTimeoutMs: 5_000,
  requestTimeoutMs: 10_000,
  keepAliveMs: 5_000,
  connectionsMax: 128,
  requestsPerConnectionMax: 1_000,
  /** Characters of a path that is looked up; there is none half as long. */
  pathLengthMax: 256,
} as const;
