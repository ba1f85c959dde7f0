import { liveGroups, signal } from './process-identity.js';

/** A look at all processes is used again for this many times the time that it took. */
const REUSE_FACTOR = 10;

/**
 * Whether process groups are empty. One look scans all processes, 15 µs each: runs that are killed together share a
 * look, and looks take at most a tenth of the time.
 */
export class GroupWatch {
  #groups: Set<number> | undefined;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #goodUntil = Number.NEGATIVE_INFINITY;

  /** Whether the group has members, as seen by a look not older than `sinceMs` (by `performance.now()`). */
  hasMembers(group: number, sinceMs: number): boolean {
    if (!signal(-group, 0)) return false;
    const now = performance.now();
    if (this.#lookedAt < sinceMs || now >= this.#goodUntil) {
      this.#lookedAt = now;
      this.#groups = liveGroups();
      const end = performance.now();
      this.#goodUntil = end + (end - now) * REUSE_FACTOR;
    }
    return this.#groups?.has(group) ?? true;
  }
}
