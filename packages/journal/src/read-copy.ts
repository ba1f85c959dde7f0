import fs from 'node:fs';
import { type JobNumber, type JobRecord, makeFolder } from '@goshawk/core';
import { type Entry, GroupCommit } from './group-commit.js';
import { LmdbStore } from './lmdb-store.js';
import { readAgain } from './reading.js';
import { type FreeBytes, freeBytesOf, ROOM_LIMITS } from './room.js';

const MIB = 1024 * 1024;
/** Size above which nothing more is copied. Bytes. */
const COPY_BYTES_MAX = 512 * MIB;
/** Maximum number of records in one transaction: each waits in memory with a promise. */
const SLICE = 4_096;

interface CopyOptions {
  readonly bytesMax?: number;
  readonly freeBytes?: FreeBytes;
}

/**
 * A copy of the ends of attempts on the local disk, for journals that cannot be read synchronously. It is not
 * durable: its files have no names, so they disappear with the process. Records beyond its limits are not copied, and
 * stay in memory.
 */
export class ReadCopy extends GroupCommit {
  readonly #folder: string;
  readonly #store: LmdbStore;
  readonly #bytesMax: number;
  readonly #freeBytes: FreeBytes;
  #writing: Promise<boolean> | undefined;
  /** The last deletion that was written: a group that waits for room does not repeat its deletions. */
  #deletedTo: Entry | undefined;
  /** Bytes of records that are not in the store yet, by place. */
  readonly #pending = new Map<number, Buffer>();

  /** @throws JournalError */
  constructor(folder: string, { bytesMax = COPY_BYTES_MAX, freeBytes = freeBytesOf }: CopyOptions = {}) {
    super();
    this.#folder = folder;
    this.#store = LmdbStore.temporary(folder);
    this.#bytesMax = bytesMax;
    this.#freeBytes = freeBytes;
  }

  /** Creates a copy in this folder. Returns undefined if its disk is full or read-only; values then stay in memory. */
  static ifPossible(folder: string): ReadCopy | undefined {
    try {
      makeFolder(fs, folder);
      return freeBytesOf(folder) < ROOM_LIMITS.fullBelow ? undefined : new ReadCopy(folder);
    } catch {
      return undefined;
    }
  }

  /** Copies the end of an attempt, or deletes all ends of a forgotten job. @returns whether it can be read */
  copy(entry: Entry): boolean {
    const isKept = entry.bytes !== undefined;
    if (isKept && this.state.kind !== 'open') return false;
    this.add(entry);
    if (isKept) this.#pending.set(entry.place, entry.bytes!);
    return isKept;
  }

  readRecord(job: JobNumber, place: number): JobRecord | undefined {
    return readAgain(this.#pending.get(place) ?? this.#store.at(job, place), job);
  }

  protected async write(group: readonly Entry[]): Promise<'written' | 'no room'> {
    const forgotten = new Set(group.flatMap(({ job, bytes }) => (bytes === undefined ? [job] : [])));
    // Deletions are written first, because they may free the needed room.
    const done = this.#deletedTo === undefined ? -1 : group.indexOf(this.#deletedTo);
    const deletions = group.slice(done + 1).filter(({ bytes }) => bytes === undefined);
    const kept = group.filter(({ job }) => !forgotten.has(job));
    if (deletions.length > 0) {
      if (!(await this.#put(deletions))) return 'no room';
      this.#deletedTo = deletions.at(-1);
    }
    for (let first = 0; first < kept.length && !this.isEnding; first += SLICE) {
      if (!this.#hasRoom || !(await this.#put(kept.slice(first, first + SLICE)))) return 'no room';
    }
    this.#deletedTo = undefined;
    for (const { place } of group) this.#pending.delete(place);
    return 'written';
  }

  #put(entries: readonly Entry[]): Promise<boolean> {
    this.#writing = this.#store.write(entries, undefined);
    return this.#writing;
  }

  get #hasRoom(): boolean {
    const isSmall = this.#store.sizes().usedBytes < this.#bytesMax;
    return isSmall && this.#freeBytes(this.#folder) >= ROOM_LIMITS.fullBelow;
  }

  /** Ends the copy; `readRecord` finds no record afterwards. */
  close(): Promise<void> {
    return this.end(async () => {
      await this.#writing?.catch(() => {});
      await this.#store.close();
    }, 0);
  }
}
