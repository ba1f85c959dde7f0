import type { Address, MessageOf } from '@goshawk/core';

/** Submissions that are remembered: those that may still be on their way again. */
const REMEMBERED = 10_000;

/**
 * Submissions that were taken lately. One that comes again, since its answer is late, is known by its number and need not
 * be read: a job of many tasks takes long to read.
 */
export class RecentSubmissions {
  /** Who asked, by key; the oldest first. */
  readonly #askers = new Map<string, { readonly client: Address; readonly request: number }>();

  took(client: Address, { key, request }: MessageOf<'submit'>): void {
    this.#askers.delete(key);
    if (this.#askers.size >= REMEMBERED) this.#askers.delete(this.#askers.keys().next().value!);
    this.#askers.set(key, { client, request });
  }

  /** Whether it is the very submission that was taken under this key. */
  isAgain(client: Address, { key, request }: MessageOf<'submit'>): boolean {
    const asker = this.#askers.get(key);
    return asker?.client === client && asker.request === request;
  }
}
