import type { Cluster } from '@goshawk/client';
import { type GoshawkError, InputError, UnreachableError } from '@goshawk/core';

/** Interval (ms) between attempts to reach the cluster. */
const RETRY_MS = 2_000;

/**
 * The connection to the cluster, made on demand and retried while the cluster is unreachable: the gateway may start before its
 * cluster, and outlives it.
 */
export class Link {
  readonly #connect: (signal: AbortSignal) => Promise<Cluster>;
  readonly #closing = new AbortController();
  #connected: Cluster | undefined;
  #connecting: Promise<Cluster> | undefined;
  #failure: { readonly error: GoshawkError; readonly at: number } | undefined;

  /** @param connect stops trying when the signal is aborted */
  constructor(connect: (signal: AbortSignal) => Promise<Cluster>) {
    this.#connect = connect;
  }

  /** @throws UnreachableError if the cluster does not answer; InputError for invalid keys */
  async cluster(): Promise<Cluster> {
    if (this.#connected !== undefined) return this.#connected;
    // Requests during the retry delay fail immediately with the last error.
    if (this.#failure !== undefined && performance.now() - this.#failure.at < RETRY_MS)
      throw this.#failure.error;
    this.#connecting ??= this.#try();
    return this.#connecting;
  }

  /** Fails pending requests immediately. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#connecting?.catch(() => {});
    await this.#connected?.close();
  }

  async #try(): Promise<Cluster> {
    try {
      this.#connected = await this.#connect(this.#closing.signal);
      this.#failure = undefined;
      return this.#connected;
    } catch (error) {
      if (error instanceof UnreachableError || error instanceof InputError)
        this.#failure = { error, at: performance.now() };
      throw error;
    } finally {
      this.#connecting = undefined;
    }
  }
}
