import { statfsSync } from 'node:fs';
import { formatBytes, type Millis } from '@goshawk/core';
import { repeatUntil } from './now-and-then.js';

const CHECK_MS = 5_000;
/** Minimum time between checks after failed tasks. ms */
const FAILURE_CHECK_MS = 500;
const MIB = 1024 * 1024;
/** Free space below which tasks fail in any way; and with which a full disk is no longer full. Bytes. */
const FULL_BELOW = 16 * MIB;
const ROOM_FROM = 2 * FULL_BELOW;

/** Returns the free bytes of a folder's disk. @throws if it cannot be measured */
type FreeBytes = (folder: string) => number;

/** Reports that a disk to which tasks write is full: a task that fills it makes all tasks of the worker fail. */
export class DiskWatch {
  readonly #folders: readonly string[];
  readonly #report: (problem: string) => void;
  readonly #freeBytes: FreeBytes;
  readonly #full = new Set<string>();
  #checkedAt = Number.NEGATIVE_INFINITY;

  /** @param report called at each check while a disk is full */
  constructor(
    folders: readonly string[],
    report: (problem: string) => void,
    freeBytes: FreeBytes = freeBytesOf,
  ) {
    this.#folders = [...new Set(folders)];
    this.#report = report;
    this.#freeBytes = freeBytes;
  }

  begin(now: () => Millis, ended: Promise<unknown>): void {
    repeatUntil(CHECK_MS, ended, () => this.check(now()));
  }

  /** Checks at once, because a full disk may be the cause. */
  taskFailed(now: Millis): void {
    if (now - this.#checkedAt >= FAILURE_CHECK_MS) this.check(now);
  }

  check(now: Millis): void {
    this.#checkedAt = now;
    const problem = this.#folders.map((folder) => this.#problemOf(folder)).find((each) => each !== undefined);
    if (problem !== undefined) this.#report(problem);
  }

  #problemOf(folder: string): string | undefined {
    let free: number;
    try {
      free = this.#freeBytes(folder);
    } catch {
      // Only a measured lack of room keeps tasks away.
      return undefined;
    }
    if (free >= (this.#full.has(folder) ? ROOM_FROM : FULL_BELOW)) {
      this.#full.delete(folder);
      return undefined;
    }
    this.#full.add(folder);
    return `the disk of ${folder} is full: ${formatBytes(Math.floor(free / MIB) * MIB)} are free, and tasks need ${formatBytes(ROOM_FROM)}`;
  }
}

function freeBytesOf(folder: string): number {
  const { bavail, bsize, blocks } = statfsSync(folder);
  // File systems without a size report no blocks.
  return blocks === 0 ? Number.POSITIVE_INFINITY : bavail * bsize;
}
