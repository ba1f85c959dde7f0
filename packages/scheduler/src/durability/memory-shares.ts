/** How one scheduler's memory is divided, as it estimates what things take. In bytes. */
export interface MemoryShares {
  /** Jobs that have not ended: with more no new one is taken. */
  readonly activeMax: number;
  /** The same at the start: what an incarnation with a larger heap has left beyond it stays in the journal. */
  readonly restoredMax: number;
  /** All jobs: with more, ended ones are forgotten. */
  readonly jobsMax: number;
  /** Ended jobs that the journal has as well: with more, the first of them lie there alone. */
  readonly endedMax: number;
  /** With more, what can be done without is not kept of jobs, and what tasks return only in the journal. */
  readonly shortAbove: number;
  /** Limit for task output. */
  readonly logsMax: number;
  /** Records that the disk does not have yet. */
  readonly unwrittenMax: number;
  /** Answers that wait for the disk. */
  readonly heldMax: number;
}

/** Some ten thousand small jobs: more in memory would help nobody. */
const ENDED_BYTES_MAX = 32 * 1024 * 1024;

/** @param bytes the whole budget: about half of the heap, so that there is room for what is on its way */
export function sharesOf(bytes: number): MemoryShares {
  return {
    activeMax: bytes * 0.45,
    restoredMax: bytes * 0.8,
    jobsMax: bytes * 0.55,
    endedMax: Math.min(bytes * 0.05, ENDED_BYTES_MAX),
    shortAbove: bytes * 0.65,
    logsMax: bytes * 0.15,
    unwrittenMax: bytes * 0.15,
    heldMax: bytes * 0.05,
  };
}

/** Memory use of one user. */
interface Holding {
  readonly user: string | undefined;
  readonly bytes: number;
}

/**
 * Those who hold most come down to a level at which `excess` less is held: nobody then has to give up what is his for
 * somebody who holds more. Of each the first goes first.
 *
 * @param giveUp makes room of at least so much, if it can; returns how much
 * @param kept what users hold that cannot go, and counts as theirs. In bytes
 */
export function letGo<T extends Holding>(
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
  const level = levelOf(
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

/** Finds how much each may hold so that all together hold `excess` less. @param held by each, the largest first */
export function levelOf(held: readonly number[], excess: number): number {
  let sum = 0;
  for (const [index, bytes] of held.entries()) {
    sum += bytes;
    const count = index + 1;
    if (sum - count * (held[count] ?? 0) >= excess) return Math.max(0, (sum - excess) / count);
  }
  return 0;
}
