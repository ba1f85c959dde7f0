import type { GoshawkError, Millis } from '@goshawk/core';
import type { KeySource, Logger } from '@goshawk/transport';

/** Timeouts and intervals of a client. All in ms. */
export interface ClientTimings {
  /** `connect` fails after this time without an answer. */
  readonly connectTimeoutMs: Millis;
  /** A request without an answer fails after this time, and a wait for a job whose owner is silent after twice this time. */
  readonly requestTimeoutMs: Millis;
  /**
   * Patience with absent processes: an address that refuses connections, a cluster without schedulers, a scheduler that central
   * lists as lost. Default: `requestTimeoutMs`, in which they may have been restarted.
   */
  readonly absentTimeoutMs: Millis;
  /** When many parties are polled, one that does not answer in this time is skipped. */
  readonly pollTimeoutMs: Millis;
  /** First and longest delay before a retry; the delay doubles each time. */
  readonly retryMs: Millis;
  readonly retryMaxMs: Millis;
  /** Keep-alive interval of a watch. The owner drops watches that were silent for 60 s. */
  readonly renewMs: Millis;
  /**
   * An older list of schedulers is refreshed in the background while it is used; a list that lacks schedulers, after
   * `rosterPauseMs`.
   */
  readonly rosterAgeMaxMs: Millis;
  /** Interval between background refreshes of the roster. */
  readonly rosterPauseMs: Millis;
  /** First and longest interval between polls of a log without new output. */
  readonly logPollMs: Millis;
  readonly logPollMaxMs: Millis;
}

export const DEFAULT_TIMINGS: ClientTimings = {
  connectTimeoutMs: 5_000,
  // A lost scheduler's lease expires after 5 s; another one has taken over within three times that.
  requestTimeoutMs: 15_000,
  absentTimeoutMs: 15_000,
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
  /** Aborts connecting. Use `close` on an open connection. */
  readonly signal?: AbortSignal | undefined;
  /** Default owner of jobs. Default: the name of an individual key, else of the operating system's user. */
  readonly user?: string | undefined;
  /**
   * Client key of a cluster with keys: path of `client.key` or of its folder, or its content as `{ text }`. Default:
   * `GOSHAWK_KEYS`, or the keys of the cluster that `goshawk up` runs at this URL.
   */
  readonly keys?: string | KeySource | undefined;
  /** Default: silent. Accepts a pino logger. */
  readonly logger?: Logger | undefined;
}

export interface SubmitOptions extends CallOptions {
  /** Called at the first refusal that is temporary, for example of an overloaded scheduler, before the retries. */
  readonly onRefused?: ((why: GoshawkError) => void) | undefined;
}

export interface CallOptions {
  /** Stops waiting for the reply. The request may still take effect. */
  readonly signal?: AbortSignal | undefined;
}

/** Adds the defaults. @throws RangeError for a time that is not above 0 */
export function completeTimings(given: Partial<ClientTimings>): ClientTimings {
  const { requestTimeoutMs = DEFAULT_TIMINGS.requestTimeoutMs } = given;
  const timings: Record<string, number> = { ...DEFAULT_TIMINGS, absentTimeoutMs: requestTimeoutMs };
  for (const name of Object.keys(DEFAULT_TIMINGS) as (keyof ClientTimings)[]) {
    const ms = given[name];
    if (ms === undefined) continue;
    if (typeof ms !== 'number' || !(ms > 0)) throw new RangeError(`${name} must be above 0, not ${ms}`);
    timings[name] = ms;
  }
  return timings as unknown as ClientTimings;
}
