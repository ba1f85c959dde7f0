import { type JobNumber, type JobRecord, sumOf } from '@goshawk/core';
import { backupAgeOf } from './backup.js';
import type { Journal, JournalMetrics, Lineage } from './contract.js';
import { claimFolder, type FolderClaim, placeOf } from './folder-claim.js';
import { type Entry, GroupCommit } from './group-commit.js';
import { type Identity, newIdentity, succeededBy } from './identity.js';
import { hasJournal } from './journal-file.js';
import { LmdbStore, makeJournalFolder, noRoom, putDraftInPlace } from './lmdb-store.js';
import { type Damaged, type Filed, readAgain, soundRecords } from './reading.js';
import { type FreeBytes, freeBytesOf, ROOM_LIMITS, Room, type RoomLimits } from './room.js';

interface LmdbJournalOptions {
  /** On a local disk; created if missing. One scheduler owns it at a time. */
  readonly folder: string;
  /** Draws the prefix of job ids of a new journal. */
  readonly newTag: () => string;
  /** Version of Goshawk, for readers of the journal. */
  readonly version: string;
  readonly room?: RoomLimits;
  readonly freeBytes?: FreeBytes;
  /** Called with non-fatal problems. */
  readonly warn?: (message: string) => void;
}

/**
 * Opens the journal of a folder for this process alone, and creates it if missing.
 *
 * @throws JournalError if another process owns it, a newer version wrote it, or it cannot be read
 */
export async function openLmdbJournal(options: LmdbJournalOptions): Promise<Journal> {
  const { folder, newTag, version, room = ROOM_LIMITS, freeBytes = freeBytesOf } = options;
  makeJournalFolder(folder);
  const claim = await claimFolder(folder);
  let store: LmdbStore | undefined;
  try {
    if (!hasJournal(folder)) {
      // On some full disks lmdb does not fail: the process is killed during the write.
      if (freeBytes(folder) < room.stopBelow) throw noRoom(folder);
      await LmdbStore.draft(folder, newIdentity(newTag(), version), []);
      putDraftInPlace(folder);
    }
    store = LmdbStore.open(folder);
    if (store.isWorthCompacting) store = await compacted(store, options);
    return new LmdbJournal(store, claim, store.readIdentity(), options);
  } catch (error) {
    await store?.close();
    await claim.release();
    throw error;
  }
}

/** Returns the store compacted, or unchanged if the disk has no room for a copy. */
async function compacted(store: LmdbStore, options: LmdbJournalOptions): Promise<LmdbStore> {
  const { folder, room = ROOM_LIMITS, freeBytes = freeBytesOf, warn = () => {} } = options;
  const needed = 2 * store.sizes().usedBytes + room.stopBelow;
  try {
    const free = freeBytes(folder);
    if (free < needed) throw new Error(`${free} bytes are free, but ${needed} are needed`);
    await store.compact();
  } catch (error) {
    warn(`the journal file is mostly free space, but compacting it failed: ${(error as Error).message}`);
    return store;
  }
  await store.close();
  putDraftInPlace(folder);
  return LmdbStore.open(folder);
}

class LmdbJournal extends GroupCommit implements Journal {
  readonly epoch = 0;
  readonly tag: string;
  readonly previousIncarnations: readonly string[];
  readonly lastJob: number;
  readonly #store: LmdbStore;
  readonly #claim: FolderClaim;
  readonly #version: string;
  readonly #folder: string;
  readonly #room: Room;
  readonly #place: string;
  #lineage: Lineage;
  #identity: Identity;

  constructor(store: LmdbStore, claim: FolderClaim, identity: Identity, options: LmdbJournalOptions) {
    super();
    this.#store = store;
    this.#claim = claim;
    this.#version = options.version;
    this.#folder = options.folder;
    this.#identity = identity;
    this.tag = identity.tag;
    this.previousIncarnations = identity.formers;
    this.lastJob = Math.max(identity.lastJob, store.lastJob);
    this.#place = placeOf(options.folder);
    this.#lineage = lineageOf(identity, this.#place);
    const space = {
      freeBytes: options.freeBytes ?? freeBytesOf,
      spareBytes: () => store.spareBytes,
      problem: () => store.problem,
    };
    this.#room = new Room(options.folder, options.room ?? ROOM_LIMITS, space, (problem, isLost) => {
      // A killed reader prevents pages from being reused, so the file would grow. Checked as often as the disk.
      if (!this.isEnding) store.clearDeadReaders();
      this.setState('full', problem, isLost);
    });
  }

  entries(onDamage: (damaged: Damaged) => void): Iterable<readonly [place: number, record: JobRecord]> {
    return soundRecords(this.#read(), onDamage);
  }

  *#read(): Iterable<Filed> {
    let next = 0;
    for (const filed of this.#store.read()) {
      next = Math.max(next, filed[2] + 1);
      yield filed;
    }
    this.nextPlace = next;
  }

  get lineage(): Lineage {
    return this.#lineage;
  }

  begin(self: string, skipped = 0): Promise<void> {
    this.#identity = succeededBy(this.#identity, self, this.#version, this.lastJob, skipped);
    // A copy says what it is until it is admitted, over restarts, too.
    if (this.#lineage.copyOf === undefined)
      this.#identity = { ...this.#identity, place: this.#place, stopped: false };
    this.#store.writeIdentity(this.#identity);
    return Promise.resolve();
  }

  admitted(): void {
    if (this.#lineage.copyOf === undefined) return;
    const moves = this.#lineage.moves + 1;
    this.#identity = { ...this.#identity, place: this.#place, moves, stopped: false };
    this.#store.writeIdentity(this.#identity);
    this.#lineage = { moves, copyOf: undefined };
  }

  readonly readRecord = (job: JobNumber, place: number): JobRecord | undefined =>
    readAgain(this.at(place) ?? this.#store.at(job, place), job);

  readonly readJobRecords = (job: JobNumber): Iterable<readonly [place: number, record: JobRecord]> =>
    // Damage was reported at opening, and need not be reported again.
    soundRecords(this.of(job, this.#store.of(job)), () => {});

  protected async write(group: readonly Entry[]): Promise<'written' | 'no room'> {
    const bytes = sumOf(group, (entry) => entry.bytes?.length ?? 0);
    if (!this.#room.hasRoomFor(bytes)) return 'no room';
    let { lastJob } = this.#identity;
    for (const { job, bytes } of group) if (bytes === undefined && job > lastJob) lastJob = job;
    const identity = lastJob > this.#identity.lastJob ? { ...this.#identity, lastJob } : undefined;
    const isWritten = await this.#store.write(group, identity);
    if (isWritten) {
      this.#identity = identity ?? this.#identity;
      return 'written';
    }
    // The disk has filled up since the last check: check now, which releases the reserve.
    this.#room.check();
    return 'no room';
  }

  metrics(): JournalMetrics {
    const backupAgeMs = backupAgeOf(this.#folder, Date.now());
    return this.metricsWith({ ...this.#store.sizes(), freeBytes: this.#room.free, backupAgeMs });
  }

  close(onWritten?: () => void): Promise<void> {
    return this.end(async () => {
      onWritten?.();
      this.#room.close();
      await this.#room.settled;
      this.#recordStop();
      await this.#store.close();
      await this.#claim.release();
    });
  }

  #recordStop(): void {
    if (this.#lineage.copyOf !== undefined || this.#identity.place === undefined) return;
    try {
      this.#store.writeIdentity({ ...this.#identity, stopped: true });
    } catch {
      // On a full or broken disk, a copy counts as one of a running scheduler.
    }
  }
}

function lineageOf({ formers, place, moves = 0, stopped = false }: Identity, here: string): Lineage {
  if (formers.length === 0 || place === here) return { moves, copyOf: undefined };
  if (place === undefined) return { moves, copyOf: 'restored' };
  return { moves, copyOf: stopped ? 'stopped' : 'running' };
}
