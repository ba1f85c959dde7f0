import type { Millis } from '@goshawk/core';
import type { KeySource, Logger } from '@goshawk/transport';

/** How patient a client is. All in ms. */
export interface ClientTimings {
  /** `connect` fails when nobody has answered for so long. */
  readonly connectTimeoutMs: Millis;
  /** A request without an answer, or a watch without news, fails after this. */
  readonly requestTimeoutMs: Millis;
  /** When many are asked at once, one that is silent for so long is left out. */
  readonly pollTimeoutMs: Millis;
  /** A request is sent again after the first pause; each further pause is twice as long, up to the last. */
  readonly retryMs: Millis;
  readonly retryMaxMs: Millis;
  /** A watch gives a sign of life this often. The owner ends those that were silent for 60 s. */
  readonly renewMs: Millis;
  /** A list of schedulers older than this is read anew, in the background while it serves. */
  readonly rosterAgeMaxMs: Millis;
  /** Interval between background refreshes of the roster. */
  readonly rosterPauseMs: Millis;
  /** Between two looks at a log that has nothing new, first and longest. */
  readonly logPollMs: Millis;
  readonly logPollMaxMs: Millis;
}

export const DEFAULT_TIMINGS: ClientTimings = {
  connectTimeoutMs: 5_000,
  // A lost scheduler's lease ends after 5 s; within three times that, another one has taken its place.
  requestTimeoutMs: 15_000,
  pollTimeoutMs: 3_000,
  retryMs: 1_000,
  retryMaxMs: 4_000,
  renewMs: 10_000,
  rosterAgeMaxMs: 30_000,
  rosterPauseMs: 1_000,
  logPollMs: 100,
  logPollMaxMs: 1_000,
};

export interface ConnectOptions extends Partial<ClientTimings> {
  /** Gives up connecting. What was connected is closed by `close`. */
  readonly signal?: AbortSignal | undefined;
  /** Default owner of jobs. Default: the name of the operating system's user. */
  readonly user?: string | undefined;
  /**
   * Client key of a cluster with keys: path of `client.key` or of its folder, or its content as `{ text }`. Default:
   * `GOSHAWK_KEYS`, or the keys of the cluster that `goshawk up` runs at this URL.
   */
  readonly keys?: string | KeySource | undefined;
  /** Default: silent. A pino logger is one. */
  readonly logger?: Logger | undefined;
}

export interface CallOptions {
  /** Gives up waiting for the answer. What was asked for may happen all the same. */
  readonly signal?: AbortSignal | undefined;
}

export function completeTimings(given: Partial<ClientTimings>): ClientTimings {
  const timings: Record<string, number> = { ...DEFAULT_TIMINGS };
  for (const name of Object.keys(DEFAULT_TIMINGS) as (keyof ClientTimings)[]) {
    const ms = given[name];
    if (ms === undefined) continue;
    if (!(ms > 0)) throw new RangeError(`${name} must be above 0, not ${ms}`);
    timings[name] = ms;
  }
  return timings as unknown as ClientTimings;
}
