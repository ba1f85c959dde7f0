/** How a scheduler divides its memory budget, by estimate. In bytes. */
export interface MemoryShares {
  /** Active jobs; above it no new one is accepted. */
  readonly activeMax: number;
  /** Active jobs at the start; jobs of an incarnation with a larger heap beyond this stay in the journal. */
  readonly restoredMax: number;
  /** All jobs; above it ended ones are forgotten. */
  readonly jobsMax: number;
  /** Ended jobs that are also in the journal; above it the oldest are kept only there. */
  readonly endedMax: number;
  /** Above it, optional data of jobs is not kept, and return values only in the journal. */
  readonly scarceAbove: number;
  /** Limit for task output. */
  readonly logsMax: number;
  /** Records that are not durable yet. */
  readonly notDurableMax: number;
  /** Answers that wait for durability. */
  readonly delayedMax: number;
}

/** About ten thousand small jobs; more in memory would not help. */
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
 * Frees `excess` bytes by lowering the users with the most memory to a common level, so that no user loses memory to
 * a larger one. Each user's oldest items go first.
 *
 * @param giveUp frees at least this much if possible; returns how much
 * @param kept bytes of each user that count but cannot be evicted
 */
export function evictFairly<T extends MemoryUser>(
  all: Iterable<T>,
  excess: number,
  giveUp: (one: T, excess: number) => number,
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
  const most = [...byUser.values()].sort((one, other) => other.bytes - one.bytes);
  const level = fairLevel(
    most.map(({ bytes }) => bytes),
    excess,
  );
  for (const held of most) {
    let over = held.bytes - level;
    for (const one of held.all) {
      if (over <= 0) break;
      over -= giveUp(one, over);
    }
  }
}

/** Finds the maximum per holder that reduces the total by `excess`. @param amounts of the holders, in descending order */
export function fairLevel(amounts: readonly number[], excess: number): number {
  let sum = 0;
  for (const [index, bytes] of amounts.entries()) {
    sum += bytes;
    const count = index + 1;
    if (sum - count * (amounts[count] ?? 0) >= excess) return Math.max(0, (sum - excess) / count);
  }
  return 0;
}
