/** Shares of the scheduler's memory budget, in estimated bytes. */
export interface MemoryShares {
  /** Limit for active jobs. Above it, no new jobs are accepted. */
  readonly activeMax: number;
  /** Limit for active jobs that are loaded at the start. The others stay in the journal. */
  readonly restoredMax: number;
  /** Limit for all jobs. Above it, ended jobs are evicted. */
  readonly jobsMax: number;
  /** Limit for ended jobs in memory that can be read from the journal. Above it, the oldest stay only in the journal. */
  readonly endedMax: number;
  /** Above it, optional data of jobs is dropped, and return values are kept only in the journal. */
  readonly scarceAbove: number;
  /** Limit for task output. */
  readonly logsMax: number;
  /** Limit for records that are not durable yet. */
  readonly notDurableMax: number;
  /** Limit for messages that wait for durability. */
  readonly delayedMax: number;
}

/** Enough for about ten thousand small jobs. */
const ENDED_BYTES_MAX = 32 * 1024 * 1024;

/** @param bytes the total budget: about half of the heap, which leaves room for temporary data */
export function sharesOf(bytes: number): MemoryShares {
  return {
    activeMax: bytes * 0.45,
    restoredMax: bytes * 0.8,
    jobsMax: bytes * 0.55,
    endedMax: Math.min(bytes * 0.05, ENDED_BYTES_MAX),
    scarceAbove: bytes * 0.65,
    logsMax: bytes * 0.15,
    notDurableMax: bytes * 0.15,
    delayedMax: bytes * 0.05,
  };
}

/** Memory use of one user. */
interface MemoryUser {
  readonly user: string | undefined;
  readonly bytes: number;
}

/**
 * Frees `excess` bytes by reducing the users with the most memory to a common level, so that a user below that level
 * loses nothing. Each user's oldest items are evicted first.
 *
 * @param evict frees at least `excess` bytes of an item if possible; returns the freed bytes
 * @param kept bytes of each user that count but cannot be evicted
 */
export function evictFairly<T extends MemoryUser>(
  all: Iterable<T>,
  excess: number,
  evict: (one: T, excess: number) => number,
  kept: Iterable<readonly [user: string | undefined, bytes: number]> = [],
): void {
  const byUser = new Map<string | undefined, { bytes: number; all: T[] }>();
  for (const [user, bytes] of kept) byUser.set(user, { bytes, all: [] });
  for (const one of all) {
    const held = byUser.get(one.user) ?? { bytes: 0, all: [] };
    held.bytes += one.bytes;
    held.all.push(one);
    byUser.set(one.user, held);
  }
  const largestFirst = [...byUser.values()].sort((one, other) => other.bytes - one.bytes);
  const level = fairLevel(
    largestFirst.map(({ bytes }) => bytes),
    excess,
  );
  for (const held of largestFirst) {
    let over = held.bytes - level;
    for (const one of held.all) {
      if (over <= 0) break;
      over -= evict(one, over);
    }
  }
}

/** Finds the limit per user that reduces the total by `excess`. @param amounts amount of each user, in descending order */
export function fairLevel(amounts: readonly number[], excess: number): number {
  let sum = 0;
  for (const [index, bytes] of amounts.entries()) {
    sum += bytes;
    const count = index + 1;
    if (sum - count * (amounts[count] ?? 0) >= excess) return Math.max(0, (sum - excess) / count);
  }
  return 0;
}
