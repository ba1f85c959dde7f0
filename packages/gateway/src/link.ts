import type { Cluster } from '@goshawk/client';
import { type GoshawkError, InputError, UnreachableError } from '@goshawk/core';

/** Interval (ms) between attempts to reach the cluster. */
const RETRY_MS = 2_000;

/**
 * The connection to the cluster. It is opened on demand and retried while the cluster is unreachable, because
 * the gateway may start before the cluster and continues without it.
 */
export class Link {
  readonly #connect: (signal: AbortSignal) => Promise<Cluster>;
  readonly #closing = new AbortController();
  #connected: Cluster | undefined;
  #connecting: Promise<Cluster> | undefined;
  #failure: { readonly error: GoshawkError; readonly at: number } | undefined;

  /** @param connect connects to the cluster, until the signal is aborted */
  constructor(connect: (signal: AbortSignal) => Promise<Cluster>) {
    this.#connect = connect;
  }

  /** @throws UnreachableError if the cluster does not answer; InputError for invalid keys */
  async cluster(): Promise<Cluster> {
    if (this.#connected !== undefined) return this.#connected;
    // During the retry delay, requests fail immediately with the last error.
    if (this.#failure !== undefined && performance.now() - this.#failure.at < RETRY_MS)
      throw this.#failure.error;
    this.#connecting ??= this.#try();
    return this.#connecting;
  }

  /** Closes the connection. Pending requests fail immediately. */
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
