import type { Address } from '@goshawk/core';
import type { Refusal } from '../durability/ledger.js';

/** Far more than the requests of which copies may still be in flight. */
const REFUSED_MAX = 1_000;

interface Request {
  readonly request: number;
  readonly key: string;
}

/**
 * Recent submissions, retries, appends and updates that were refused for good. A client repeats a request until it gets an answer, so a
 * copy may arrive after the refusal. It gets the same answer, because the client has given up.
 */
export class RefusedRequests {
  /** Oldest first. */
  readonly #refusals = new Map<string, Refusal>();

  of(from: Address, request: Request): Refusal | undefined {
    return this.#refusals.get(idOf(from, request));
  }

  add(from: Address, request: Request, refusal: Refusal): void {
    // The client repeats these with the same number.
    if (refusal.code === 'not-ready' || refusal.retryMs !== undefined) return;
    // The journal may withdraw the job that has the key, and this answer with it.
    if (refusal.keyHolder !== undefined) return;
    this.#refusals.set(idOf(from, request), refusal);
    if (this.#refusals.size <= REFUSED_MAX) return;
    for (const oldest of this.#refusals.keys()) {
      this.#refusals.delete(oldest);
      return;
    }
  }
}

function idOf(from: Address, { request, key }: Request): string {
  return `${from} ${request} ${key}`;
}
