import { closeSync, fsyncSync, openSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Millis } from '@goshawk/core';

/** Free space of the disk under a journal. In bytes. */
export interface RoomLimits {
  /** With less than this, no new jobs: what is left is for the ends of those that are there. */
  readonly fullBelow: number;
  /** With less than this nothing is written at all until there is more: lmdb must never meet a full disk. */
  readonly stopBelow: number;
  /** Kept in a file, and given back when the disk gets full. */
  readonly reserve: number;
  /** Between two looks. */
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

/**
 * Watches the room on a journal's disk. The reserve is a file: whatever else fills the disk, so much is left for the
 * jobs that were accepted, once it is deleted.
 */
export class Room {
  readonly #folder: string;
  readonly #limits: RoomLimits;
  readonly #freeBytes: FreeBytes;
  readonly #changed: (problem: string | undefined) => void;
  readonly #timer: NodeJS.Timeout;
  #free = Number.POSITIVE_INFINITY;

  constructor(
    folder: string,
    limits: RoomLimits,
    freeBytes: FreeBytes,
    changed: (problem: string | undefined) => void,
  ) {
    this.#folder = folder;
    this.#limits = limits;
    this.#freeBytes = freeBytes;
    this.#changed = changed;
    this.look();
    this.#timer = setInterval(() => this.look(), limits.everyMs);
    this.#timer.unref();
  }

  get free(): number {
    return this.#free;
  }

  /** Whether the disk has room for so many bytes of records, in whatever pages they may touch. */
  hasRoomFor(bytes: number): boolean {
    if (this.#free - 4 * bytes > this.#limits.fullBelow) return true;
    // It is close: what was seen a second ago will not do.
    this.look();
    return this.#free - 4 * bytes > this.#limits.stopBelow;
  }

  look(): void {
    const { fullBelow, reserve } = this.#limits;
    this.#free = this.#freeBytes(this.#folder);
    if (this.#free < fullBelow) {
      if (this.#reserved() > 0) {
        rmSync(this.#reserveFile, { force: true });
        this.#free = this.#freeBytes(this.#folder);
      }
    } else if (reserve > 0 && this.#reserved() < reserve && this.#free > fullBelow + 2 * reserve) {
      this.#fill(reserve);
    }
    // The reserve that was just given back is no reason to take new jobs.
    const isFull = this.#free < fullBelow + (this.#reserved() > 0 ? 0 : reserve);
    this.#changed(isFull ? this.#problem() : undefined);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  get #reserveFile(): string {
    return join(this.#folder, 'reserve');
  }

  #problem(): string {
    return `the disk of ${this.#folder} is full: ${Math.floor(this.#free / MIB)} MiB are free, and ${Math.ceil((this.#limits.fullBelow + this.#limits.reserve) / MIB)} MiB are needed to take new jobs`;
  }

  #reserved(): number {
    return statSync(this.#reserveFile, { throwIfNoEntry: false })?.size ?? 0;
  }

  /** Written out, since a file with a hole reserves nothing. */
  #fill(bytes: number): void {
    const file = openSync(this.#reserveFile, 'w');
    const block = Buffer.alloc(MIB);
    try {
      for (let at = 0; at < bytes; at += block.length)
        writeSync(file, block, 0, Math.min(block.length, bytes - at));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }
}
