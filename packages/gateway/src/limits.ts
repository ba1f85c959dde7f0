import { LIMITS as CLUSTER_LIMITS } from '@goshawk/core';

/** Resource limits for HTTP clients. */
export const LIMITS = {
  /** Maximum size of a job. */
  bodyBytesMax: 16 * 1024 * 1024,
  /** Maximum number of values and nesting of a body: more than a valid job can have. */
  bodyValuesMax: 1_000_000,
  bodyDepthMax: 64,
  /** Node's default; includes the path. */
  headersBytesMax: 16 * 1024,
  requestTimeoutMs: 30_000,
  /** Timeout of idle connections. */
  keepAliveMs: 72_000,
  /** Maximum number of pipelined requests on one connection. */
  pipelinedMax: 16,
  /** Maximum number of streams and long polls, over all clients, and per token if there are several. */
  openMax: 256,
  openPerTokenMax: 64,
  /** Maximum number of connections without a request in flight; the one that has been idle longest is closed first. */
  quietConnectionsMax: 100,
  /** Timeout for the complete header. */
  headersTimeoutMs: 10_000,
  /** Maximum output of tasks in one response, in bytes; longer output is truncated to its end and flagged. */
  logBytesMax: 1024 * 1024,
  /** Maximum number of results in one response, and size of their values in MiB; truncation is flagged. */
  resultsMax: 10_000,
  resultPagesMax: 32,
  /** Heartbeat interval of streams, so that proxies keep them open. */
  streamBeatMs: 15_000,
  /** Maximum time that a request waits for the end of a job. */
  waitSecondsMax: 60,
  /** Maximum number of jobs changed by one request. */
  bulkJobsMax: 10_000,
  /** Maximum number of workers in one task stream. */
  streamWorkersMax: 100,
  /** Maximum number of workers that are asked what their tasks use. */
  usedWorkersMax: 20,
  /** Maximum number of workers that a prediction adds. */
  addedWorkersMax: 10_000,
  /** Maximum number of predictions that wait while another one is simulated. */
  predictionsWaitingMax: 4,
  jobsListedMax: CLUSTER_LIMITS.jobsListedMax,
} as const;
