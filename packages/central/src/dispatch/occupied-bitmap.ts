import { slotsIn } from '@goshawk/core';
import type { BookedWorker } from '@goshawk/policies';

/** The workers, with a counter of changes to their long tasks. */
export interface OccupiedSource {
  readonly workers: Iterable<Pick<BookedWorker, 'runs' | 'capacity' | 'row'>>;
  readonly longChanges: number;
}

/** Fraction of outdated bits from which an update is published. */
const CHANGED_SHARE_MIN = 0.01;

/**
 * Keeps a bitmap of the workers where long tasks use all slots. A probe there would wait for hours, so schedulers receive
 * the bitmap whenever enough bits have changed.
 */
export class OccupiedBitmap {
  #published: Uint8Array = NONE_OCCUPIED;
  /** Whether a scheduler has no bitmap yet, so that it considers no worker occupied. */
  #hasNewcomer = false;
  /** State at the last full scan; undefined forces a scan. */
  #lastScan: { readonly longChanges: number; readonly rowCount: number } | undefined;

  /** Returns the bitmap; undefined if too little has changed since the last one. */
  update({ workers, longChanges }: OccupiedSource, rowCount: number): Uint8Array | undefined {
    if (this.#lastScan?.longChanges === longChanges && this.#lastScan.rowCount === rowCount) return undefined;
    this.#lastScan = { longChanges, rowCount };
    const bits = new Uint8Array(Math.ceil(rowCount / 8));
    for (const { runs, capacity, row } of workers) {
      let long = 0;
      for (const { stage } of runs) if (stage.job.long) long++;
      if (long >= slotsIn(capacity)) bits[row >> 3]! |= 1 << (row & 7);
    }
    const isOutdated = (published: Uint8Array): boolean => {
      const changes = countDifferentBits(bits, published);
      return changes > 0 && changes >= CHANGED_SHARE_MIN * rowCount;
    };
    if (!isOutdated(this.#published) && !(this.#hasNewcomer && isOutdated(NONE_OCCUPIED))) return undefined;
    this.#published = bits;
    this.#hasNewcomer = false;
    return bits;
  }

  schedulerJoined(): void {
    this.#hasNewcomer = true;
    this.#lastScan = undefined;
  }
}

const NONE_OCCUPIED = new Uint8Array();

/** Returns the number of different bits. Missing bits count as 0. */
function countDifferentBits(one: Uint8Array, other: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < Math.max(one.length, other.length); i++) {
    for (let bits = (one[i] ?? 0) ^ (other[i] ?? 0); bits !== 0; bits &= bits - 1) count++;
  }
  return count;
}
