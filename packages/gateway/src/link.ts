import type { Cluster } from '@goshawk/client';
import { type GoshawkError, InputError, UnreachableError } from '@goshawk/core';

/** Interval between attempts to reach the cluster. ms */
const RETRY_MS = 2_000;

/**
 * The connection to the cluster. It is made when it is first wanted, and anew as long as nobody answers: the gateway may be
 * started before its cluster, and outlives it.
 */
export class Link {
  readonly #connect: (signal: AbortSignal) => Promise<Cluster>;
  readonly #closing = new AbortController();
  #connected: Cluster | undefined;
  #connecting: Promise<Cluster> | undefined;
  #failure: { readonly error: GoshawkError; readonly at: number } | undefined;

  /** @param connect gives up when the signal is aborted */
  constructor(connect: (signal: AbortSignal) => Promise<Cluster>) {
    this.#connect = connect;
  }

  /** @throws UnreachableError when nobody answers; InputError for keys that are none */
  async cluster(): Promise<Cluster> {
    if (this.#connected !== undefined) return this.#connected;
    // Requests in between get the outcome of the last try at once.
    if (this.#failure !== undefined && performance.now() - this.#failure.at < RETRY_MS)
      throw this.#failure.error;
    this.#connecting ??= this.#try();
    return this.#connecting;
  }

  /** Fails pending requests at once. */
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
