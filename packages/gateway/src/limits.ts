import { LIMITS as CLUSTER_LIMITS } from '@goshawk/core';

/** Resource limits for HTTP clients. */
export const LIMITS = {
  /** Maximum size of a job. */
  bodyBytesMax: 16 * 1024 * 1024,
  /** More than a job may have, and as deep as one may be with what is around it. */
  bodyValuesMax: 1_000_000,
  bodyDepthMax: 64,
  /** Node's default; includes the path. */
  headersBytesMax: 16 * 1024,
  requestTimeoutMs: 30_000,
  /** A connection that nothing is asked over is kept for so long. */
  keepAliveMs: 72_000,
  /** Requests that wait behind one of the same connection. */
  pipelinedMax: 16,
  /** Streams of events and requests that wait for a job, of all clients together, and of one token where there are several. */
  heldMax: 256,
  heldPerTokenMax: 64,
  /** Connections without a request under way; beyond that the one that has been quiet for longest is closed. */
  quietConnectionsMax: 100,
  /** Until the whole head of a request has arrived. */
  headersTimeoutMs: 10_000,
  /** Output of tasks in one answer, in bytes: where there is more, the last of it, and the answer says so. */
  logBytesMax: 1024 * 1024,
  /** Results of tasks in one answer, and MiB of values: where there are more, the answer says so. */
  resultsMax: 10_000,
  resultPagesMax: 32,
  /** A stream says something at least this often, so that proxies keep it open. */
  streamBeatMs: 15_000,
  /** The longest that an answer about a job waits for its end. */
  waitSecondsMax: 60,
  /** Jobs that one request changes. */
  bulkJobsMax: 10_000,
  /** Workers in one picture of what ran where. */
  streamWorkersMax: 100,
  jobsListedMax: CLUSTER_LIMITS.jobsListedMax,
} as const;
