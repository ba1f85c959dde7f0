import { rmSync, statfsSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type Millis, untilNextPeriod } from '@goshawk/core';

/** Limits of the free disk space under a journal. Bytes. */
export interface RoomLimits {
  /** Below this free space, new jobs are refused: the rest is for completing accepted ones. */
  readonly fullBelow: number;
  /** Below this free space, writes stop. */
  readonly stopBelow: number;
  /** Size of a file that is deleted to free space when the disk is full. */
  readonly reserve: number;
  /** Check interval. */
  readonly everyMs: Millis;
}

const MIB = 1024 * 1024;
export const ROOM_LIMITS: RoomLimits = {
  fullBelow: 64 * MIB,
  stopBelow: 8 * MIB,
  reserve: 16 * MIB,
  everyMs: 1_000,
};

export type FreeBytes = (folder: string) => number;

export const freeBytesOf: FreeBytes = (folder) => {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
};

/** Free space of a journal's file and disk. Bytes. */
interface Space {
  readonly freeBytes: FreeBytes;
  /** Unused space inside the file, which is reused before it grows. */
  readonly spareBytes: () => number;
  /** Says that the file was removed or replaced, so that its records are lost with this process. */
  readonly problem: () => string | undefined;
}

/**
 * Monitors the free space on a journal's disk. The reserve is a file: however the disk fills up, deleting it
 * leaves space for accepted jobs.
 */
export class Room {
  readonly #folder: string;
  readonly #limits: RoomLimits;
  readonly #space: Space;
  readonly #changed: (problem: string | undefined, isLost: boolean) => void;
  #timer: NodeJS.Timeout | undefined;
  /** Free space of the disk; undefined: unknown. */
  #free: number | undefined;
  #filling: Promise<void> | undefined;
  #reserveProblem: string | undefined;

  constructor(
    folder: string,
    limits: RoomLimits,
    space: Space,
    changed: (problem: string | undefined, isLost: boolean) => void,
  ) {
    this.#folder = folder;
    this.#limits = limits;
    this.#space = space;
    this.#changed = changed;
    this.check();
    this.#checkLater();
  }

  get free(): number | undefined {
    return this.#free;
  }

  /** Resolves when the reserve is not being written. */
  get settled(): Promise<void> {
    return this.#filling ?? Promise.resolve();
  }

  /** Whether the disk has space for this many bytes of records on any pages. */
  hasRoomFor(bytes: number): boolean {
    if (this.#hasMoreThan(this.#limits.fullBelow + 4 * bytes)) return true;
    // Space is short, so the last measurement is too old.
    this.check();
    return this.#hasMoreThan(this.#limits.stopBelow + 4 * bytes);
  }

  check(): void {
    try {
      this.#checkDisk();
    } catch (error) {
      // Unknown until it can be measured again: accepted work is written anyway, and may fail.
      this.#free = undefined;
      this.#changed(`cannot check the disk of ${this.#folder}: ${(error as Error).message}`, isGone(error));
    }
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #hasMoreThan(bytes: number): boolean {
    return this.#free === undefined || this.#free > bytes;
  }

  /** Schedules the next check at a whole period of the process's clock, together with other periodic work. */
  #checkLater(): void {
    const inMs = untilNextPeriod(this.#limits.everyMs, performance.now());
    this.#timer = setTimeout(() => {
      this.#checkLater();
      this.check();
    }, inMs).unref();
  }

  #checkDisk(): void {
    const { fullBelow, reserve } = this.#limits;
    let free = this.#space.freeBytes(this.#folder);
    if (free < fullBelow) {
      if (this.#reserved() > 0) {
        rmSync(this.#reserveFile, { force: true });
        free = this.#space.freeBytes(this.#folder);
      }
    } else if (this.#reserved() < reserve && free > fullBelow + 2 * reserve) {
      this.#filling ??= this.#fill(reserve).finally(() => {
        this.#filling = undefined;
      });
    }
    this.#free = free;
    const room = free + this.#space.spareBytes();
    // The released reserve must not admit new jobs.
    const isFull = room < fullBelow + (this.#reserved() > 0 ? 0 : reserve);
    const gone = this.#space.problem();
    this.#changed(
      gone ?? this.#reserveProblem ?? (isFull ? this.#fullWith(room) : undefined),
      gone !== undefined,
    );
  }

  get #reserveFile(): string {
    return join(this.#folder, 'reserve');
  }

  #fullWith(room: number): string {
    return `the disk of ${this.#folder} is full: ${Math.floor(room / MIB)} MiB are free, but ${Math.ceil((this.#limits.fullBelow + this.#limits.reserve) / MIB)} MiB are needed to accept new jobs`;
  }

  #reserved(): number {
    const stats = statSync(this.#reserveFile, { throwIfNoEntry: false });
    return stats?.isFile() ? stats.size : 0;
  }

  /**
   * Fills the reserve with data, because a sparse file reserves nothing. If that fails (a quota), new jobs are
   * refused.
   */
  async #fill(bytes: number): Promise<void> {
    try {
      const file = await open(this.#reserveFile, 'w', 0o600);
      try {
        const block = Buffer.alloc(MIB);
        for (let at = 0; at < bytes && this.#hasMoreThan(this.#limits.fullBelow); at += block.length)
          await file.write(block, 0, Math.min(block.length, bytes - at));
        await file.sync();
      } finally {
        await file.close();
      }
      this.#reserveProblem = undefined;
    } catch (error) {
      this.#reserveProblem = `cannot create the reserve file in ${this.#folder}: ${(error as Error).message}`;
    }
  }
}

function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}
