import { LIMITS as CLUSTER_LIMITS } from '@goshawk/core';

/** Resource limits for HTTP clients. */
export const LIMITS = {
  /** Maximum size of a request body in bytes. */
  bodyBytesMax: 16 * 1024 * 1024,
  /** Maximum number and nesting of values in a body. A valid job has fewer. */
  bodyValuesMax: 1_000_000,
  bodyDepthMax: 64,
  /** Maximum size of the headers with the path, in bytes; the default of Node.js. */
  headersBytesMax: 16 * 1024,
  requestTimeoutMs: 30_000,
  /** Timeout of idle connections. */
  keepAliveMs: 72_000,
  /** Interval (ms) at which the timeouts of headers and requests are checked. */
  timeoutsCheckMs: 1_000,
  /** Maximum number of pipelined requests on one connection. */
  pipelinedMax: 4,
  /** Maximum number of streams and long polls in total, and per token if several tokens exist. */
  openMax: 256,
  openPerTokenMax: 64,
  /** Maximum number of reads, and of long requests, in progress per token if several tokens exist. Few of them keep the thread busy. */
  readsPerTokenMax: 4,
  /** Maximum number of a token's requests that begin before the thread serves others once. */
  arrivalsPerTokenMax: 4,
  /** Text of a stream in bytes, approximately, before the thread serves others once. */
  streamChunkBytes: 16 * 1024,
  /** See `HttpConnectionLimits`. A client is a token, or all connections that have sent none. */
  connections: {
    quietMax: 100,
    requestsPerClientMax: 384,
    requestsMax: 512,
    unreadBytesPerClientMax: 32 * 1024 * 1024,
    unreadBytesMax: 64 * 1024 * 1024,
  },
  /** Time limit (ms) until the headers of a request are complete. */
  headersTimeoutMs: 10_000,
  /**
   * Maximum output of tasks in one response, in bytes. Of longer output, the response has the end and a flag.
   */
  logBytesMax: 1024 * 1024,
  /**
   * Maximum number of results in one response, and of MiB of their values. A flag marks truncated responses.
   */
  resultsMax: 10_000,
  resultPagesMax: 32,
  /** Heartbeat interval of streams (ms), so that proxies keep streams open. */
  streamBeatMs: 15_000,
  /** Time (ms) after which a stream without events begins; errors after that time end it instead of setting a status. */
  streamStartMs: 5_000,
  /** Maximum time in seconds that a request waits for the end of a job. */
  waitSecondsMax: 60,
  /** Maximum number of jobs changed by one request. */
  bulkJobsMax: 10_000,
  /** Maximum number of workers in one task stream. */
  streamWorkersMax: 100,
  /** Maximum number of workers that one request asks for the resource use of their tasks. */
  usedWorkersMax: 20,
  /** Maximum number of workers that a prediction adds. */
  addedWorkersMax: 10_000,
  /** Maximum number of predictions that wait while another one is simulated. */
  predictionsWaitingMax: 4,
  /** Maximum size of a part of a large value in bytes. */
  valuePartBytesMax: 8 * 1024 * 1024,
  /** Interval (ms) of looking for values whose jobs are gone, and the time after which values without a job are deleted. */
  valuesSweepMs: 60_000,
  valuesUnusedMs: 3_600_000,
  jobsListedMax: CLUSTER_LIMITS.jobsListedMax,
} as const;
