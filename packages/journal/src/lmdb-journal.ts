import type { Histogram, JobRecord } from '@goshawk/core';
import type { Journal, JournalListener, JournalMetrics } from './contract.js';
import { claimFolder, type FolderClaim } from './folder-claim.js';
import { type Disk, type Entry, GroupCommit } from './group-commit.js';
import { type Identity, newIdentity, succeededBy } from './identity.js';
import { LmdbStore, makeFolder } from './lmdb-store.js';
import { type Damaged, readAgain, soundRecords } from './reading.js';
import { type FreeBytes, freeBytesOf, ROOM_LIMITS, Room, type RoomLimits } from './room.js';

export interface LmdbJournalOptions {
  /** On a local disk; made if it is not there. One scheduler has it at a time. */
  readonly folder: string;
  /** Draws the prefix of job ids of a new journal. */
  readonly newTag: () => string;
  /** Of Goshawk, for those who read the journal. */
  readonly version: string;
  readonly room?: RoomLimits;
  readonly freeBytes?: FreeBytes;
}

/**
 * Opens the journal of a folder for this process alone, and makes it if there is none.
 *
 * @throws JournalError when another process has it, a newer version has written it, or it cannot be read
 */
export async function openLmdbJournal(options: LmdbJournalOptions): Promise<Journal> {
  const { folder, newTag, version } = options;
  makeFolder(folder);
  const claim = await claimFolder(folder);
  let store: LmdbStore | undefined;
  try {
    store = LmdbStore.open(folder);
    let identity = store.readIdentity();
    if (identity === undefined) {
      identity = newIdentity(newTag(), version);
      store.writeIdentity(identity);
    }
    if (store.isWorthCompacting) {
      await store.compactAndClose();
      store = LmdbStore.open(folder);
    }
    return new LmdbJournal(store, claim, identity, options);
  } catch (error) {
    await store?.close();
    await claim.release();
    throw error;
  }
}

/** Until it is asked again whether there is room. ms */
const ROOM_PAUSE_MS = 500;

class LmdbJournal implements Journal, Disk {
  readonly tag: string;
  readonly formers: readonly string[];
  readonly lastJob: number;
  readonly #store: LmdbStore;
  readonly #claim: FolderClaim;
  readonly #version: string;
  readonly #commits: GroupCommit;
  readonly #room: Room;
  #identity: Identity;
  #closed: Promise<void> | undefined;

  constructor(store: LmdbStore, claim: FolderClaim, identity: Identity, options: LmdbJournalOptions) {
    this.#store = store;
    this.#claim = claim;
    this.#version = options.version;
    this.#identity = identity;
    this.tag = identity.tag;
    this.formers = identity.formers;
    this.lastJob = Math.max(identity.lastJob, store.lastJob);
    this.#commits = new GroupCommit(this, {
      soon: (action) => void setImmediate(action),
      later: (action) => void setTimeout(action, ROOM_PAUSE_MS),
    });
    this.#room = new Room(
      options.folder,
      options.room ?? ROOM_LIMITS,
      options.freeBytes ?? freeBytesOf,
      (problem) => this.#commits.setFull(problem),
    );
  }

  get state() {
    return this.#commits.state;
  }

  get isStopped(): boolean {
    return this.#commits.isStopped;
  }

  *records(onDamage: (damaged: Damaged) => void): Iterable<JobRecord> {
    for (const [, record] of this.entries(onDamage)) yield record;
  }

  entries(onDamage: (damaged: Damaged) => void): Iterable<readonly [place: number, record: JobRecord]> {
    return soundRecords(this.#store.read(), onDamage);
  }

  begin(self: string): Promise<void> {
    this.#identity = succeededBy(this.#identity, self, this.#version, this.lastJob);
    this.#store.writeIdentity(this.#identity);
    return Promise.resolve();
  }

  listen(listener: JournalListener): void {
    this.#commits.listen(listener);
  }

  append(record: JobRecord): number {
    return this.#commits.append(record);
  }

  recall(job: number, place: number): JobRecord | undefined {
    return readAgain(this.#commits.at(job, place), job);
  }

  takePlace(): number {
    return this.#store.takePlace();
  }

  at(job: number, place: number): Buffer | undefined {
    return this.#store.at(job, place);
  }

  async write(group: readonly Entry[]): Promise<void> {
    let { lastJob } = this.#identity;
    for (const { job, bytes } of group) if (bytes === undefined && job > lastJob) lastJob = job;
    const changed = lastJob > this.#identity.lastJob;
    if (changed) this.#identity = { ...this.#identity, lastJob };
    await this.#store.write(group, changed ? this.#identity : undefined);
  }

  hasRoomFor(bytes: number): boolean {
    return this.#room.hasRoomFor(bytes);
  }

  get commitMs(): Histogram {
    return this.#commits.commitMs;
  }

  metrics(): JournalMetrics {
    const { state, appended, written, commits, lastCommitMs, longestCommitMs } = this.#commits;
    return {
      state: state.kind,
      ...this.#store.sizes(),
      freeBytes: this.#room.free,
      recordsAppended: appended,
      recordsWritten: written,
      commits,
      lastCommitMs,
      longestCommitMs,
    };
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#commits.close();
    this.#room.close();
    await this.#store.close();
    await this.#claim.release();
  }
}
